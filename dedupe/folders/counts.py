"""How many files lie below each listed folder.  Reads nothing: it sums what the walk found directly in each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

from dedupe.folders.tree import nearest, plain
from dedupe.result import FolderCount


class FolderCounts(Mapping[bytes, FolderCount]):
    """Counts below each listed folder, summed at the first look, from what the walk found directly in each.

    `direct` gives (folder, names of files that took part, their sizes, entries left out) for every folder that was
    listed, and for no other: the folder of a file that is a root of its own stays unknown.  A folder may come more
    than once, with or without a separator at its end.  Each path of `unread` (that of a problem, or of a folder that
    was not entered a second time) counts as one entry left out of the listed folder above it.
    """

    def __init__(
        self, direct: Callable[[], Iterable[tuple[bytes, int, int, int]]], unread: Iterable[bytes] = ()
    ) -> None:
        self._direct = direct
        self._unread = unread

    @cached_property
    def _below(self) -> dict[bytes, FolderCount]:
        sums: dict[bytes, list[int]] = {}
        for folder, *numbers in self._direct():
            found = sums.setdefault(plain(folder), [0, 0, 0])
            found[:] = map(int.__add__, found, numbers)
        for path in self._unread:
            if (place := nearest(path, sums)) is not None:
                sums[place][2] += 1
        for folder in sorted(sums, key=len, reverse=True):  # what lies below is longer, so it comes first
            if (above := nearest(folder, sums)) is not None:
                sums[above][:] = map(int.__add__, sums[above], sums[folder])
        return {folder: FolderCount(*numbers) for folder, numbers in sums.items()}

    def __getitem__(self, folder: bytes) -> FolderCount:
        return self._below[folder]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._below)

    def __len__(self) -> int:
        return len(self._below)
