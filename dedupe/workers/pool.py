"""How many work at once, and where: in this process or in workers.  Knows nothing of the work itself.

Everything else hands batches to `Pool.run`; below it stands anything with the shape of
`concurrent.futures.Executor`, so that a cluster's executor can take the place of local processes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

from dedupe.workers import counters

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from dedupe.workers.processes import Workers

B = TypeVar("B")
R = TypeVar("R")
B_contra = TypeVar("B_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)

_MOST = 60  # Windows can wait for 63 handles at once, and the executor needs some of its own
_WARM_FILES = 3000  # files seen by the walk from which workers pay for their start
_WARM_BYTES = 32 << 20  # bytes to confirm from which they do


class Task(Protocol[B_contra, R_co]):
    """Picklable work on one batch."""

    def __call__(self, batch: B_contra, *, may_mmap: bool) -> R_co:
        """Do the work; with `mapped`, files may be memory-mapped, since only this process can die of it."""

    def lost(self, batch: B_contra) -> R_co:
        """Return the result to count with when workers died over this batch twice."""


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "process_cpu_count"):
        return os.process_cpu_count() or 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Pool:
    """Runs tasks on batches, in worker processes or, with one job, in this one."""

    def __init__(self, jobs: int | None = None, executor: Executor | None = None) -> None:
        self.jobs = min(jobs or cores(), _MOST)
        self._given = executor
        self._workers: Workers | None = self._start() if executor is not None else None

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.stop(at_once=kind is not None)

    def start_if_worthwhile(self, files: int = 0, size: int = 0) -> bool:
        """Return whether workers help with this many files or bytes; start them when that first is so."""
        if self._workers is None and self.jobs > 1 and (files >= _WARM_FILES or size >= _WARM_BYTES):
            self._workers = self._start()
        return self._workers is not None

    def _start(self) -> Workers:
        from dedupe.workers.processes import Workers

        return Workers(self.jobs, self._given)

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
            tick: called every so often with the count that has been given to `heartbeat`.
        """
        if self._workers is not None:
            yield from self._workers.run(task, iter(batches), at_once, tick)
            return
        for batch in batches:
            counters.watch(tick)
            try:
                result = task(batch, may_mmap=False)
            finally:
                counters.watch(None)
            yield batch, result

    def counted(self) -> int:
        """Return what the workers, or this process, have counted so far."""
        return counters.done() + (self._workers.counted() if self._workers is not None else 0)

    def stop(self, *, at_once: bool = False) -> None:
        """End the workers; `at_once` breaks off what they are doing."""
        if self._workers is not None:
            self._workers.stop(at_once=at_once)
            self._workers = None
