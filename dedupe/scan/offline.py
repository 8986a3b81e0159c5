"""Catalogs among the roots of a scan: their files join the table, and nothing of them is ever opened or looked at.

A catalog's digest stands for a file as a remembered one does, but proves it only as it was when the catalog was made.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dedupe.catalog.offline import Offline
from dedupe.config import Confirm, ScanConfig
from dedupe.errors import UsageError
from dedupe.files.classes import Classes
from dedupe.files.table import FileTable
from dedupe.progress import Progress
from dedupe.result import Proof
from dedupe.scan.confirm import Confirmed
from dedupe.scan.list_files import Sets
from dedupe.scan.recall import Known
from dedupe.scan.session import Session
from dedupe.storage import display
from dedupe.storage.paths import outside
from dedupe.walk.filters import Filters
from dedupe.walk.listing import Listing

if TYPE_CHECKING:
    from dedupe.catalog.joining import Catalog, Wanted


def join_catalogs(session: Session, config: ScanConfig, listing: Listing) -> Offline:
    """Append what may be in a group of the roots that are catalogs, and count the rest of their files.

    Args:
        session: the means.
        config: what takes part.
        listing: of all roots; takes the files, and what is to be told of them.

    Raises:
        UsageError: the scan is to prove what no catalog tells.
        NothingUsableError: a catalog cannot be used, or there is no room to join them.
    """
    offline = Offline()
    if not listing.catalogs:
        return offline
    from dedupe.catalog import database  # most scans have none, and start sooner without
    from dedupe.catalog.joining import Wanted, catalog_at
    from dedupe.catalog.shared import SharedContents

    _refuse_unproven(config, listing.catalogs)
    known = [catalog_at(root, number) for number, root in enumerate(session.roots) if root in listing.catalogs]
    done = 0

    def tick() -> None:
        session.progress.reach(done)

    with SharedContents(tick) as shared:
        with session.phase("join", len(known)):
            for each in known:
                path = os.fsdecode(each.path)
                with database.closing(database.opened(path), path) as connection:
                    shared.take(connection)
                done += 1
                tick()
            shared.settle(set(listing.table.size))
        _add(session, config, listing.table, range(len(session.roots)), known, offline, Wanted(shared.rows))
    listing.notes += offline.notes
    listing.problems += offline.problems
    listing.alone_files, listing.alone_bytes = offline.alone_files, offline.alone_bytes
    return offline


def add_catalogs(  # noqa: PLR0913 - the last two are for the second side
    session: Session,
    config: ScanConfig,
    table: FileTable,
    roots: Mapping[int, bytes],
    *,
    catalogs: Collection[bytes],
    sizes: Collection[int] | None = None,
    offline: Offline | None = None,
) -> Offline:
    """Append the files of those roots that are catalogs.

    Args:
        session: the means.
        config: what takes part.
        table: that they are appended to.
        roots: catalogs and others, by their numbers.
        catalogs: those of them that are.
        sizes: only files of these are wanted; None for all.
        offline: takes what is known of them, beside what is known of others; None for none.

    Raises:
        UsageError: equality is to be proven by what no catalog tells.
        NothingUsableError: a catalog cannot be used.
    """
    offline = Offline() if offline is None else offline
    if catalogs:
        from dedupe.catalog.joining import Wanted, all_rows, catalog_at, of_sizes

        _refuse_unproven(config, catalogs)
        known = [catalog_at(root, number) for number, root in roots.items() if root in catalogs]
        wanted = Wanted(all_rows) if sizes is None else of_sizes(sizes)
        _add(session, config, table, roots, known, offline, wanted)
    return offline


def _refuse_unproven(config: ScanConfig, catalogs: Collection[bytes]) -> None:
    if config.confirm is not Confirm.SHA256:
        name = display.text(outside(min(catalogs)))
        raise UsageError(f"{name} is a catalog, which has digests by sha256 only: leave --confirm out.")


def _add(  # noqa: PLR0913, PLR0917 - what both callers have
    session: Session,
    config: ScanConfig,
    table: FileTable,
    roots: Collection[int],
    known: list[Catalog],
    offline: Offline,
    wanted: Wanted,
) -> None:
    """Append the files of catalogs that are wanted and are not known better by one of the roots."""
    from dedupe.catalog.covered import Covered
    from dedupe.catalog.joining import add_catalog

    files = sum(max(catalog.head.files, 0) for catalog in known)
    with session.phase("catalogs", None if wanted.some else files or None):
        rules = _Rules(Filters.of(config), session.progress)
        covered = Covered(volume.id for catalog in known for volume in catalog.volumes.values())
        covered.take_live(table, roots)
        # what two of them tell of, the one with more digests tells, and then the newer one
        for catalog in sorted(known, key=lambda each: (*each.head.worth, each.head.updated), reverse=True):
            rules.enter(catalog.path)
            add_catalog(offline, table, catalog, rules.take_part, covered, wanted)


class _Rules:
    """What takes part of catalogs, by the rules of a walk; tells how many files were asked for."""

    def __init__(self, filters: Filters, progress: Progress) -> None:
        self._filters, self._progress = filters, progress
        self._entered: dict[bytes, bool] = {}
        self._done = 0

    def enter(self, catalog: bytes) -> None:
        """Go on with the folders of a catalog."""
        self._entered = {os.path.join(catalog, b""): True}

    def take_part(self, folder: bytes, rows: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
        """Return the rows of one folder that take part: by size, name, and the folders above."""
        self._done += len(rows)
        self._progress.reach(self._done)
        filters = self._filters
        if not self._enters(folder):
            return []
        least, most = filters.min_size, filters.max_size
        rows = [row for row in rows if least <= row[2] <= most]
        return [row for row in rows if filters.of_file(folder, row[1]) is None] if filters.any_names else rows

    def _enters(self, folder: bytes) -> bool:
        unknown = []  # no recursion: a path may be deeper than Python's stack
        while folder not in self._entered:
            unknown.append(folder)
            folder = os.path.join(os.path.dirname(folder[:-1]), b"")
        for below in reversed(unknown):
            self._entered[below] = self._entered[folder] and self._filters.of_folder(below[:-1]) is None
            folder = below
        return self._entered[folder]


def tell_known(offline: Offline, known: Known) -> None:
    """Add what catalogs know of their files."""
    if offline:
        offline.tell(known.fingerprints, known.digests)


def provable(offline: Offline, sets: Sets) -> Sets:
    """Return the sets without files that nothing can prove equal: those of catalogs that have no digest."""
    if not offline.undigested:
        return sets
    left = (array("I", (i for i in members if i not in offline.undigested)) for members in sets)
    return [members for members in left if len(members) > 1]


def tell_offline(offline: Offline, confirmed: Confirmed) -> None:
    """Note in what was confirmed which files are of a catalog: not remembered ones, which can be looked at again."""
    if not offline:
        return
    told = Classes()
    for n, (digest, members) in enumerate(confirmed.classes):
        proofs = confirmed.classes.proofs(n, n + 1)
        proofs = [Proof.OFFLINE if offline.has(i) else proof for i, proof in zip(members, proofs, strict=True)]
        told.append(digest, members, proofs)
    confirmed.classes = told
    confirmed.remembered = array("I", (i for i in confirmed.remembered if not offline.has(i)))
