"""Worker processes: how they start, and that none is left behind."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor
from pathlib import Path

import pytest

from dedupe.config import ScanConfig
from dedupe.find import find_duplicates
from dedupe.workers import counters, processes
from dedupe.workers.executor_internals import ExecutorInternals
from dedupe.workers.pool import Pool
from dedupe.workers.tuning import WorkerTuning
from tests.naive import all_names, naive_groups, start_workers
from tests.workers.tasks import Task, alive, forks, linux, sleep_long, tree, wait_for


@forks
@linux
def test_every_way_to_start_workers_works_and_leaves_nobody_behind(method: str) -> None:
    """Forked, spawned or served, workers do all batches elsewhere, count them, and are gone at the end."""
    before = alive()
    counts: list[int] = []
    with Pool(2) as workers:
        counts.append(workers.counted())
        workers.prepare(files=10)
        found = dict(workers.run(Task(), range(50), tick=counts.append))
        assert {b: v[0] for b, v in found.items()} == {n: n * n for n in range(50)}
        assert os.getpid() not in {v[2] for v in found.values()}
        assert all(v[1] for v in found.values())
        assert workers.counted() == sum(range(50))
    assert counts == sorted(counts)
    assert wait_for(lambda: alive() <= before), alive() - before


@forks
@linux
def test_breaking_off_ends_workers_that_hang(method: str) -> None:
    """After an exception the workers are gone within a second or two, also those that hang in a system call."""
    before = alive()
    begun = time.monotonic()

    def interrupt(_: int) -> None:
        if len(alive() - before) == 3 or time.monotonic() > begun + 5:
            raise KeyboardInterrupt

    def scan() -> None:
        with Pool(3) as workers:
            workers.prepare(files=10)
            list(workers.run(Task(sleep_long), range(9), tick=interrupt))

    with pytest.raises(KeyboardInterrupt):
        scan()
    assert wait_for(lambda: alive() <= before), alive() - before
    assert time.monotonic() - begun < 8


@forks
@linux
def test_workers_do_not_outlive_their_parent(tmp_path: Path) -> None:
    """If the main process is killed, its workers end by themselves."""
    program = (
        "import multiprocessing; from dedupe.workers.pool import Pool; from dedupe.workers.tuning import WorkerTuning\n"
        "from tests.workers.tasks import Task, sleep_long\n"
        "workers = Pool(2, tuning=WorkerTuning(warm_files=1)); workers.prepare(files=1)\n"
        "print(*[child.pid for child in multiprocessing.active_children()], flush=True)\n"
        "list(workers.run(Task(sleep_long), range(4)))\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        pids = [int(p) for p in running.stdout.readline().split()]
        running.kill()
    assert len(pids) == 2
    assert wait_for(lambda: not any(os.path.exists(f"/proc/{p}") for p in pids))


@forks
@linux
def test_a_program_with_threads_can_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where threads run, workers are not forked, as a lock held by another thread would stay locked in them."""
    asked: list[str] = []
    real = multiprocessing.get_context
    monkeypatch.setattr(multiprocessing, "get_context", lambda name: asked.append(name) or real(name))
    ready = threading.Event()
    thread = threading.Thread(target=ready.wait)
    thread.start()
    try:
        start_workers(monkeypatch)
        root = tree(tmp_path / "root")
        assert all_names(find_duplicates(ScanConfig(roots=[root], jobs=2))) == naive_groups(root)
    finally:
        ready.set()
        thread.join()
    assert asked == ["forkserver"]


class Endless:
    """Counts until it is told to stop."""

    def __call__(self, batch: int) -> int:
        """Count on and on."""
        while True:
            counters.advance(batch)
            time.sleep(0.001)

    def lost(self, batch: int) -> int:
        """Return what stands for a batch whose workers died twice."""
        return -batch


class BreakOffError(Exception):
    """A test's own reason to break off."""


def break_off_a_scan() -> None:
    """Start two workers that never end by themselves, and break off once they count."""

    def interrupt(count: int) -> None:
        if count:
            raise BreakOffError

    with Pool(2, tuning=WorkerTuning(warm_files=1)) as workers:
        workers.prepare(files=1)
        list(workers.run(Endless(), [1, 1], tick=interrupt))


@forks
@linux
def test_workers_end_when_told_where_the_executor_hides_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a Python keeps its processes elsewhere than is known, breaking off works all the same: they are told."""
    monkeypatch.setattr(processes, "ExecutorInternals", lambda _: ExecutorInternals(Executor()))
    before = alive()
    with pytest.raises(BreakOffError):
        break_off_a_scan()
    assert wait_for(lambda: alive() <= before), alive() - before


@forks
def test_workers_of_two_pools_count_and_stop_for_their_own() -> None:
    """Of two pools with workers, one is broken off; the other sees its own count alone and ends all that it has."""
    with Pool(2, tuning=WorkerTuning(warm_files=1)) as other:
        other.prepare(files=1)
        running = other.run(Task(), range(50))
        first = next(running)
        with pytest.raises(BreakOffError):
            break_off_a_scan()
        assert {batch: value for batch, (value, _, _) in (first, *running)} == {n: n * n for n in range(50)}
        assert other.counted() == sum(range(50))
