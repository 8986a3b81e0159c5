"""Files of the archive that are the card's own, where a catalog of either side tells so.  Opens no file.

A catalog of the very disk that is looked at would hold everything on it.  What it tells of places below the card, of
inode numbers that files on the card have, or of files that are not at their places any more, is no second copy.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from dedupe.catalog.offline import Offline
from dedupe.files.table import FileTable
from dedupe.query.sides import Sides
from dedupe.storage import file_stat, volumes
from dedupe.storage.volume import Mount

_KINDS = frozenset({"export", "fsid", "serial", "uuid"})  # of ids, that mean the same on any machine
_FAT_TICK = 2_000_000_000  # nanoseconds by which FAT's times are rounded


def ghosts(sides: Sides, offline: Offline) -> set[int]:
    """Return the names in the archive that are on the card as far as a catalog can tell."""
    if not offline:
        return set()
    table, names = sides.table, sides.card_names
    ids = [offline.volume_ids.get(n, volume.id) for n, volume in enumerate(table.volumes)]
    tops = _tops(table, names, ids)
    inodes = {(ids[table.volume[i]], table.stable_inode_of(i)) for i in range(names) if table.stable_inode_of(i)}
    by_catalog = any(offline.has(i) for i in range(names))  # else what is live has been told apart by looking at it
    there = {volume: [] if by_catalog else volumes.mounted(volume) for volume in tops}
    found = set()
    for i in range(names, len(table)):
        volume = ids[table.volume[i]]
        if volume in tops and (by_catalog or offline.has(i)):
            is_own = (volume, table.stable_inode_of(i)) in inodes or table.relative_path(i).startswith(tops[volume])
            if is_own or (offline.has(i) and not by_catalog and not _is_there(table, i, there[volume])):
                found.add(i)
    return found | _of_unlike_ids(sides, offline, ids, tops, either=by_catalog)


def _tops(table: FileTable, names: int, ids: Sequence[str]) -> dict[str, tuple[bytes, ...]]:
    """Return of each volume that the card lies on where there the roots of the card begin."""
    tops: dict[str, tuple[bytes, ...]] = {}
    for mount in {table.folder_mount[folder] for folder in set(table.folder[:names])}:
        volume = ids[table.mount_volume[mount]]
        tops[volume] = (*tops.get(volume, ()), table.mounts[mount].base)
    return tops


def _is_there(table: FileTable, i: int, mounts: Sequence[Mount]) -> bool:
    """Return whether a file of a catalog can be seen at its place now, where its volume is mounted."""
    place, modified_ns = table.relative_path(i), table.times(i)[0]
    for mount in mounts:
        if place.startswith(mount.base):
            path = mount.prefix + place[len(mount.base) :].replace(b"/", os.fsencode(os.sep))
            try:
                seen = file_stat.of_path(path)
            except OSError:
                continue
            if (seen.size, seen.modified_ns) == (table.size[i], modified_ns):
                return True
    return False


def _of_unlike_ids(
    sides: Sides, offline: Offline, ids: Sequence[str], own: Collection[str], *, either: bool
) -> set[int]:
    """Return files at the place, with the size and the time of one on the card, where the ids cannot be compared.

    One system knows a volume by its UUID, another by its serial number, a third by neither: a catalog that was made
    elsewhere may be the card's own.

    Args:
        sides: both.
        offline: which files are of catalogs.
        ids: of the volumes, by their numbers.
        own: those of the card.
        either: whether the card is of a catalog itself, so that files that are here may be its own.
    """
    table, names = sides.table, sides.card_names
    unlike = {n for n, volume in enumerate(ids) if volume not in own and not _can_be_compared(volume, own)}
    candidates = [i for i in range(names, len(table)) if table.volume[i] in unlike and (either or offline.has(i))]
    sizes = {table.size[i] for i in candidates}
    times = {(table.relative_path(i), table.size[i]): table.times(i)[0] for i in range(names) if table.size[i] in sizes}
    return {
        i
        for i in candidates
        if (when := times.get((table.relative_path(i), table.size[i]))) is not None
        and abs(when - table.times(i)[0]) <= _FAT_TICK
    }


def _can_be_compared(volume: str, own: Collection[str]) -> bool:
    """Return whether an id that is none of some others can only be that of another volume."""
    kind = volume.partition(":")[0]
    return kind in _KINDS and all(other.startswith(kind + ":") for other in own)
