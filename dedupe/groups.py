"""The groups of a result, made when they are looked at: a million files held as objects would need a gigabyte."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import overload

from dedupe.classes import Classes
from dedupe.entries import Entries
from dedupe.paths import outside
from dedupe.result import File, Group


class FoundFiles(Sequence[File]):
    """Files of one group, by their index in the table of entries, in the order of their paths."""

    __slots__ = ("_entries", "_links", "_members", "_paths")

    def __init__(self, entries: Entries, members: Sequence[int], links: Mapping[int, Sequence[int]]) -> None:
        ordered = sorted(zip(entries.paths(members), members, strict=True))
        self._entries = entries
        self._paths = [path for path, _ in ordered]
        self._members = [i for _, i in ordered]
        self._links = links  # the other names of some

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[File]:
        entries, links = self._entries, self._links
        for i, path in zip(self._members, self._paths, strict=True):
            others = tuple(map(outside, entries.paths(links[i]))) if i in links else ()
            modified_ns = entries.times(i)[0] if entries.far else entries.modified_ns[i]
            inode = entries.inode_of(i) if entries.wide else entries.inode[i]
            yield File(outside(path), modified_ns, entries.device[i], inode, others)

    @overload
    def __getitem__(self, at: int) -> File: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[File]: ...

    def __getitem__(self, at: int | slice) -> File | Sequence[File]:
        return list(self)[at]


class FoundGroups(Sequence[Group]):
    """Groups in the order of a report: by reclaimable bytes, most first, then by the path of the first file."""

    __slots__ = ("_algorithm", "_classes", "_entries", "_links", "_order")

    def __init__(self, entries: Entries, classes: Classes, links: Mapping[int, Sequence[int]], algorithm: str) -> None:
        self._entries = entries
        self._classes = classes
        self._links = links
        self._algorithm = algorithm
        self._order = array("I", self._ordered())

    def _ordered(self) -> Iterator[int]:
        """Yield the classes by number; paths are compared only where the bytes leave it open."""
        classes, entries = self._classes, self._entries
        gains = array("Q", (entries.size[first] * (count - 1) for first, count in classes.outlines()))
        same: list[int] = []
        for n in sorted(range(len(classes)), key=gains.__getitem__, reverse=True):
            if same and gains[n] != gains[same[0]]:
                yield from sorted(same, key=self._first_path)
                same = []
            same.append(n)
        yield from sorted(same, key=self._first_path)

    def _first_path(self, n: int) -> bytes:
        return min(self._entries.paths(self._classes.members(n)))

    def __len__(self) -> int:
        return len(self._order)

    def _group(self, at: int) -> Group:
        digest, members = self._classes[self._order[at]]
        files = FoundFiles(self._entries, members, self._links)
        return Group(at + 1, self._entries.size[members[0]], self._algorithm, digest, files)

    def __iter__(self) -> Iterator[Group]:
        return map(self._group, range(len(self)))

    @overload
    def __getitem__(self, at: int) -> Group: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Group]: ...

    def __getitem__(self, at: int | slice) -> Group | Sequence[Group]:
        if isinstance(at, slice):
            return [self._group(i) for i in range(*at.indices(len(self)))]
        return self._group(range(len(self))[at])
