"""What a task tells while it runs and hears from outside: bytes done, and what to stop.  Does no work itself.

Each pool has its own counter.  Which one a task counts in is known by the thread that runs it, so that two scans in one
process show each its own progress, and end each for itself.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from dedupe.workers.task import Task

B = TypeVar("B")
R = TypeVar("R")

STOP = 0  # slot 0 of what processes share: not zero means stop
_WITHDRAWN = 16  # the slots after it, each with the last ticket that was withdrawn of those that share it
FIRST = STOP + 1 + _WITHDRAWN  # from this one on, each counts the bytes of a worker


class Stopped(Exception):  # noqa: N818 - no error: the main process asked for it
    """The work is no longer wanted."""


class Counter:
    """Bytes done for one pool by this process, and whether they are still wanted.

    Pickled, it becomes a new one: in another process it counts for itself and is never told to stop.
    """

    __slots__ = ("done", "stopped", "tick", "withdrawn")

    def __init__(self) -> None:
        self.done = 0
        self.stopped = False
        self.tick: Callable[[int], object] | None = None  # called with the count each time that it grows
        self.withdrawn: set[int] = set()

    def __reduce__(self) -> tuple[type[Counter], tuple[()]]:
        return type(self), ()

    def advance(self, count: int) -> None:
        """Count bytes as done; see the function of this name."""
        self.done += count
        if self.tick is not None:
            self.tick(self.done)
        if self.stopped:
            raise Stopped

    def is_withdrawn(self, ticket: int) -> bool:
        """Return whether one piece of work is not wanted any more; see the function of this name."""
        return ticket in self.withdrawn


class SharedCounter(Counter):
    """One that several threads may count in at once."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()  # no Python promises that += is one step

    def advance(self, count: int) -> None:
        """Count bytes as done, one thread after the other."""
        with self._lock:
            super().advance(count)


class _Slot:
    """A worker process's place in the array that its main process reads."""

    __slots__ = ("_number", "_slots")

    def __init__(self, slots: Any, number: int) -> None:
        self._slots = slots
        self._number = number

    def advance(self, count: int) -> None:
        self._slots[self._number] += count
        if self._slots[STOP]:
            raise Stopped

    def is_withdrawn(self, ticket: int) -> bool:
        return bool(self._slots[_slot_of(ticket)] == ticket)


def _slot_of(ticket: int) -> int:
    return STOP + 1 + ticket % _WITHDRAWN


def withdraw(slots: Any, ticket: int) -> None:
    """Tell worker processes that one piece of work is not wanted any more."""
    slots[_slot_of(ticket)] = ticket


class _Here(threading.local):
    """Where this thread counts: for nobody, until a pool has it run a task."""

    def __init__(self) -> None:
        self.at: Counter | _Slot = Counter()


_here = _Here()


def join(slots: Any, number: int) -> None:
    """Let this worker process count in slot `number` of an array: it belongs to one pool as long as it lives."""
    _here.at = _Slot(slots, number)


def run(counter: Counter, task: Task[B, R], batch: B) -> R:
    """Return what a task makes of a batch, which counts in `counter` meanwhile.

    Raises:
        Stopped: the pool wants no more.
    """
    before, _here.at = _here.at, counter
    try:
        if counter.stopped:  # it waited in an executor's queue until nobody wanted it
            raise Stopped
        return task(batch)
    finally:
        _here.at = before


def advance(count: int) -> None:
    """Count bytes as done, for the pool that has this thread run a task.

    Raises:
        Stopped: the pool wants no more.
    """
    _here.at.advance(count)


def is_withdrawn(ticket: int) -> bool:
    """Return whether `Pool.withdraw` was called for a piece of work, which may then break off: nobody wants its result.

    Never true where the process that works shares nothing with the pool's, and forgotten when others have been
    withdrawn after it.
    """
    return _here.at.is_withdrawn(ticket)
