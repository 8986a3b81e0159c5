"""The files of a group, made when they are looked at: a million of them held as objects would need a gigabyte."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import overload

from dedupe.entries import Entries
from dedupe.paths import outside
from dedupe.result import File


class FoundFiles(Sequence[File]):
    """Files of one group, by their index in the table of entries; `links` has the other names of some."""

    __slots__ = ("_entries", "_links", "_members")

    def __init__(self, entries: Entries, members: Iterable[int], links: Mapping[int, Sequence[int]]) -> None:
        self._entries = entries
        self._members = array("I", members)
        self._links = links

    def __len__(self) -> int:
        return len(self._members)

    def _file(self, i: int) -> File:
        entries = self._entries
        links = tuple(map(outside, entries.paths(self._links[i]))) if i in self._links else ()
        return File(outside(entries.path(i)), entries.times(i)[0], entries.device[i], entries.inode_of(i), links)

    def __iter__(self) -> Iterator[File]:
        return map(self._file, self._members)

    @overload
    def __getitem__(self, at: int) -> File: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[File]: ...

    def __getitem__(self, at: int | slice) -> File | Sequence[File]:
        if isinstance(at, slice):
            return [self._file(i) for i in self._members[at]]
        return self._file(self._members[at])
