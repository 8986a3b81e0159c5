"""What a task tells while it runs and hears from outside: bytes done, and whether to stop.  Does no work itself.

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

STOP = 0  # slot 0 of what processes share: not zero means stop; the others count the bytes of a worker each


class Stopped(Exception):  # noqa: N818 - no error: the main process asked for it
    """The work is no longer wanted."""


class Counter:
    """Bytes done for one pool by this process, and whether they are still wanted.

    Pickled, it becomes a new one: in another process it counts for itself and is never told to stop.
    """

    __slots__ = ("done", "stopped", "tick")

    def __init__(self) -> None:
        self.done = 0
        self.stopped = False
        self.tick: Callable[[int], object] | None = None  # called with the count each time that it grows

    def __reduce__(self) -> tuple[type[Counter], tuple[()]]:
        return type(self), ()

    def advance(self, count: int) -> None:
        """Count bytes as done; see the function of this name."""
        self.done += count
        if self.tick is not None:
            self.tick(self.done)
        if self.stopped:
            raise Stopped


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


class _Here(threading.local):
    """Where this thread counts: for nobody, until a pool has it run a task."""

    def __init__(self) -> None:
        self.advance: Callable[[int], None] = Counter().advance


_here = _Here()


def join(slots: Any, number: int) -> None:
    """Let this worker process count in slot `number` of an array: it belongs to one pool as long as it lives."""
    _here.advance = _Slot(slots, number).advance


def run(counter: Counter, task: Task[B, R], batch: B) -> R:
    """Return what a task makes of a batch, which counts in `counter` meanwhile.

    Raises:
        Stopped: the pool wants no more.
    """
    before, _here.advance = _here.advance, counter.advance
    try:
        if counter.stopped:  # it waited in an executor's queue until nobody wanted it
            raise Stopped
        return task(batch)
    finally:
        _here.advance = before


def advance(count: int) -> None:
    """Count bytes as done, for the pool that has this thread run a task.

    Raises:
        Stopped: the pool wants no more.
    """
    _here.advance(count)
