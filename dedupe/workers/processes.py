"""Worker processes: starting them, handing them batches, outliving their deaths.  Knows nothing of the work itself.

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
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from typing import TYPE_CHECKING, Any, TypeVar

from dedupe.storage import windows
from dedupe.workers import counters

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from dedupe.workers.pool import Task

B = TypeVar("B")
R = TypeVar("R")

_AHEAD = 2  # batches a worker that are handed out at once: one in work, one waiting
_TICK = 0.1  # seconds between looks at the counters; also lets Ctrl-C through on Windows before Python 3.14
_GRACE = 0.3  # seconds that workers have to end by themselves when they are broken off


def _context() -> multiprocessing.context.BaseContext:
    """Return how workers start: by fork where that is safe, since it takes 10 ms and the others 75 to 95."""
    if sys.platform == "linux" and threading.active_count() == 1:
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")


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
        counters.join(slots, 1 + (numbers.value - 1) % (len(slots) - 1))
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _nothing() -> None:
    """Make the executor start its workers."""


def _running(processes: Sequence[BaseProcess]) -> Sequence[BaseProcess]:
    """Return the processes that still run after a short time in all: there may be sixty."""
    running = {process.sentinel: process for process in processes}
    deadline = time.monotonic() + _GRACE
    while running and (left := deadline - time.monotonic()) > 0:
        for sentinel in multiprocessing.connection.wait(list(running), left):
            del running[sentinel]  # type: ignore[arg-type]
    return list(running.values())


class Workers:
    """Processes of this machine, or an executor that was given.

    A worker that dies (a mapped file was truncated under it, memory ran out) costs a retry of what was in work, with
    plain reads, and nothing else.
    """

    def __init__(self, jobs: int, executor: Executor | None = None) -> None:
        self._jobs = jobs
        self._given = executor
        self._may_map = executor is None or isinstance(executor, ProcessPoolExecutor)  # a map can kill its process
        self._own: ProcessPoolExecutor | None = None
        self._slots: Any = None
        self._start()

    def _start(self) -> Executor:
        if self._given is not None:
            return self._given
        if self._own is None:
            context = _context()
            # Ctrl-C between a worker's birth and `_begin` would print a traceback of the worker's
            masked = _block_interrupts()
            self._slots = context.RawArray("Q", self._jobs + 1) if self._slots is None else self._slots
            self._own = ProcessPoolExecutor(self._jobs, context, _begin, (self._slots, context.Value("i", 0)))
            with contextlib.suppress(OSError):  # no process could be started: each batch tries again
                self._own.submit(_nothing)
            _block_interrupts(masked)
        return self._own

    def run(
        self, task: Task[B, R], batches: Iterator[B], at_once: int | None, tick: Callable[[int], object]
    ) -> Iterator[tuple[B, R]]:
        """Yield each batch with its result, in the order in which they end; see `Pool.run`."""
        ahead = at_once or self._jobs * _AHEAD
        working: dict[Future[R], B] = {}
        more = True
        while more or working:
            while more and len(working) < ahead:
                try:
                    batch = next(batches)
                except StopIteration:
                    more = False
                    break
                try:
                    working[self._start().submit(task, batch, may_mmap=self._may_map)] = batch
                except BrokenExecutor:  # a worker died while nobody was looking
                    self._discard()
                    yield batch, self._alone(task, batch)
                except OSError:  # no process could be started: memory or processes have run out
                    yield batch, task(batch, may_mmap=False)
            ended, _ = wait(working, _TICK, FIRST_COMPLETED)
            tick(counters.done() + self.counted())
            suspects = [working[f] for f in ended if isinstance(f.exception(), BrokenExecutor)]
            for future in ended:
                batch = working.pop(future)
                if not isinstance(future.exception(), BrokenExecutor):
                    yield batch, future.result()
            if suspects:  # the executor is gone with all that it had
                suspects += list(working.values())
                working.clear()
                self._discard()
                for batch in suspects:
                    yield batch, self._alone(task, batch)

    def _alone(self, task: Task[B, R], batch: B) -> R:
        """Do one batch with plain reads and nothing beside it, so that a death has one suspect."""
        try:
            future = self._start().submit(task, batch, may_mmap=False)
            while not future.done():
                wait([future], _TICK)
            return future.result()
        except (BrokenExecutor, OSError):  # it died, or none could be started
            self._discard()
            return task.lost(batch)

    def _discard(self) -> None:
        if self._own is not None:
            self._own.shutdown(wait=False, cancel_futures=True)
            self._own = None

    def counted(self) -> int:
        """Return what the workers have counted so far."""
        return sum(self._slots[1:]) if self._slots is not None else 0

    def stop(self, *, at_once: bool = False) -> None:
        """End the processes; `at_once` breaks off what they are doing."""
        if self._own is None:
            return
        # spawned workers start one by one, as they are needed; only the executor knows them all
        workers = list((self._own._processes or {}).values()) if at_once else []
        manager: Any = self._own._executor_manager_thread
        if at_once:
            self._slots[counters.STOP] = 1
        self._own.shutdown(wait=not at_once, cancel_futures=at_once)
        for worker in _running(workers):  # in a system call that does not end, such as a read from a lost server
            worker.kill()
        if workers and not _running(workers) and manager is not None:
            manager.join(_GRACE)  # it takes note of their end, and only then are they no longer counted as children
        self._own = None
