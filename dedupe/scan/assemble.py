"""The last phase: the groups in their order, with everything that there is to tell of a scan.  Reads no file."""

from __future__ import annotations

import time
from collections.abc import Iterator

from dedupe.config import ScanConfig
from dedupe.files.groups import volumes_of
from dedupe.files.table import FileTable
from dedupe.folders.counts import FolderCounts
from dedupe.result import ScanResult, Totals
from dedupe.scan.arrange import Arranged
from dedupe.scan.confirm import Confirmed
from dedupe.scan.fingerprints import Fingerprinted
from dedupe.scan.recall import Known
from dedupe.scan.session import Session
from dedupe.scan.unite import United
from dedupe.storage.paths import outside
from dedupe.version import __version__
from dedupe.walk.listing import Listing


def result(
    session: Session,
    config: ScanConfig,
    listing: Listing,
    united: United,
    known: Known,
    read: tuple[Fingerprinted, Confirmed, Arranged],
) -> ScanResult:
    """Return the outcome of a scan, made of what its phases returned."""
    table, (fingerprinted, confirmed, arranged) = listing.table, read
    groups = arranged.groups
    told = (*listing.problems, *fingerprinted.problems, *confirmed.problems, *arranged.problems)
    problems = sorted((p._replace(path=outside(p.path)) for p in told), key=lambda p: (p.path, p.kind))
    session.cache.close()
    return ScanResult(
        version=__version__,
        started=session.started,
        seconds=round(time.perf_counter() - session.begun, 3),
        roots=[outside(r) for r in session.roots],
        confirm=config.confirm,
        backend=confirmed.backend,
        totals=Totals(
            files=len(table) + listing.alone_files - united.files,
            bytes=sum(table.size) + listing.alone_bytes - united.bytes,
            skipped=dict(sorted(listing.skipped.items())),
            groups=len(groups),
            redundant_files=groups.redundant_files,
            reclaimable_bytes=groups.reclaimable_bytes,
            bytes_read=fingerprinted.bytes_read + confirmed.bytes_read,
            cache_hits=known.hits,
            problems=len(problems),
        ),
        groups=groups,
        problems=problems,
        volumes=volumes_of(table),
        notes=(*session.cache.notes, *listing.notes),
        folders=FolderCounts(lambda: _listed(table), [outside(path) for path in listing.unlisted]),
        phases=session.phases,
    )


def _listed(table: FileTable) -> Iterator[tuple[bytes, int, int, int]]:
    """Yield what lies directly in each listed folder, under the names that the user knows."""
    for folder, files, sizes, left_out in table.listed():
        yield outside(folder), files, sizes, left_out
