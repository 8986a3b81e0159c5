"""An executor of the caller's in the place of worker processes.  Neither starts nor ends it."""

from __future__ import annotations

from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import TypeVar

from dedupe.workers import counters
from dedupe.workers.counters import SharedCounter
from dedupe.workers.executor_internals import ExecutorInternals
from dedupe.workers.task import Task
from dedupe.workers.tuning import WorkerTuning

B = TypeVar("B")
R = TypeVar("R")


class GivenExecutor:
    """Workers of which only the executor knows: threads, processes, or those of other machines.

    Threads of this process count what they do and can be stopped; others do neither.

    Args:
        executor: stays the caller's own.
        jobs: how many workers it may be thought to have, where it does not say.
        tuning: how many batches it gets at once.
    """

    can_inherit = False

    def __init__(self, executor: Executor, jobs: int | None, tuning: WorkerTuning) -> None:
        self._executor = executor
        self._counter = SharedCounter()
        self.may_map = isinstance(executor, ProcessPoolExecutor)  # elsewhere a map's death might be the program's
        # Not by the cores of this machine: the workers may be on a hundred others.
        workers = ExecutorInternals(executor).max_workers or jobs
        self.max_in_flight = workers * tuning.ahead if workers else tuning.ahead_of_unknown

    def submit(self, task: Task[B, R], batch: B) -> Future[R]:
        """Hand over a batch."""
        return self._executor.submit(counters.run, self._counter, task, batch)

    def discard(self) -> None:
        """Do nothing: a broken executor is the caller's to replace."""

    def counted(self) -> int:
        """Return what threads of this process have counted."""
        return self._counter.done

    def withdraw(self, ticket: int) -> None:
        """Let the thread of this process that does a piece of work know that it is not wanted any more."""
        self._counter.withdrawn.add(ticket)

    def stop(self, *, abort: bool) -> None:
        """Leave the executor as it is; with `abort`, its threads drop what they were given."""
        self._counter.stopped = abort
