"""An executor of the caller's does the work of processes: which it is asked, how much it gets, what it is spared."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dedupe.config import ScanConfig
from dedupe.find import find_duplicates
from dedupe.workers import counters, pool
from dedupe.workers.counters import Stopped
from dedupe.workers.given_executor import GivenExecutor
from dedupe.workers.pool import Pool
from dedupe.workers.schedule import Schedule
from dedupe.workers.tuning import WorkerTuning
from tests.naive import all_names, lower_thresholds, naive_groups
from tests.workers.tasks import Task, forks, posix, results, tree


def test_another_executor_does_the_reading_without_maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads in place of processes find the same groups; they map nothing, as that could kill the program."""
    tuning = lower_thresholds(monkeypatch)
    root = tree(tmp_path / "root")
    with ThreadPoolExecutor(2) as threads:
        result = find_duplicates(ScanConfig(roots=[root]), executor=threads, tuning=tuning)
        assert all_names(result) == naive_groups(root)
        with Pool(executor=threads) as workers:
            assert all(not v[1] for _, v in workers.run(Task(), range(9)))
            assert {v[2] for _, v in workers.run(Task(), range(9))} == {os.getpid()}


@forks
@posix
def test_processes_of_the_caller_may_map_and_are_left_running(tmp_path: Path) -> None:
    """An executor of processes may map files; it stays the caller's own."""
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(2, context) as processes:
        with Pool(executor=processes) as workers:
            assert workers.has_workers
            assert all(v[1] for _, v in workers.run(Task(), range(9)))
        assert processes.submit(abs, -1).result() == 1


class Broken(Executor):
    """An executor whose workers are all dead."""

    def submit(self, *_: Any, **__: Any) -> Future[Any]:  # type: ignore[override]
        """Refuse."""
        raise BrokenExecutor("all workers died")


class Breaking(Executor):
    """An executor of threads that breaks in the middle of things: how, the test says.

    Args:
        sound: batches that are done before it breaks.
        end: what becomes of a future then.
    """

    def __init__(self, sound: int, end: Callable[[Future[Any]], object]) -> None:
        self._sound = sound
        self._end = end
        self._threads = ThreadPoolExecutor(2)

    def submit(self, function: Callable[..., Any], *args: Any, **how: Any) -> Future[Any]:  # type: ignore[override]
        """Have a call made, or break."""
        self._sound -= 1
        if self._sound >= 0:
            return self._threads.submit(function, *args, **how)
        future: Future[Any] = Future()
        self._end(future)
        return future

    def shutdown(self, *_: Any, **__: Any) -> None:
        """End the threads."""
        self._threads.shutdown()


def refuse_after_shutdown(_: Future[Any]) -> None:
    """Raise what executors raise that were shut down, which is no BrokenExecutor."""
    raise RuntimeError("cannot schedule new futures after shutdown")


BREAKS: dict[str, Callable[[Future[Any]], object]] = {
    "a worker died": lambda future: future.set_exception(BrokenExecutor("a worker died")),
    "of its own kind": lambda future: future.set_exception(ConnectionError("the scheduler is gone")),
    "cancelled": lambda future: future.cancel(),
    "shut down": refuse_after_shutdown,
}


@forks
@pytest.mark.parametrize("sound", [0, 1, 5])
@pytest.mark.parametrize("how", BREAKS)
def test_a_broken_executor_costs_what_it_had_in_hand(how: str, sound: int) -> None:
    """Whatever it ends with, all batches come back once with the right result, and the user is told."""
    with Breaking(sound, BREAKS[how]) as broken, Pool(2, executor=broken) as workers:
        found = list(workers.run(Task(), range(12)))
        assert {batch: value[0] for batch, value in found} == {n: n * n for n in range(12)}
        assert len(found) == 12
        elsewhere = {value[2] for _, value in found} - {os.getpid()}
        assert elsewhere
        (note,) = workers.notes()
    assert note.startswith("The executor that was given broke (")
    assert note.endswith("): the rest was done by processes of this machine.")


