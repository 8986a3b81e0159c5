"""The first phase: from roots to the files below them, and to sets of those of one size.  Opens no file."""

from __future__ import annotations

import os
from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import compress, repeat
from typing import TypeAlias

from dedupe.catalog.recognise import is_catalog
from dedupe.config import ScanConfig
from dedupe.errors import NothingUsableError
from dedupe.files.columns import column_getter
from dedupe.files.grouping import group_by_key
from dedupe.files.table import FileTable
from dedupe.scan.session import Session
from dedupe.storage.paths import outside
from dedupe.walk.listing import Listing
from dedupe.walk.walker import walk

Sets: TypeAlias = "list[array[int]]"  # of files that may be equal, by their index in the table


def list_files(session: Session, config: ScanConfig, roots: Sequence[bytes] | None = None) -> Listing:
    """Return all files below the roots.

    Args:
        session: the means.
        config: what takes part.
        roots: those to list, where they are not all of the session.

    Raises:
        NothingUsableError: no root can be read.
    """
    roots = session.roots if roots is None else roots
    catalogs = frozenset(filter(is_catalog, roots))
    live = [number for number, root in enumerate(roots) if root not in catalogs]
    own = (*config.own_files, *session.cache.files)
    with session.phase("walk"):
        listing = walk(config, [roots[n] for n in live], session.pool, own, reach=session.progress.reach)
    listing.catalogs = catalogs
    named = frozenset(roots)
    lost = [p for p in listing.problems if p.path in named]
    if lost and not len(listing.table) and len({p.path for p in lost}) == len(named):
        first = lost[0]
        raise NothingUsableError(f"Nothing could be scanned: {os.fsdecode(outside(first.path))} {first.message}.")
    if len(live) < len(roots):
        listing.table.number_roots(live)
    session.cache.remember_roots(roots, session.started)
    return listing


def group_by_size(table: FileTable) -> Sets:
    """Return the sets of two or more names whose files have one size."""
    return list(group_by_key(range(len(table)), column_getter(table.size)))


def as_listed(table: FileTable, members: Iterable[int]) -> array[int]:
    """Return files in the order in which they were listed: what lies together is read and looked up together."""
    asked = bytearray(len(table))
    deque(map(asked.__setitem__, members, repeat(1)), maxlen=0)
    return array("I", compress(range(len(asked)), asked))
