"""Handing batches to workers, taking back results, and outliving deaths.  Knows neither the work nor who does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from typing import Generic, Protocol, TypeVar

from dedupe.workers.task import Task, with_maps

B = TypeVar("B")
R = TypeVar("R")


class Workers(Protocol):
    """Who takes batches: processes of this machine, or an executor that was given."""

    may_map: bool  # whether a worker that dies of a mapped file takes no more with it than its batch
    max_in_flight: int  # batches that keep all of them busy

    @property
    def can_inherit(self) -> bool:
        """Return whether others in the place of these would inherit a table of files."""

    def submit(self, task: Task[B, R], batch: B) -> Future[R]:
        """Hand over a batch.

        Raises:
            BrokenExecutor: a worker died.
            OSError: no process could be started: memory or processes have run out.
        """

    def discard(self) -> None:
        """Give up workers of which one died; the next batch finds new ones."""

    def counted(self) -> int:
        """Return the bytes that they have counted so far."""

    def withdraw(self, ticket: int) -> None:
        """Tell who does a piece of work, if anybody can, that it is not wanted any more."""

    def stop(self, *, abort: bool) -> None:
        """End them; `abort` breaks off what they are doing."""


class Dispatch(Generic[B, R]):
    """One task under way.

    A worker that dies (a mapped file was truncated under it, memory ran out) costs a retry of what was in flight, with
    plain reads, and nothing else.

    Args:
        workers: who works.
        task: what they do.
        here: does a batch in this process, where no worker can be started.
        tick: called every so often, however long one batch takes.
        tick_seconds: how often.
    """

    def __init__(
        self,
        workers: Workers,
        task: Task[B, R],
        *,
        here: Callable[[Task[B, R], B], R],
        tick: Callable[[], object],
        tick_seconds: float,
    ) -> None:
        self._workers = workers
        self._plain = task
        self._task = with_maps(task) if workers.may_map else task
        self._here = here
        self._tick = tick
        self._tick_seconds = tick_seconds

    def run(self, batches: Iterator[B], max_in_flight: int) -> Iterator[tuple[B, R]]:
        """Yield each batch with its result, in the order in which they end."""
        in_flight: dict[Future[R], B] = {}
        more = True
        while more or in_flight:
            in_doubt: list[B] = []  # one of them may have killed its worker
            while more and not in_doubt and len(in_flight) < max_in_flight:
                try:
                    batch = next(batches)
                except StopIteration:
                    more = False
                    break
                try:
                    in_flight[self._workers.submit(self._task, batch)] = batch
                except BrokenExecutor:  # a worker died while nobody was looking
                    in_doubt.append(batch)
                except OSError:
                    yield batch, self._here(self._plain, batch)
            ended, _ = wait(in_flight, 0 if in_doubt else self._tick_seconds, FIRST_COMPLETED)
            self._tick()
            for future in ended:
                batch = in_flight.pop(future)
                if isinstance(future.exception(), BrokenExecutor):
                    in_doubt.append(batch)
                else:
                    yield batch, future.result()
            if in_doubt:  # the workers are gone with all that they had, and given up once: those after them are well
                in_doubt += in_flight.values()
                in_flight.clear()
                self._workers.discard()
                for batch in in_doubt:
                    yield batch, self._alone(batch)

    def _alone(self, batch: B) -> R:
        """Do one batch with plain reads and nothing beside it, so that a death has one suspect."""
        try:
            future = self._workers.submit(self._plain, batch)
        except (BrokenExecutor, OSError):
            return self._give_up(batch)
        while not future.done():
            wait([future], self._tick_seconds)
            self._tick()
        if isinstance(future.exception(), (BrokenExecutor, OSError)):
            return self._give_up(batch)
        return future.result()

    def _give_up(self, batch: B) -> R:
        self._workers.discard()
        return self._plain.lost(batch)
