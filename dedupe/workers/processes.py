"""Worker processes of this machine: starting them, replacing the dead, ending them.  Knows nothing of the work itself.

Imported only when there is work for more than one process: this costs as much time as a small scan.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from dedupe.files import inherited
from dedupe.storage import windows
from dedupe.workers import counters
from dedupe.workers.executor_internals import ExecutorInternals
from dedupe.workers.task import Task
from dedupe.workers.tuning import WorkerTuning

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from dedupe.files.table import FileTable

B = TypeVar("B")
R = TypeVar("R")


def _start_method() -> str:
    """Return how workers start: by fork where that is safe, since it takes 10 ms and the others 75 to 95."""
    if sys.platform == "linux" and threading.active_count() == 1:
        return "fork"
    return "forkserver" if sys.platform == "linux" else "spawn"


def _block_interrupts(masked: Iterable[int] | None = None) -> Iterable[int]:
    """Hold back Ctrl-C for the processes that are made now, or set the signals held back to `masked`."""
    if sys.platform != "win32":
        if masked is None:
            return signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
    return ()


def _begin(slots: Any, numbers: Any) -> None:
    """Prepare a worker: Ctrl-C is the main process's affair, and a worker must not outlive it."""
    if sys.platform == "win32":
        windows.expose_placeholders()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _block_interrupts(())
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with numbers.get_lock():
        numbers.value += 1
        counters.join(slots, counters.FIRST + (numbers.value - 1) % (len(slots) - counters.FIRST))
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _nothing() -> None:
    """Make the executor start its workers."""


def _running(processes: Sequence[BaseProcess], seconds: float) -> Sequence[BaseProcess]:
    """Return the processes that still run after a short time in all: there may be sixty."""
    running = {process.sentinel: process for process in processes}
    deadline = time.monotonic() + seconds
    while running and (left := deadline - time.monotonic()) > 0:
        for sentinel in multiprocessing.connection.wait(list(running), left):
            del running[sentinel]  # type: ignore[arg-type]
    return list(running.values())


class Processes:
    """So many worker processes, started at once and again where one of them died.

    Args:
        count: how many.
        tuning: how they start and end.
        table: of files, which they inherit where they are forked.
    """

    may_map = True  # a map can kill its process, which costs no more than a retry

    def __init__(self, count: int, tuning: WorkerTuning, table: FileTable | None = None) -> None:
        self._count = count
        self._tuning = tuning
        self.max_in_flight = count * tuning.ahead
        self._executor: ProcessPoolExecutor | None = None
        self._slots: Any = None
        self._table = table
        self._method = ""  # by which the running ones started
        self._inherited: int | None = None  # the number by which the running ones know the table
        self._running_executor()

    def _running_executor(self) -> ProcessPoolExecutor:
        """Return the executor, a new one if there is none."""
        if self._executor is None:
            self._method = self._tuning.start_method or _start_method()
            context = multiprocessing.get_context(self._method)
            if self.can_inherit and self._table is not None:
                self._inherited = inherited.announce(self._table)
            # Ctrl-C between a worker's birth and `_begin` would print a traceback of the worker's
            masked = _block_interrupts()
            self._slots = self._slots or context.RawArray("Q", counters.FIRST + self._count)
            self._executor = ProcessPoolExecutor(self._count, context, _begin, (self._slots, context.Value("i", 0)))
            with contextlib.suppress(OSError):  # no process could be started: each batch tries again
                self._executor.submit(_nothing)
            _block_interrupts(masked)
        return self._executor

    def submit(self, task: Task[B, R], batch: B) -> Future[R]:
        """Hand over a batch.

        Raises:
            BrokenExecutor: a worker died.
            OSError: no process could be started: memory or processes have run out.
        """
        return self._running_executor().submit(task, batch)

    @property
    def can_inherit(self) -> bool:
        """Return whether others in the place of these would inherit a table of files."""
        return self._method == "fork"

    def discard(self) -> None:
        """Give up processes of which one died."""
        inherited.withdraw(self._inherited)
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None

    def counted(self) -> int:
        """Return what the workers have counted so far."""
        return sum(self._slots[counters.FIRST :])

    def withdraw(self, ticket: int) -> None:
        """Let the worker that does a piece of work know that it is not wanted any more."""
        counters.withdraw(self._slots, ticket)

    def stop(self, *, abort: bool) -> None:
        """End the processes; `abort` breaks off what they are doing."""
        inherited.withdraw(self._inherited)
        if self._executor is None:
            return
        internals = ExecutorInternals(self._executor)
        workers = internals.processes if abort else ()
        grace = self._tuning.grace_seconds
        if abort:
            self._slots[counters.STOP] = 1
        self._executor.shutdown(wait=not abort, cancel_futures=abort)
        for worker in _running(workers, grace):  # in a system call that does not end: a read from a lost server
            worker.kill()
        if workers and not _running(workers, grace) and internals.manager is not None:
            internals.manager.join(grace)  # it takes note of their end; until then they count as children
        self._executor = None
