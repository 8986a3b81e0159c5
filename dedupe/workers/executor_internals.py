"""What executors of the standard library keep to themselves, in one place.  Changes nothing in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading
    from concurrent.futures import Executor
    from multiprocessing.process import BaseProcess


class ExecutorInternals:
    """An executor's private attributes, as CPython 3.11 to 3.14 name them, looked up before a shutdown drops them.

    Where they have other names nothing is found, and nothing depends on it: workers that hang in a system call are then
    left to end by themselves.

    Attributes:
        max_workers: how many workers the executor has at most; None where it does not say.
        processes: those that run, as far as they were started: spawned ones start one by one, as they are needed.
        manager: the thread that takes note of their end; None where there is none.
    """

    __slots__ = ("manager", "max_workers", "processes")

    def __init__(self, executor: Executor) -> None:
        most = getattr(executor, "_max_workers", None)
        self.max_workers: int | None = most if isinstance(most, int) and most > 0 else None
        processes: dict[int, BaseProcess] | None = getattr(executor, "_processes", None)
        self.processes: Sequence[BaseProcess] = list((processes or {}).values())
        self.manager: threading.Thread | None = getattr(executor, "_executor_manager_thread", None)
