"""One run over the files of a folder, which writes into its catalog what that does not know.  Makes no catalog.

What is read is committed every two seconds, so that a kill costs no more, and the next run goes on from there.
"""

from __future__ import annotations

import sqlite3
import time
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dedupe.cache.write_buffer import settled_before
from dedupe.catalog.head import Head
from dedupe.catalog.rows import CatalogFolders, KnownRow
from dedupe.compare import fingerprint
from dedupe.files.columns import Column
from dedupe.query.catalog_others import OtherCatalogs
from dedupe.result import Problem
from dedupe.scan.fingerprints import read_fingerprints
from dedupe.scan.hash_whole import hash_whole
from dedupe.scan.recall import Known, recall
from dedupe.scan.session import Session
from dedupe.walk.listing import Listing

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
    undigested: int = 0  # files in it that are known by fingerprints only
    problems: list[Problem] = field(default_factory=list)
    notes: Sequence[str] = ()


class Filling:
    """One run over the files of a folder."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        session: Session,
        listing: Listing,
        asked: tuple[Head, OtherCatalogs],
        read_ns: int,
    ) -> None:
        self._connection, self._session, self._listing = connection, session, listing
        self._head, self._others = asked
        self._table = listing.table
        self._folders = CatalogFolders(connection, listing.table, session.roots[0])
        self._settled = settled_before(read_ns)
        self._digests: dict[int, bytes] = {}
        self._committed = time.monotonic()
        self._known: Known | None = None
        self._prints = Column(fingerprint.WIDTH)  # of files that the catalog knows by these only
        self.filled = Filled()

    def run(self) -> None:
        """Take what the catalog knows, then what the cache knows, and read the rest."""
        with self._session.phase("compare"):
            unknown = self._unknown()
        self._known = known = recall(self._session, self._table, [unknown])
        if known.unverified:
            read_fingerprints(self._session, self._table, sorted(known.unverified), known)
        if self._head.quick:
            self._take_prints(*self._fingerprinted(unknown, known))
        elif self._others:
            self._hash(self._shared(unknown, known), known)
        else:
            self._hash(unknown, known)
        self._connection.commit()

    def _shared(self, unknown: Sequence[int], known: Known) -> array[int]:
        """Return the files that other catalogs may hold too; of the others take what fingerprints tell."""
        told = [i for i in unknown if i in self._prints]
        known.fingerprints.put_all(told, self._prints.get_all(told))
        remembered, read = self._fingerprinted(array("I", self._prints.unknown(unknown, len(self._table))), known)
        members = [*told, *remembered, *read]
        shared = self._others.shared(self._table, members, known.fingerprints)
        shared.update(i for i in members if i in known.digests)  # which costs nothing
        self.filled.unchanged += sum(i not in shared for i in told)
        self._take_prints([i for i in remembered if i not in shared], [i for i in read if i not in shared])
        return array("I", sorted(shared))

    def _fingerprinted(self, members: array[int], known: Known) -> tuple[list[int], list[int]]:
        """Return the files of which a fingerprint was remembered, and those of which one has been read."""
        remembered = [i for i in members if i in known.fingerprints]
        left = array("I", (i for i in members if i not in known.fingerprints))
        with self._session.phase("fingerprint", len(left)):
            self.filled.problems += read_fingerprints(self._session, self._table, left, known).problems
        return remembered, [i for i in left if i in known.fingerprints]

    def _take_prints(self, remembered: Sequence[int], read: Sequence[int]) -> None:
        self.filled.remembered += len(remembered)
        self.filled.read += len(read)
        self._take([*remembered, *read])

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
                    if self._head.quick or row.digest:
                        self.filled.unchanged += 1
                    else:  # it is told by its fingerprint whether more is wanted
                        self._prints.put(i, row.fingerprint)
                        unknown.append(i)
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
        return now == row[:4] and bool(row.fingerprint) and (bool(row.digest) or self._head.quick or bool(self._others))

    def _drop_folders(self, seen: set[bytes]) -> None:
        """Drop what lay in folders that have no files any more; of those that could not be listed nothing is known."""
        unlisted = [self._folders.below_root(path) for path in self._listing.unlisted]
        kept = tuple(path and path + b"/" for path in unlisted)
        for at, path in self._connection.execute("SELECT number, path FROM folders").fetchall():
            if path not in seen and not path.startswith(kept):
                removed = self._connection.execute("DELETE FROM files WHERE folder = ?", (at,))
                self.filled.removed += removed.rowcount
                self._connection.execute("DELETE FROM folders WHERE number = ?", (at,))
