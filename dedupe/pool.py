"""Workers: how many, which kind, and what happens when one dies.  Knows nothing of the work itself.

Everything else hands batches to `Pool.run`; below it stands anything with the shape of
`concurrent.futures.Executor`, so that a cluster's executor can take the place of local processes.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from typing import Any, Protocol, TypeVar

from dedupe import heartbeat, windows

B = TypeVar("B")
R = TypeVar("R")
B_contra = TypeVar("B_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)

_MOST = 60  # Windows can wait for 63 handles at once, and the executor needs some of its own
_AHEAD = 2  # batches a worker that are handed out at once: one in work, one waiting
_TICK = 0.1  # seconds between looks at the counters; also lets Ctrl-C through on Windows before Python 3.14
_GRACE = 0.3  # seconds that workers have to end by themselves when they are broken off
_WARM_FILES = 3000  # files seen by the walk from which workers pay for their start
_WARM_BYTES = 32 << 20  # bytes to confirm from which they do


class Task(Protocol[B_contra, R_co]):
    """Picklable work on one batch."""

    def __call__(self, batch: B_contra, *, mapped: bool) -> R_co:
        """Do the work; with `mapped`, files may be memory-mapped, since only this process can die of it."""

    def lost(self, batch: B_contra) -> R_co:
        """Return the result to count with when workers died over this batch twice."""


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "process_cpu_count"):
        return os.process_cpu_count() or 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _context() -> multiprocessing.context.BaseContext:
    """Return how workers start: by fork where that is safe, since it takes 10 ms and the others 75 to 95."""
    if sys.platform == "linux" and threading.active_count() == 1:
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")


def _begin(slots: Any, numbers: Any) -> None:
    """Prepare a worker: Ctrl-C is the main process's affair, and a worker must not outlive it."""
    if sys.platform == "win32":
        windows.expose_placeholders()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with numbers.get_lock():
        numbers.value += 1
        heartbeat.join(slots, 1 + (numbers.value - 1) % (len(slots) - 1))
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _nothing() -> None:
    """Make the executor start its workers."""


class Pool:
    """Runs tasks on batches, in worker processes or, with one job, in this one.

    A worker that dies (a mapped file was truncated under it, memory ran out) costs a retry of what was in work, with
    plain reads, and nothing else.
    """

    def __init__(self, jobs: int | None = None, executor: Executor | None = None) -> None:
        self.jobs = min(jobs or cores(), _MOST)
        self._given = executor
        self._may_map = executor is None or isinstance(executor, ProcessPoolExecutor)  # a map can kill its process
        self._own: ProcessPoolExecutor | None = None
        self._slots: Any = None

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.stop(at_once=kind is not None)

    @property
    def parallel(self) -> bool:
        """Tell whether batches may run beside this process."""
        return self.jobs > 1 or self._given is not None

    def is_warm(self, files: int = 0, size: int = 0) -> bool:
        """Tell whether workers help with this many files or bytes; start them when that first is so."""
        if not self.parallel:
            return False
        if self._given is None and self._own is None and (files >= _WARM_FILES or size >= _WARM_BYTES):
            self._start()
        return self._given is not None or self._own is not None

    def _start(self) -> Executor:
        if self._given is not None:
            return self._given
        if self._own is None:
            context = _context()
            self._slots = context.RawArray("Q", self.jobs + 1) if self._slots is None else self._slots
            self._own = ProcessPoolExecutor(self.jobs, context, _begin, (self._slots, context.Value("i", 0)))
            self._own.submit(_nothing)
        return self._own

    def run(
        self,
        task: Task[B, R],
        batches: Iterable[B],
        *,
        at_once: int | None = None,
        tick: Callable[[int], object] = lambda _: None,
    ) -> Iterator[tuple[B, R]]:
        """Yield each batch with its result, in the order in which they end.

        Args:
            task: what to do; see `Task`.
            batches: taken one by one, only as fast as they are worked off.
            at_once: batches in work at one time, at most; 1 keeps a rotating disk to one reader.
            tick: called every tenth of a second or so with the count that workers have given to `heartbeat`.
        """
        if not self.parallel or (self._given is None and self._own is None):
            for batch in batches:
                yield batch, task(batch, mapped=False)
                tick(self.counted())
            return
        yield from self._spread(task, iter(batches), at_once or self.jobs * _AHEAD, tick)

    def _spread(
        self, task: Task[B, R], batches: Iterator[B], ahead: int, tick: Callable[[int], object]
    ) -> Iterator[tuple[B, R]]:
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
                    working[self._start().submit(task, batch, mapped=self._may_map)] = batch
                except BrokenExecutor:  # a worker died while nobody was looking
                    self._discard()
                    yield batch, self._alone(task, batch)
            ended, _ = wait(working, _TICK, FIRST_COMPLETED)
            tick(self.counted())
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
            return self._start().submit(task, batch, mapped=False).result()
        except BrokenExecutor:
            self._discard()
            return task.lost(batch)

    def _discard(self) -> None:
        if self._own is not None:
            self._own.shutdown(wait=False, cancel_futures=True)
            self._own = None

    def counted(self) -> int:
        """Return what the workers, or this process, have counted so far."""
        return heartbeat.done() + (sum(self._slots[1:]) if self._slots is not None else 0)

    def stop(self, *, at_once: bool = False) -> None:
        """End the workers; `at_once` breaks off what they are doing."""
        if self._own is None:
            return
        # spawned workers start one by one, as they are needed; only the executor knows them all
        workers = list((self._own._processes or {}).values()) if at_once else []
        if at_once:
            self._slots[heartbeat.STOP] = 1
        self._own.shutdown(wait=not at_once, cancel_futures=at_once)
        deadline = time.monotonic() + _GRACE  # for all of them together: there may be sixty
        for worker in workers:
            worker.join(max(0.0, deadline - time.monotonic()))
            if worker.is_alive():  # in a system call that does not end, such as a read from a lost server
                worker.kill()
        self._own = None
