"""The missing files in their order, made when they are looked at: as objects, a million would need half a gigabyte."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import overload

from dedupe.files.path_order import PathOrder
from dedupe.query.answer import MissingFile, MissingReason
from dedupe.query.sides import Sides
from dedupe.storage.paths import outside, outside_all


class FoundMissing(Sequence[MissingFile]):
    """Files of the card by their index in the table, in the order of roots and paths."""

    __slots__ = ("_members", "_sides")

    def __init__(self, sides: Sides, members: Sequence[int]) -> None:
        table = sides.table
        by_root = sorted(members, key=table.root_of)
        counts = Counter(map(table.root_of, by_root))
        self._sides = sides
        self._members = PathOrder(table).sorted(array("I", by_root), [counts[root] for root in sorted(counts)])

    def __len__(self) -> int:
        return len(self._members)

    @overload
    def __getitem__(self, at: int) -> MissingFile: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[MissingFile]: ...

    def __getitem__(self, at: int | slice) -> MissingFile | Sequence[MissingFile]:
        if isinstance(at, slice):
            return [self._made(i) for i in self._members[at]]
        return self._made(self._members[at])

    def _made(self, i: int) -> MissingFile:
        sides, table = self._sides, self._sides.table
        return MissingFile(
            outside(table.path(i)),
            table.size[i],
            table.times(i)[0],
            table.root_of(i),
            MissingReason.SAME_FILE if i in sides.shared else MissingReason.NOT_HELD,
            tuple(outside_all(table.paths(sides.further.get(i, ())))),
        )
