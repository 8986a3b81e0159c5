"""Workers: what they bring back, what their death costs, and that none is left behind."""

from __future__ import annotations

import mmap
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dedupe.config import ScanConfig
from dedupe.find import find_duplicates
from dedupe.workers import counters, pool, processes
from dedupe.workers.pool import Pool
from tests.conftest import write
from tests.naive import all_names, fork_workers, lower_thresholds, naive_groups

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and fork")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
forks = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # pytest-xdist has threads


@dataclass(frozen=True)
class Task:
    """Squares numbers, and does to its process what a test asks for."""

    deed: Callable[[int, bool], object] | None = None

    def __call__(self, batch: int, *, may_mmap: bool) -> tuple[int, bool, int]:
        """Return the square, whether maps were allowed, and who did it."""
        if self.deed is not None:
            self.deed(batch, may_mmap)
        counters.advance(batch)
        return batch * batch, may_mmap, os.getpid()

    def lost(self, batch: int) -> tuple[int, bool, int]:
        """Return what stands for a batch whose workers died twice."""
        return -batch, False, 0


def die_at_7_mapped(batch: int, may_mmap: bool) -> None:  # noqa: FBT001
    """Be killed over one batch, but only where maps are allowed."""
    if batch == 7 and may_mmap:
        os.kill(os.getpid(), signal.SIGKILL)


def die_at_7(batch: int, _: bool) -> None:  # noqa: FBT001
    """Be killed over one batch each time."""
    if batch == 7:
        os.kill(os.getpid(), signal.SIGKILL)


def truncate_under_a_map(batch: int, may_mmap: bool) -> None:  # noqa: FBT001
    """Read a mapped file that has been cut off, which raises SIGBUS."""
    if batch == 7 and may_mmap:
        with tempfile.TemporaryFile() as file:
            file.write(bytes(8192))
            file.flush()
            view = mmap.mmap(file.fileno(), 8192, access=mmap.ACCESS_READ)
            os.ftruncate(file.fileno(), 0)
            view[5000]


def sleep_long(_: int, __: bool) -> None:  # noqa: FBT001
    """Do what a read from a lost server does."""
    time.sleep(60)


@pytest.fixture(params=["fork", "forkserver", "spawn"])
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make workers start in each way that this system has."""
    name: str = request.param
    if name not in multiprocessing.get_all_start_methods():
        pytest.skip("this system starts no process that way")
    monkeypatch.setattr(pool, "_WARM_FILES", 1)
    monkeypatch.setattr(processes, "_context", lambda: multiprocessing.get_context(name))
    return name


def alive() -> set[int]:
    """Return the workers that run or wait to be buried: this process's children, or its forkserver's."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        parent = int(stat.rpartition(")")[2].split()[1])
        of_ours = parent in (os.getpid(), _forkserver()) and int(pid) != _forkserver()
        if of_ours and b"resource_tracker" not in command:
            found.add(int(pid))
    return found


def _forkserver() -> int | None:
    from multiprocessing import forkserver

    return forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined,no-any-return]


def wait_for(condition: Callable[[], object], seconds: float = 5) -> bool:
    """Wait until a condition holds, and tell whether it did."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def results(workers: Pool, task: Task, batches: Iterator[int] | range) -> dict[int, int]:
    """Return what came back for each batch, each exactly once."""
    found: dict[int, int] = {}
    for batch, (value, _, _) in workers.run(task, batches):
        assert batch not in found
        found[batch] = value
    return found


def test_one_job_works_in_this_process_without_maps() -> None:
    """With one job no process starts, batches come back in order, and no file may be mapped."""
    with Pool(1) as workers:
        assert not workers.start_if_worthwhile(10**9, 10**12)
        found = list(workers.run(Task(), range(5)))
    assert found == [(n, (n * n, False, os.getpid())) for n in range(5)]


def test_workers_start_only_when_they_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the thresholds the work is done here."""
    with Pool(2) as workers:
        assert not workers.start_if_worthwhile(pool._WARM_FILES - 1, pool._WARM_BYTES - 1)
        assert list(workers.run(Task(), range(2))) == [(n, (n * n, False, os.getpid())) for n in range(2)]


