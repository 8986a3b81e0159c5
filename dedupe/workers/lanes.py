"""Batches in lanes, by the rotating disks that they keep busy: which one may be handed out next.  Does no work itself.

Of the batches that need one rotating disk only one is out at a time, whatever else they need; those that need none go
out as they come.  So each such disk has one reader in its own order, and all disks are read at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

B = TypeVar("B")


class Lane(NamedTuple, Generic[B]):
    """Batches that need the same disks, in their order."""

    disks: frozenset[str]  # rotating ones; none where what they lie on may be read by many at once
    batches: Iterator[B]


class Lanes(Generic[B]):
    """Hands out batches of several lanes.

    Args:
        lanes: each with other disks; those that need the fewest go first, and those that need none last.
    """

    def __init__(self, lanes: Iterable[Lane[B]]) -> None:
        self._waiting = sorted(lanes, key=lambda lane: (not lane.disks, len(lane.disks)))
        self._busy: set[str] = set()  # disks
        self._free = 0  # batches that are out and need none

    @classmethod
    def of(cls, batches: Iterable[B]) -> Lanes[B]:
        """Return batches that keep no rotating disk busy as lanes."""
        return cls([Lane(frozenset(), iter(batches))])

    @property
    def rotating(self) -> int:
        """How many disks have one reader each."""
        return len(frozenset[str]().union(*(lane.disks for lane in self._waiting)))

    @property
    def disks(self) -> int:
        """How many disks there are at least that may be read at once."""
        return self.rotating + any(not lane.disks for lane in self._waiting)

    @property
    def has_more(self) -> bool:
        """Whether `take` may give more, now or when something was given back."""
        return bool(self._waiting)

    def take(self, most_free: int | None = None) -> tuple[B, frozenset[str]] | None:
        """Return a batch that may be handed out now, with its disks; None where there is none, maybe for the moment.

        Args:
            most_free: how many batches that need no disk may be out at a time; None for any number.
        """
        for lane in list(self._waiting):
            if not self._busy.isdisjoint(lane.disks) or (not lane.disks and self._free == most_free):
                continue
            try:
                batch = next(lane.batches)
            except StopIteration:
                self._waiting.remove(lane)
                continue
            self._busy |= lane.disks
            self._free += not lane.disks
            return batch, lane.disks
        return None

    def give_back(self, disks: frozenset[str]) -> None:
        """Take note that a batch with these disks has ended."""
        self._busy -= disks
        self._free -= not disks
