"""Values of many files in columns: picking from them, and keeping some of their own.  Touches no disk."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress, count, filterfalse, islice, pairwise, repeat
from operator import add, eq, itemgetter, ne
from typing import TypeVar

T = TypeVar("T")


def is_contiguous(members: Sequence[int]) -> bool:
    """Return whether members follow each other without a gap, so that slices do for them."""
    if not members:
        return False
    first, last = members[0], members[-1]
    return last - first + 1 == len(members) and all(map(eq, members, range(first, last + 1)))


def runs(members: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the bounds, as places, of members that follow each other without a gap."""
    follows = map(add, members, repeat(1))
    breaks = compress(count(1), map(ne, islice(members, 1, None), follows))
    return pairwise((0, *breaks, len(members))) if members else iter(())


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
        if len(values) == len(members) and None not in values and set(map(len, values)) == {self.width}:  # type: ignore[arg-type]
            self.put_joined(members, b"".join(values))  # type: ignore[arg-type]
            return
        for i, value in zip(members, values, strict=True):
            if value is not None:
                self.put(i, value)

    def put_joined(
        self, members: Sequence[int], values: bytes, bounds: Iterable[tuple[int, int]] | None = None
    ) -> None:
        """Set the values of many files, which lie end to end.

        Args:
            members: indexes of the files.
            values: all of them.
            bounds: `runs` of the members, where they are known.

        Raises:
            ValueError: there are not as many as files.
        """
        width = self.width
        if len(values) != len(members) * width:
            raise ValueError(f"{len(values)} bytes for {len(members)} values of {width}")
        self._reach(max(members, default=-1))
        for first, end in runs(members) if bounds is None else bounds:
            i, after = members[first], members[end - 1] + 1
            self._values[i * width : after * width] = values[first * width : end * width]
            self._known[i:after] = b"\1" * (end - first)

    def __contains__(self, i: int) -> bool:
        return i < len(self._known) and self._known[i] == 1

    def has_all(self, members: Sequence[int]) -> bool:
        """Return whether every one of the members has a value."""
        known = self._known
        return max(members) < len(known) and all(gather(members)(known))

    def unknown(self, members: Iterable[int], count: int) -> Iterable[int]:
        """Return the members that have no value; `count`: all indexes are lower."""
        if not self._known:
            return members
        return filterfalse((self._known + bytes(max(0, count - len(self._known)))).__getitem__, members)

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
