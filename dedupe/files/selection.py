"""Some files of a table, as a batch of work takes them along: their paths and stats.  Touches no disk.

Where the table is, they are made when they are looked at.  To a process that was forked with the table, only their
numbers travel, and to any other columns: a path and a stat for each file as objects would cost ten times as much.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import TypeAlias

from dedupe.files import inherited
from dedupe.files.columns import gather, gather_array, is_contiguous
from dedupe.files.table import STAT_COLUMNS, FileTable

_Rebuilt: TypeAlias = tuple[Callable[..., object], tuple[object, ...]]  # how an object is made on arrival


class SelectedPaths:
    """Whole paths of some files, or those in their volumes.

    Args:
        table: the files.
        members: which of them, in their order.
        relative: to their volumes.
    """

    __slots__ = ("_members", "_relative", "_table")

    def __init__(self, table: FileTable, members: Sequence[int], *, relative: bool = False) -> None:
        self._table = table
        self._members = members
        self._relative = relative

    def __iter__(self) -> Iterator[bytes]:
        if self._relative:
            return iter(self._table.relative_paths(self._members))
        return iter(self._table.paths(self._members))

    def __reduce__(self) -> _Rebuilt:
        there = inherited.stand_in(self._table)
        if there is not None:
            return partial(SelectedPaths, relative=self._relative), (there, self._members)
        table, members = self._table, self._members
        if is_contiguous(members):
            first, last = members[0], members[-1]
            folder: Sequence[int] = table.folder[first : last + 1]
            begin = table.ends[first - 1] if first else 0
            names = bytes(table.names[begin : table.ends[last]])
            ends = array("Q", [end - begin for end in table.ends[first : last + 1]])
        else:
            folder = gather(members)(table.folder)
            whole, ends_of = table.names, table.ends
            single = [whole[ends_of[i - 1] if i else 0 : ends_of[i]] for i in members]
            names = b"".join(single)
            ends = array("Q", accumulate(map(len, single)))
        used = sorted(set(folder))
        place = dict(zip(used, range(len(used)), strict=True))
        folders = [table.relative_folder(f) if self._relative else table.folders[f] for f in used]
        return PackedPaths, (folders, array("I", [place[f] for f in folder]), names, ends)


class SelectedStats:
    """What the walk saw of some files, as plain tuples of `FileStat`.

    Args:
        table: the files.
        members: which of them, in their order.
    """

    __slots__ = ("_members", "_table")

    def __init__(self, table: FileTable, members: Sequence[int]) -> None:
        self._table = table
        self._members = members

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        if not self._members:
            return iter(())
        if self._are_plain():
            pick = gather(self._members)
            return zip(*(pick(getattr(self._table, column)) for column in STAT_COLUMNS), strict=True)
        return (tuple(self._table.stat(i)) for i in self._members)

    def _are_plain(self) -> bool:
        """Return whether the columns hold all that there is to tell of these files."""
        table = self._table
        if table.wide or table.far:
            return False
        if not table.has_unstable_inodes:
            return True
        return all(table.volumes[n].stable_inodes for n in set(gather(self._members)(table.volume)))

    def __reduce__(self) -> _Rebuilt:
        there = inherited.stand_in(self._table)
        if there is not None:
            return SelectedStats, (there, self._members)
        if not self._members or not self._are_plain():
            return tuple, (tuple(self),)
        cut = gather_array(self._members)
        return PackedStats, ([cut(getattr(self._table, column)) for column in STAT_COLUMNS],)


class PackedPaths:
    """Paths that have come from another process, held as folders and one run of names."""

    __slots__ = ("_ends", "_folder", "_folders", "_names")

    def __init__(self, folders: Sequence[bytes], folder: array[int], names: bytes, ends: array[int]) -> None:
        self._folders = folders
        self._folder = folder  # index into `folders`, of each path
        self._names = names
        self._ends = ends  # of each name

    def __iter__(self) -> Iterator[bytes]:
        folders, names, begin = self._folders, self._names, 0
        for folder, end in zip(self._folder, self._ends, strict=True):
            yield folders[folder] + names[begin:end]
            begin = end


class PackedStats:
    """Stats that have come from another process, held in a column each for what they consist of."""

    __slots__ = ("_columns",)

    def __init__(self, columns: Sequence[array[int]]) -> None:
        self._columns = columns

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return zip(*self._columns, strict=True)
