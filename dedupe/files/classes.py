"""Classes of equal files in columns: half a million pairs in 20 MB, where objects need 150.  Reads nothing."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import sub
from typing import TypeAlias, overload

Class: TypeAlias = tuple[bytes | None, Sequence[int]]  # digest, members
_AT_ONCE = 1024  # members whose keys are in memory together


class Classes(Sequence[Class]):
    """Grows by whole classes.  All have digests of one length, or none has one."""

    __slots__ = ("_digests", "_ends", "_members", "_width")

    def __init__(self) -> None:
        self._members = array("I")
        self._ends = array("I")
        self._digests = bytearray()
        self._width = 0

    def append(self, digest: bytes | None, members: Sequence[int]) -> None:
        """Add a class.

        Raises:
            ValueError: its digest is of another length than those before, or is there where theirs are not.
        """
        width = 0 if digest is None else len(digest)
        if width != self._width and self._ends:
            raise ValueError(f"a digest of {width} bytes beside others of {self._width}")
        self._width = width
        self._members.extend(members)
        self._ends.append(len(self._members))
        self._digests += digest or b""

    def extend(self, other: Classes) -> None:
        """Add all classes of another table.

        Raises:
            ValueError: its digests are of another length than those before.
        """
        if other._width != self._width and self._ends and other._ends:
            raise ValueError(f"digests of {other._width} bytes beside others of {self._width}")
        self._width = other._width if other._ends else self._width
        begin = len(self._members)
        self._members.extend(other._members)
        self._ends.extend([begin + end for end in other._ends])
        self._digests += other._digests

    def sort_members(self, ordered: Callable[[array[int], Iterable[int]], array[int]]) -> None:
        """Put the members of each class in order: `ordered` is given those of many classes, and how many of each."""
        for first, last in self.spans(_AT_ONCE):
            members = self.members(first, last)
            begin = self._begin(first)
            self._members[begin : begin + len(members)] = ordered(members, self.counts(first, last))

    def reorder(self, numbers: Iterable[int]) -> None:
        """Put the classes in another order, given by where they are now."""
        members, ends, digests = array("I"), array("I"), bytearray()
        begins, width = [0, *self._ends], self._width
        for n in numbers:
            members += self._members[begins[n] : begins[n + 1]]
            ends.append(len(members))
            digests += self._digests[n * width : (n + 1) * width]
        self._members, self._ends, self._digests = members, ends, digests

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def total(self) -> int:
        """How many members all classes have together."""
        return len(self._members)

    def _begin(self, n: int) -> int:
        return self._ends[n - 1] if n else 0

    def spans(self, least: int) -> Iterator[tuple[int, int]]:
        """Yield the bounds of runs of classes, with no more classes in each than it takes for so many members."""
        first = 0
        while first < len(self):
            last = min(bisect_left(self._ends, self._begin(first) + least, first) + 1, len(self))
            yield first, last
            first = last

    def members(self, first: int, last: int) -> array[int]:
        """Return the members of a run of classes."""
        return self._members[self._begin(first) : self._begin(last)]

    def firsts(self, first: int, last: int) -> array[int]:
        """Return the first member of each class of a run."""
        return array("I", [self._members[self._begin(n)] for n in range(first, last)])

    def counts(self, first: int, last: int) -> Iterator[int]:
        """Yield how many members each class of a run has."""
        ends = self._ends[first:last]
        return map(sub, ends, chain((self._begin(first),), ends))

    def digests(self, first: int, last: int) -> Sequence[bytes | None]:
        """Return the digests of a run of classes."""
        if not self._width:
            return [None] * (last - first)
        run = bytes(self._digests[first * self._width : last * self._width])
        return [run[at : at + self._width] for at in range(0, len(run), self._width)]

    @overload
    def __getitem__(self, n: int) -> Class: ...

    @overload
    def __getitem__(self, n: slice) -> Sequence[Class]: ...

    def __getitem__(self, n: int | slice) -> Class | Sequence[Class]:
        if isinstance(n, slice):
            return [self[i] for i in range(*n.indices(len(self)))]
        n = range(len(self))[n]
        digest = bytes(self._digests[n * self._width : (n + 1) * self._width]) if self._width else None
        return digest, self._members[self._begin(n) : self._ends[n]]

    def __iter__(self) -> Iterator[Class]:
        return (self[n] for n in range(len(self)))
