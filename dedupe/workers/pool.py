"""Where work is done: in this process, in worker processes, or by an executor that was given.  Does none itself.

Everything else hands batches to `Pool.run`; below it stands anything with the shape of
`concurrent.futures.Executor`, so that a cluster's executor can take the place of local processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from dedupe.workers import counters
from dedupe.workers.cores import cores
from dedupe.workers.counters import Counter
from dedupe.workers.tuning import WorkerTuning

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from dedupe.files.table import FileTable
    from dedupe.workers.dispatch import Workers
    from dedupe.workers.task import Task

B = TypeVar("B")
R = TypeVar("R")

_MOST = 60  # Windows can wait for 63 handles at once, and the executor needs some of its own


class Pool:
    """Runs tasks on batches; used as a context manager, so that workers end.

    Args:
        jobs: worker processes wanted, None for one a core; with one there are none, and this process works.
        executor: does the work in their place, with as many workers as it has.
        tuning: when workers start and how they are kept busy; None for what was measured.
    """

    def __init__(
        self, jobs: int | None = None, executor: Executor | None = None, tuning: WorkerTuning | None = None
    ) -> None:
        self.jobs = min(jobs or cores(), _MOST)
        self._tuning = tuning or WorkerTuning.default
        self._counter = Counter()  # of what is done in this process
        self._tickets = 0
        self._workers: Workers | None = None
        self._table: FileTable | None = None
        if executor is not None:
            from dedupe.workers.given_executor import GivenExecutor

            self._workers = GivenExecutor(executor, jobs, self._tuning)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.stop(abort=kind is not None)

    @property
    def width(self) -> int:
        """Return how many batches are worked on at one time: 1 in this process, of an executor's a guess."""
        return self._workers.max_in_flight // self._tuning.ahead if self._workers is not None else 1

    @property
    def has_workers(self) -> bool:
        """Return whether `run` hands batches to others, so that it pays to cut the work for many."""
        return self._workers is not None

    def share(self, table: FileTable) -> None:
        """Let workers inherit a table of files that changes no more: its files then travel to them as numbers.

        Those that run have not got it.  They end, which they would have to at some time, and `prepare` starts others.
        """
        self._table = table
        if self._workers is not None and self._workers.can_inherit:
            self.stop()

    def prepare(self, *, files: int = 0, size: int = 0) -> None:
        """Start workers if they help with this many files or bytes and there are none yet."""
        worthwhile = files >= self._tuning.warm_files or size >= self._tuning.warm_bytes
        if self._workers is None and self.jobs > 1 and worthwhile:
            from dedupe.workers.processes import Processes  # costs as much time as a small scan

            self._workers = Processes(self.jobs, self._tuning, self._table)

    def run(
        self,
        task: Task[B, R],
        batches: Iterable[B],
        *,
        max_in_flight: int | None = None,
        tick: Callable[[int], object] = lambda _: None,
    ) -> Iterator[tuple[B, R]]:
        """Yield each batch with its result, in the order in which they end.

        Args:
            task: what to do; see `Task`.
            batches: taken one by one, only as fast as they are worked off.
            max_in_flight: batches handed out at one time, at most; 1 keeps a rotating disk to one reader.
            tick: called every so often with the bytes counted by `counters.advance`.
        """
        if self._workers is None:
            yield from self._run_here(task, batches, tick)
            return
        from dedupe.workers.dispatch import Dispatch

        dispatch = Dispatch(
            self._workers,
            task,
            here=partial(counters.run, self._counter),
            tick=lambda: tick(self.counted()),
            tick_seconds=self._tuning.tick_seconds,
        )
        yield from dispatch.run(iter(batches), max_in_flight or self._workers.max_in_flight)

    def _run_here(self, task: Task[B, R], batches: Iterable[B], tick: Callable[[int], object]) -> Iterator[tuple[B, R]]:
        for batch in batches:
            self._counter.tick = tick
            try:
                result = counters.run(self._counter, task, batch)
            finally:
                self._counter.tick = None
            yield batch, result

    def counted(self) -> int:
        """Return the bytes counted so far, here and by workers."""
        return self._counter.done + (self._workers.counted() if self._workers is not None else 0)

    def ticket(self) -> int:
        """Return a number by which one piece of work can be withdrawn; no other has it while the pool lasts."""
        self._tickets += 1
        return self._tickets

    def withdraw(self, ticket: int) -> None:
        """Let whoever does a piece of work break it off, who asks `counters.is_withdrawn`.  Its batch comes back."""
        if self._workers is not None:
            self._workers.withdraw(ticket)

    def stop(self, *, abort: bool = False) -> None:
        """End the workers; `abort` breaks off what they are doing."""
        if self._workers is not None:
            self._workers.stop(abort=abort)
            self._workers = None
