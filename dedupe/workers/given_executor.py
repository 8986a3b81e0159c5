"""An executor of the caller's in the place of worker processes.  Neither starts nor ends it.

One that breaks costs what it had in hand, which processes of this machine do again, and all that is left.
"""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dedupe.workers import counters
from dedupe.workers.cores import cores
from dedupe.workers.counters import SharedCounter
from dedupe.workers.executor_internals import ExecutorInternals
from dedupe.workers.task import Task
from dedupe.workers.tuning import WorkerTuning

if TYPE_CHECKING:
    from dedupe.files.table import FileTable
    from dedupe.workers.processes import Processes

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
        self._jobs = jobs
        self._tuning = tuning
        self._counter = SharedCounter()
        self._in_hand: set[Future[Any]] = set()
        self._why = ""  # it broke
        self._in_its_place: Processes | None = None
        self.may_map = isinstance(executor, ProcessPoolExecutor)  # elsewhere a map's death might be the program's

    @property
    def max_in_flight(self) -> int:
        """Return how many batches keep all workers busy."""
        if self._in_its_place is not None:
            return self._in_its_place.max_in_flight
        # Not by the cores of this machine: the workers may be on a hundred others.
        workers = ExecutorInternals(self._executor).max_workers or self._jobs
        return workers * self._tuning.ahead if workers else self._tuning.ahead_of_unknown

    def share(self, table: FileTable) -> None:
        """Do nothing: the executor's workers get what they need with each batch."""

    def submit(self, task: Task[B, R], batch: B) -> Future[R]:
        """Hand over a batch.

        Raises:
            BrokenExecutor: the executor takes no more, or a process in its place died.
            OSError: no process could be started.
        """
        if self._in_its_place is not None:
            return self._in_its_place.submit(task, batch)
        try:
            told = self._executor.submit(counters.run, self._counter, task, batch)
        except Exception as error:
            self._why = self._why or _described(error)
            raise BrokenExecutor(self._why) from error
        future: Future[R] = Future()
        self._in_hand.add(told)
        told.add_done_callback(partial(self._pass_on, future))
        return future

    def discard(self) -> None:
        """Let processes of this machine take the place of an executor that broke."""
        if self._in_its_place is not None:
            self._in_its_place.discard()
            return
        from dedupe.workers.processes import Processes

        for told in list(self._in_hand):
            told.cancel()
        self._in_its_place = Processes(self._jobs or cores(), self._tuning)

    def counted(self) -> int:
        """Return what threads of this process have counted, and processes in the executor's place."""
        return self._counter.done + (self._in_its_place.counted() if self._in_its_place is not None else 0)

    def notes(self) -> list[str]:
        """Return a sentence for the user if the executor broke."""
        if self._in_its_place is None:
            return []
        return [f"The executor that was given broke ({self._why}): the rest was done by processes of this machine."]

    def stop(self, *, abort: bool) -> None:
        """Leave the executor as it is; with `abort`, its threads drop what they were given."""
        self._counter.stopped = abort
        if self._in_its_place is not None:
            self._in_its_place.stop(abort=abort)

    def _pass_on(self, future: Future[R], told: Future[R]) -> None:
        """End a future as the executor's own ended: whatever it says for a reason, it has not done the work."""
        self._in_hand.discard(told)
        error = CANCELLED if told.cancelled() else told.exception()
        if error is None:
            future.set_result(told.result())
        else:
            self._why = self._why or _described(error)
            broken = BrokenExecutor(self._why)
            broken.__cause__ = error
            future.set_exception(broken)


CANCELLED = BrokenExecutor("what it had in hand was cancelled")


def _described(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
