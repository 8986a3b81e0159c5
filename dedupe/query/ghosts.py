"""Files of the archive that are the card's own, where a catalog of either side tells so.  Touches no file.

A catalog of the very disk that is looked at would hold everything on it.  What it tells of places below the card, or
of inode numbers that files on the card have, is no second copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dedupe.catalog.offline import Offline
from dedupe.files.table import FileTable
from dedupe.query.sides import Sides


def ghosts(sides: Sides, offline: Offline) -> set[int]:
    """Return the names in the archive that are on the card as far as a catalog can tell."""
    if not offline:
        return set()
    table, names = sides.table, sides.card_names
    ids = [offline.volume_ids.get(n, volume.id) for n, volume in enumerate(table.volumes)]
    tops = _tops(table, names, ids)
    inodes = {(ids[table.volume[i]], table.stable_inode_of(i)) for i in range(names) if table.stable_inode_of(i)}
    by_catalog = any(offline.has(i) for i in range(names))  # else what is live has been told apart by looking at it
    found = set()
    for i in range(names, len(table)):
        volume = ids[table.volume[i]]
        if volume in tops and (by_catalog or offline.has(i)):
            place = table.relative_path(i)
            if (volume, table.stable_inode_of(i)) in inodes or place.startswith(tops[volume]):
                found.add(i)
    return found


def _tops(table: FileTable, names: int, ids: Sequence[str]) -> dict[str, tuple[bytes, ...]]:
    """Return of each volume that the card lies on the topmost folders of the card there."""
    shortest: dict[tuple[int, int], bytes] = {}
    for folder in sorted(set(table.folder[:names])):
        key = (table.folder_mount[folder], table.folder_root[folder])
        place = table.mount_of(folder).relative(table.folders[folder])
        above = shortest.setdefault(key, place)
        shortest[key] = _common(above, place)
    tops: dict[str, tuple[bytes, ...]] = {}
    for (mount, _), place in shortest.items():
        volume = ids[table.mount_volume[mount]]
        tops[volume] = (*tops.get(volume, ()), place)
    return tops


def _common(one: bytes, other: bytes) -> bytes:
    """Return the folder that two folders lie in."""
    return b"".join(_shared(one.split(b"/"), other.split(b"/")))


def _shared(one: Sequence[bytes], other: Sequence[bytes]) -> Iterator[bytes]:
    for mine, theirs in zip(one[:-1], other[:-1], strict=False):
        if mine != theirs:
            return
        yield mine + b"/"
