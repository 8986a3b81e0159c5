"""Which files can have rows at all, volume by volume.  Touches no file."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

from dedupe.files.table import FileTable
from dedupe.storage import volumes
from dedupe.storage.volume import Volume


def by_volume(table: FileTable, members: Sequence[int]) -> Iterator[tuple[Volume, Sequence[int]]]:
    """Yield the members that can have rows, those of one volume together and in the order given.

    A row needs a volume that is known again, a path in it, and times that fit: left out are files whose folder lies on
    another volume than they do, as a link that was followed leads there, and files dated beyond the year 2262.  So are
    all files of volumes that are clones of each other: a row tells by the id alone which of them it is about.
    """
    if table.far:
        members = [i for i in members if i not in table.far]
    if len(table.volumes) == 1:  # as nearly always
        found: Iterable[tuple[int, Sequence[int]]] = [(0, members)] if members else ()
    else:
        found = _sorted_out(table, members).items()
    ids = [volume.id for volume in table.volumes]
    for number, some in found:
        if ids[number] and ids.count(ids[number]) == 1 and not volumes.has_clones(ids[number]):
            yield table.volumes[number], some


def _sorted_out(table: FileTable, members: Iterable[int]) -> dict[int, array[int]]:
    volume_of = [table.mount_volume[mount] for mount in table.folder_mount]
    found: dict[int, array[int]] = {}
    for i in members:
        volume = table.volume[i]
        if volume_of[table.folder[i]] == volume:
            found.setdefault(volume, array("I")).append(i)
    return found
