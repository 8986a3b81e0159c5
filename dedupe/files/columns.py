"""Values of many files in columns: picking from them, and keeping some of their own.  Touches no disk."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from operator import eq, itemgetter
from typing import TypeVar

T = TypeVar("T")


def is_contiguous(members: Sequence[int]) -> bool:
    """Return whether members follow each other without a gap, so that slices do for them."""
    if not members:
        return False
    first, last = members[0], members[-1]
    return last - first + 1 == len(members) and all(map(eq, members, range(first, last + 1)))


def gather(members: Sequence[int]) -> Callable[[Sequence[T]], Sequence[T]]:
    """Return a function that picks the members' values from a column: five times as fast as asking for each."""
    if len(members) < 2:  # itemgetter has other answers for one and for none
        return lambda column: [column[i] for i in members]
    return itemgetter(*members)


def gather_array(members: Sequence[int]) -> Callable[[array[int]], array[int]]:
    """Return a function that cuts the values of one or more members out of a column: a slice where they are a run."""
    if is_contiguous(members):
        return itemgetter(slice(members[0], members[-1] + 1))
    pick = gather(members)
    return lambda column: array(column.typecode, pick(column))


def column_getter(column: Sequence[T]) -> Callable[[Sequence[int]], Sequence[T]]:
    """Return a function that picks the values of any members from a column."""
    return lambda members: gather(members)(column)


class Column:
    """Values of one width for some of the files, by index."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._values = bytearray()
        self._known = bytearray()

    def __bool__(self) -> bool:
        return bool(self._known)

    def _reach(self, i: int) -> None:
        """Make room for the value of file `i`."""
        if i >= len(self._known):
            more = max(i + 1, len(self._known) * 5 // 4) - len(self._known)
            self._known.extend(bytes(more))
            self._values.extend(bytes(more * self.width))

    def put(self, i: int, value: bytes) -> None:
        """Set the value of a file.

        Raises:
            ValueError: the value has another width.
        """
        if len(value) != self.width:
            raise ValueError(f"{len(value)} bytes in a column of {self.width}")
        self._reach(i)
        at = i * self.width
        self._values[at : at + self.width] = value
        self._known[i] = 1

    def put_all(self, members: Sequence[int], values: Sequence[bytes | None]) -> None:
        """Set the values of many files; None sets nothing.

        Raises:
            ValueError: a value has another width, or there are not as many as files.
        """
        if (
            len(values) == len(members)
            and all(v is not None and len(v) == self.width for v in values)
            and is_contiguous(members)
        ):
            first, last = members[0], members[-1]
            joined = b"".join(values)  # type: ignore[arg-type]
            self._reach(last)
            self._values[first * self.width : (last + 1) * self.width] = joined
            self._known[first : last + 1] = b"\1" * len(members)
            return
        for i, value in zip(members, values, strict=True):
            if value is not None:
                self.put(i, value)

    def __contains__(self, i: int) -> bool:
        return i < len(self._known) and self._known[i] == 1

    def has_all(self, members: Sequence[int]) -> bool:
        """Return whether every one of the members has a value."""
        known = self._known
        return max(members) < len(known) and all(gather(members)(known))

    def missing(self, members: Sequence[int]) -> int:
        """Return how many of the members have no value."""
        known = self._known
        if members and max(members) < len(known):
            return len(members) - sum(gather(members)(known))
        return sum(i not in self for i in members)

    def get(self, i: int) -> bytes | None:
        """Return the value of a file, or None if it has none."""
        if i >= len(self._known) or not self._known[i]:
            return None
        at = i * self.width
        return bytes(self._values[at : at + self.width])

    def get_all(self, members: Sequence[int]) -> list[bytes | None]:
        """Return the values of many files, None for those that have none."""
        width, known, values = self.width, self._known, memoryview(self._values)
        count = len(known)
        return [bytes(values[i * width : (i + 1) * width]) if i < count and known[i] else None for i in members]

    def first_words(self) -> Sequence[int]:
        """Return the first eight bytes of each value as a number: a key, not a value.  The width divides by eight."""
        return memoryview(self._values).cast("Q")[:: self.width // 8]
