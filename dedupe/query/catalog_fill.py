"""Filling a catalog with what a disk holds, or once more: reads only what neither it nor the cache knows.

What is read is committed every two seconds, so that a kill costs no more, and the next run goes on from there.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import time
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from dedupe.cache.write_buffer import settled_before
from dedupe.catalog import database
from dedupe.catalog.head import CatalogVolume, Head
from dedupe.catalog.mend import mend
from dedupe.catalog.recognise import is_catalog
from dedupe.catalog.rows import CatalogFolders, KnownRow
from dedupe.compare import fingerprint
from dedupe.compare.tuning import MEASURED, Tuning
from dedupe.config import ScanConfig
from dedupe.errors import DedupeError, NothingUsableError, UsageError
from dedupe.progress import Progress, Silent
from dedupe.query.catalog_place import refuse_other, root_of
from dedupe.query.catalog_rules import counts_of, other_rules, rules_of
from dedupe.report.units import counted
from dedupe.result import Problem
from dedupe.scan.fingerprints import read_fingerprints
from dedupe.scan.hash_whole import hash_whole
from dedupe.scan.list_files import list_files
from dedupe.scan.recall import Known, recall
from dedupe.scan.session import Session, scan_session
from dedupe.storage import display, volumes
from dedupe.storage.paths import outside
from dedupe.version import __version__
from dedupe.walk.listing import Listing
from dedupe.walk.mount_points import located

_COMMIT = 2.0  # seconds between commits


@dataclass(slots=True)
class Filled:
    """What became of a catalog."""

    files: int = 0  # in it
    bytes: int = 0
    unchanged: int = 0  # that it knew already
    remembered: int = 0  # that the cache knew
    read: int = 0
    removed: int = 0  # rows of files that are gone
    problems: list[Problem] = field(default_factory=list)
    notes: Sequence[str] = ()


def create(path: str, config: ScanConfig, *, quick: bool = False, progress: Progress | None = None) -> Filled:
    """Make a catalog of one folder; one that was never finished is gone on with.

    Args:
        path: of the catalog.
        config: the folder, as its only root, and what takes part.
        quick: leave the digests out.
        progress: is told how far the work is.

    Raises:
        UsageError: there is another file, or the root is no folder.
        NothingUsableError: the catalog cannot be made, or the folder not be read.
    """
    if os.path.lexists(path) and is_catalog(os.fsencode(path)) and not database.was_never_made(path):
        with database.closing(database.opened(path, change=True), path) as connection:
            head = database.head_of(connection, path)
        if head.complete or head.quick != quick:
            raise UsageError(f"{_shown(path)} is a catalog already: `dedupe catalog update` brings it up to date.")
        return update(path, config, progress=progress)
    root = root_of(config)
    now, place = datetime.now(UTC).isoformat(timespec="seconds"), located(root)
    head = Head(
        id=secrets.token_hex(8),
        version=__version__,
        made=now,
        updated=now,
        host=volumes.host(),
        root=outside(root),
        inside=place.relative(os.path.join(root, b"")),
        capacity=shutil.disk_usage(root).total,
        layout=fingerprint.LAYOUT,
        algorithm="sha256",
        quick=quick,
        complete=False,
        rules=rules_of(config),
    )
    volume = CatalogVolume(1, place.volume.id, place.volume.label, place.volume.file_system)
    made = database.make(path, head, volume)
    try:
        with database.closing(made, path) as connection:
            return _fill(connection, head, config, path, progress or Silent(), MEASURED)
    except DedupeError:
        if not database.has_files(path):
            database.discard(path)
        raise


def update(path: str, config: ScanConfig, *, progress: Progress | None = None, tuning: Tuning = MEASURED) -> Filled:
    """Bring a catalog up to date with its folder, wherever that is mounted now.

    Raises:
        UsageError: the file is no catalog, or one of another folder or disk.
        NothingUsableError: either cannot be read.
    """
    root = root_of(config)
    with database.closing(database.opened(path, change=True), path) as connection:
        head = database.head_of(connection, path)
        database.refuse_unsound(connection, path)
        refuse_other(connection, head, root, path)
        rules = rules_of(config)
        notes = [] if head.rules in ("", rules) else [other_rules(_shown(path), head, rules)]
        if dropped := mend(connection, head):
            notes.append(f"{counted(dropped, 'row')} of the catalog {_shown(path)} had been damaged: read anew.")
        head = replace(head, root=outside(root), rules=rules)
        filled = _fill(connection, head, config, path, progress or Silent(), tuning)
        filled.notes = (*notes, *filled.notes)
        return filled


def _shown(path: str) -> str:
    return display.text(os.fsencode(path))


def _fill(
    connection: sqlite3.Connection, head: Head, config: ScanConfig, path: str, progress: Progress, tuning: Tuning
) -> Filled:
    """Fill a catalog, and note that it is complete."""
    connection.execute("PRAGMA synchronous = NORMAL")
    read_ns = time.time_ns()
    config = replace(config, own_files=(*config.own_files, *database.files_of(path)))
    with scan_session(config, progress, None, tuning) as session:
        listing = list_files(session, config)
        if not len(listing.table) and listing.problems:
            raise NothingUsableError(f"{display.text(head.root)} cannot be read: {listing.problems[0].message}.")
        session.pool.share(listing.table)  # it changes no more
        with connection:  # from here on it is neither what it was nor what it will be
            database.write_head(connection, replace(head, complete=False))
        filling = _Filling(connection, session, listing, head, read_ns)
        filling.run()
        session.cache.close()
        filled = filling.filled
        filled.problems = sorted(
            (p._replace(path=outside(p.path)) for p in (*listing.problems, *filled.problems)), key=lambda p: p.path
        )
        filled.notes = session.cache.notes
    filled.files, size = connection.execute("SELECT count(*), sum(size) FROM files").fetchone()
    filled.bytes = size or 0
    head = replace(
        head, files=filled.files, size=filled.bytes, unread=len(filled.problems), left_out=counts_of(listing.skipped)
    )
    with connection:
        connection.execute("DELETE FROM problems")
        rows = [(problem.path, str(problem.kind), problem.message) for problem in filled.problems]
        connection.executemany("INSERT INTO problems VALUES (?, ?, ?)", rows)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        database.write_head(connection, replace(head, updated=now, version=__version__, complete=True))
    return filled


class _Filling:
    """One run over the files of a folder."""

    def __init__(
        self, connection: sqlite3.Connection, session: Session, listing: Listing, head: Head, read_ns: int
    ) -> None:
        self._connection, self._session, self._listing, self._head = connection, session, listing, head
        self._table = listing.table
        self._folders = CatalogFolders(connection, listing.table, session.roots[0])
        self._settled = settled_before(read_ns)
        self._digests: dict[int, bytes] = {}
        self._committed = time.monotonic()
        self._known: Known | None = None
        self.filled = Filled()

    def run(self) -> None:
        """Take what the catalog knows, then what the cache knows, and read the rest."""
        with self._session.phase("compare"):
            unknown = self._unknown()
        self._known = known = recall(self._session, self._table, [unknown])
        if known.unverified:
            read_fingerprints(self._session, self._table, sorted(known.unverified), known)
        if self._head.quick:
            self._take([i for i in unknown if i in known.fingerprints])
            left = array("I", (i for i in unknown if i not in known.fingerprints))
            self.filled.remembered += len(unknown) - len(left)
            with self._session.phase("fingerprint", len(left)):
                found = read_fingerprints(self._session, self._table, left, known)
            self.filled.problems += found.problems
            self._take([i for i in left if i in known.fingerprints])
            self.filled.read += len(left) - len(found.problems)
        else:
            self._hash(unknown, known)
        self._connection.commit()

    def _hash(self, unknown: Sequence[int], known: Known) -> None:
        have = [i for i in unknown if i in known.digests and i in known.fingerprints]
        self._digests = {i: known.digests.get(i) or b"" for i in have}
        self.filled.remembered += len(have)
        self._take(have)
        left = array("I", (i for i in unknown if i not in self._digests))
        self._digests = {}
        method, _ = self._session.chosen_method()
        for each in hash_whole(self._session, self._table, left, method, known, fingerprints=True):
            if each.problem:
                self.filled.problems.append(each.problem)
            if each.digest is not None and each.member in known.fingerprints:
                self._digests[each.member] = each.digest
                self.filled.read += 1
            if time.monotonic() > self._committed + _COMMIT:
                self._flush()
        self._flush()

    def _flush(self) -> None:
        self._take(list(self._digests))
        self._digests = {}
        self._connection.commit()
        self._committed = time.monotonic()

    def _take(self, members: Iterable[int]) -> None:
        """Write rows of files whose values are known."""
        known = self._known
        assert known is not None
        times = self._table.times
        self._folders.put(
            members,
            lambda i: (known.fingerprints.get(i), self._digests.get(i)),
            lambda i: max(times(i)) < self._settled,
        )

    def _unknown(self) -> array[int]:
        """Return the files that the catalog does not know as they are; drop its rows of what is gone."""
        unknown, seen = array("I"), set[bytes]()
        for folder, members in self._folders.by_folder(range(len(self._table))):
            seen.add(self._folders.path(folder))
            rows = self._folders.known(folder)
            gone = set(rows)
            for i in members:
                row = rows.get(name := self._folders.name(i))
                gone.discard(name)
                if row is not None and self._is_unchanged(i, row):
                    self.filled.unchanged += 1
                else:
                    unknown.append(i)
                    if row is not None:
                        gone.add(name)  # whatever is learnt of it now takes its place
            if gone:
                at = self._folders.number(folder)
                self._connection.executemany(
                    "DELETE FROM files WHERE folder = ? AND name = ?", ((at, name) for name in gone)
                )
                self.filled.removed += len(gone)
        self._drop_folders(seen)
        self._connection.commit()
        return array("I", sorted(unknown))

    def _is_unchanged(self, i: int, row: KnownRow) -> bool:
        modified_ns, changed_ns = self._table.times(i)
        now = (self._table.size[i], modified_ns, changed_ns, self._table.stable_inode_of(i))
        return now == row[:4] and bool(row.fingerprint) and (self._head.quick or bool(row.digest))

    def _drop_folders(self, seen: set[bytes]) -> None:
        """Drop what lay in folders that have no files any more; of those that could not be listed nothing is known."""
        unlisted = [self._folders.below_root(path) for path in self._listing.unlisted]
        kept = tuple(path and path + b"/" for path in unlisted)
        for at, path in self._connection.execute("SELECT number, path FROM folders").fetchall():
            if path not in seen and not path.startswith(kept):
                removed = self._connection.execute("DELETE FROM files WHERE folder = ?", (at,))
                self.filled.removed += removed.rowcount
                self._connection.execute("DELETE FROM folders WHERE number = ?", (at,))