@forks
@linux
def test_every_way_to_start_workers_works_and_leaves_nobody_behind(method: str) -> None:
    """Forked, spawned or served, workers do all batches elsewhere, count them, and are gone at the end."""
    before = alive()
    counts: list[int] = []
    with Pool(2) as workers:
        assert workers.start_if_worthwhile(10)
        found = dict(workers.run(Task(), range(50), tick=counts.append))
        assert {b: v[0] for b, v in found.items()} == {n: n * n for n in range(50)}
        assert os.getpid() not in {v[2] for v in found.values()}
        assert all(v[1] for v in found.values())
        assert workers.counted() == sum(range(50)) + counters.done()
    assert counts == sorted(counts)
    assert wait_for(lambda: alive() <= before), alive() - before


@forks
@posix
def test_a_death_costs_a_retry_and_nothing_else(method: str) -> None:
    """A worker killed over a batch with maps is replaced, and all batches come back once with the right result."""
    with Pool(2) as workers:
        workers.start_if_worthwhile(10)
        assert results(workers, Task(die_at_7_mapped), range(30)) == {n: n * n for n in range(30)}
        assert results(workers, Task(), range(30)) == {n: n * n for n in range(30)}


@forks
@linux
def test_a_file_truncated_under_its_map_costs_a_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGBUS kills one worker; its batch is done again with plain reads."""
    fork_workers(monkeypatch)
    with Pool(2) as workers:
        workers.start_if_worthwhile(10)
        found = dict(workers.run(Task(truncate_under_a_map), range(12)))
    assert {b: v[0] for b, v in found.items()} == {n: n * n for n in range(12)}
    assert found[7][1] is False


@forks
@posix
def test_a_batch_that_kills_twice_is_lost_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the batch over which workers die again and again is given up."""
    fork_workers(monkeypatch)
    with Pool(3) as workers:
        workers.start_if_worthwhile(10)
        assert results(workers, Task(die_at_7), range(20)) == {n: -7 if n == 7 else n * n for n in range(20)}


@forks
@posix
def test_workers_that_died_unseen_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers killed between two phases cost nothing."""
    fork_workers(monkeypatch)
    with Pool(2) as workers:
        workers.start_if_worthwhile(10)
        for worker in {v[2] for _, v in workers.run(Task(), range(8))}:
            os.kill(worker, signal.SIGKILL)
        time.sleep(0.2)
        assert results(workers, Task(), range(20)) == {n: n * n for n in range(20)}


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
            workers.start_if_worthwhile(10)
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
        "import sys, time; from dedupe.workers import pool; from tests.workers.test_pool import Task, sleep_long\n"
        "pool._WARM_FILES = 1\n"
        "workers = pool.Pool(2); workers.start_if_worthwhile(5)\n"
        "print(*[w.pid for w in workers._workers._own._processes.values()], flush=True)\n"
        "list(workers.run(Task(sleep_long), range(4)))\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        pids = [int(p) for p in running.stdout.readline().split()]
        running.kill()
    assert len(pids) == 2
    assert wait_for(lambda: not any(os.path.exists(f"/proc/{p}") for p in pids))


def tree(folder: Path) -> Path:
    """Make a tree in which everything is found by every phase."""
    for n in range(40):
        write(folder / str(n % 7) / f"{n}.bin", bytes([n % 5]) * (500 + n % 3 * 3000))
    return folder


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
            assert workers.start_if_worthwhile()
            assert all(v[1] for _, v in workers.run(Task(), range(9)))
        assert processes.submit(abs, -1).result() == 1


class Broken(Executor):
    """An executor whose workers are all dead."""

    def submit(self, *_: Any, **__: Any) -> Future[Any]:  # type: ignore[override]
        """Refuse."""
        raise BrokenExecutor("all workers died")


def test_a_broken_executor_of_the_caller_is_told_file_by_file(tmp_path: Path) -> None:
    """Where the caller's executor takes no more work, files become problems, and nothing is raised."""
    with Pool(executor=Broken()) as workers:
        assert results(workers, Task(), range(4)) == {n: -n for n in range(4)}
    root = tree(tmp_path / "root")
    result = find_duplicates(ScanConfig(roots=[root]), executor=Broken())
    assert not result.groups
    assert len(result.problems) == 40


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
        monkeypatch.setattr(pool, "_WARM_FILES", 1)
        monkeypatch.setattr(pool, "_WARM_BYTES", 1)
        root = tree(tmp_path / "root")
        assert all_names(find_duplicates(ScanConfig(roots=[root], jobs=2))) == naive_groups(root)
    finally:
        ready.set()
        thread.join()
    assert asked == ["forkserver"]


def test_jobs_are_bounded() -> None:
    """Windows can wait for no more than some sixty processes."""
    assert Pool(1000).jobs == 60
    assert 1 <= Pool().jobs <= 60
    assert pool.cores() >= 1
