"""The order of files by path, from their folders wherever that settles it: making paths takes most of the time."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, compress, count, pairwise
from operator import eq

from dedupe.files.table import FileTable

_PLACE = 32  # bits below the place in a key: an index


class PathOrder:
    """Gives each file a place: how many of the folders sort before its path.

    So whatever has the lower place has the lower path, and only files of one place must be compared by path.  All
    files in a folder that is the beginning of no other have the same place, which is found once for all of them.
    """

    def __init__(self, table: FileTable) -> None:
        self._table = table
        self._folders = sorted(set(table.folders))
        above = {folder for folder, after in pairwise(self._folders) if after.startswith(folder)}
        place = {folder: 0 if folder in above else n << _PLACE for n, folder in enumerate(self._folders, 1)}
        self._places = [place[folder] for folder in table.folders]  # 0: not the same for all files in it

    def sorted(self, members: Sequence[int], counts: Iterable[int]) -> array[int]:
        """Return members of classes, so many of each in turn, those of each class in the order of their paths."""
        places, folder = self._places, self._table.folder
        keys = [(places[folder[i]] or self._place(i)) | i for i in members]
        bounds = list(accumulate(counts, initial=0))
        ordered: list[int] = []
        for begin, end in pairwise(bounds):
            ordered += sorted(keys[begin:end])
        found = array("I", [key & (1 << _PLACE) - 1 for key in ordered])
        place = [key >> _PLACE for key in ordered]
        tied = {bisect_right(bounds, at) for at in compress(count(1), map(eq, place, place[1:]))}
        for n in tied:  # or a class whose first has the place of the last before it, which does no harm
            found[bounds[n - 1] : bounds[n]] = self._by_path(found[bounds[n - 1] : bounds[n]])
        return found

    def _place(self, i: int) -> int:
        return bisect_right(self._folders, self._table.path(i)) << _PLACE

    def _by_path(self, members: Sequence[int]) -> array[int]:
        paths = self._table.paths(members)
        return array("I", [members[n] for n in sorted(range(len(paths)), key=paths.__getitem__)])
