"""Classes of equal files in columns: half a million pairs in 20 MB, where objects need 150.  Reads nothing."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TypeAlias, overload

Class: TypeAlias = tuple[bytes | None, Sequence[int]]  # digest, members


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

    def __len__(self) -> int:
        return len(self._ends)

    def outlines(self) -> Iterator[tuple[int, int]]:
        """Yield the first member of each class and how many there are."""
        begin = 0
        for end in self._ends:
            yield self._members[begin], end - begin
            begin = end

    def members(self, n: int) -> Sequence[int]:
        """Return the members of a class."""
        return self._members[self._ends[n - 1] if n else 0 : self._ends[n]]

    @overload
    def __getitem__(self, n: int) -> Class: ...

    @overload
    def __getitem__(self, n: slice) -> Sequence[Class]: ...

    def __getitem__(self, n: int | slice) -> Class | Sequence[Class]:
        if isinstance(n, slice):
            return [self[i] for i in range(*n.indices(len(self)))]
        n = range(len(self))[n]
        digest = bytes(self._digests[n * self._width : (n + 1) * self._width]) if self._width else None
        return digest, self.members(n)

    def __iter__(self) -> Iterator[Class]:
        return (self[n] for n in range(len(self)))