@forks
def test_a_scan_outlives_the_executor_that_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups are those that there are, and a note of the result tells of the executor."""
    root = tree(tmp_path / "root")
    tuning = lower_thresholds(monkeypatch)
    for sound in (0, 4):
        with Breaking(sound, BREAKS["a worker died"]) as broken:
            result = find_duplicates(ScanConfig(roots=[root]), executor=broken, tuning=tuning)
        assert all_names(result) == naive_groups(root)
        assert not result.problems
        assert "The executor that was given broke (a worker died)" in "".join(result.notes)


class OurError(Exception):
    """A mistake of a task's own."""


def fail(*_: object) -> None:
    """Make a mistake."""
    raise OurError


@forks
def test_a_mistake_of_a_task_is_not_laid_to_the_executor() -> None:
    """It is made again here, and raised."""
    with (
        ThreadPoolExecutor(1) as threads,
        pytest.raises(OurError),
        Pool(2, executor=threads) as workers,
    ):
        list(workers.run(Task(fail), range(1)))


@pytest.mark.parametrize(("jobs", "expected"), [(None, 256), (1, 2), (5, 10)])
def test_an_executor_that_hides_its_width_gets_what_the_user_says_or_plenty(jobs: int | None, expected: int) -> None:
    """Where nobody knows how many workers there are, many may be: so much waits that none is idle."""
    assert GivenExecutor(Broken(), jobs, WorkerTuning()).max_in_flight == expected


@pytest.mark.parametrize("jobs", [None, 1, 200])
def test_an_executor_is_kept_busy_by_its_own_width(monkeypatch: pytest.MonkeyPatch, jobs: int | None) -> None:
    """Five workers elsewhere work at the same time, however few cores this machine has and whatever jobs says."""
    monkeypatch.setattr(pool, "cores", lambda: 1)
    together = threading.Barrier(5, timeout=30)
    with ThreadPoolExecutor(5) as threads, Schedule(jobs=jobs).pool(threads) as workers:
        assert GivenExecutor(threads, jobs, WorkerTuning()).max_in_flight == 10
        assert results(workers, Task(lambda *_: together.wait()), range(10)) == {n: n * n for n in range(10)}


class BreakOffError(Exception):
    """A test's own reason to break off."""


@dataclass
class Spinning:
    """Counts until it is told to stop, or for long, and notes who was told."""

    stopped: list[int]
    ended: Callable[[], object]

    def __call__(self, batch: int) -> int:
        """Count on and on."""
        end = time.monotonic() + 30
        try:
            while time.monotonic() < end:
                counters.advance(1)
        except Stopped:
            self.stopped.append(batch)
            self.ended()
            raise
        return batch

    def lost(self, batch: int) -> int:
        """Return what never comes."""
        return batch


def test_a_scan_that_is_broken_off_stops_its_own_threads_alone() -> None:
    """Of two pools on one executor, the one broken off has its threads stop; the other's go on and count their own."""
    stopped, ended = list[int](), threading.Event()

    def interrupt(count: int) -> None:
        if count:
            raise BreakOffError

    with ThreadPoolExecutor(4) as threads, Pool(executor=threads) as other:
        running = other.run(Task(lambda *_: ended.wait(30)), iter(range(1, 3)), max_in_flight=1)
        told: list[dict[int, Any]] = []
        waiting = threading.Thread(target=lambda: told.append(dict(running)))
        waiting.start()
        with pytest.raises(BreakOffError), Pool(executor=threads) as workers:
            list(workers.run(Spinning(stopped, ended.set), range(1), tick=interrupt))
        waiting.join()
        assert {batch: value for batch, (value, _, _) in told[0].items()} == {1: 1, 2: 4}
        assert other.counted() == 3
    assert stopped == [0]


def test_what_waited_for_a_thread_is_dropped_when_its_scan_is_broken_off() -> None:
    """Batches in the caller's queue of a scan that is over are not begun."""
    begun: list[int] = []
    go_on, busy = threading.Event(), threading.Event()

    def deed(batch: int, _: bool) -> None:  # noqa: FBT001
        begun.append(batch)
        busy.set()
        go_on.wait(30)

    def interrupt(_: int) -> None:
        assert busy.wait(30)
        raise BreakOffError

    with ThreadPoolExecutor(1) as threads:
        with pytest.raises(BreakOffError), Pool(executor=threads) as workers:
            list(workers.run(Task(deed), range(2), tick=interrupt))
        go_on.set()
    assert begun == [0]
