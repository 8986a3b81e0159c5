"""What a worker tells while it works and hears from outside: bytes done, and whether to stop.

Without `join` (one process, or an executor elsewhere) it counts for itself and is never told to stop by another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, MutableSequence

STOP = 0  # slot 0: not zero means stop; the others count the bytes of a worker each


class Stopped(Exception):  # noqa: N818 - no error: the main process asked for it
    """The work is no longer wanted."""


_slots: MutableSequence[int] = [0, 0]
_mine = 1
_watch: Callable[[int], object] | None = None


def join(slots: Any, number: int) -> None:
    """Let this process count in slot `number` of an array that the main process reads."""
    global _slots, _mine
    _slots, _mine = slots, number


def advance(count: int) -> None:
    """Count bytes as done.

    Raises:
        Stopped: the main process wants no more.
    """
    _slots[_mine] += count
    if _watch is not None:
        _watch(_slots[_mine])
    if _slots[STOP]:
        raise Stopped


def watch(tick: Callable[[int], object] | None) -> None:
    """Have `tick` called with what this process has counted, each time that it counts; None ends that."""
    global _watch  # noqa: PLW0603
    _watch = tick


def done() -> int:
    """Return the bytes counted by this process alone."""
    return _slots[_mine]
