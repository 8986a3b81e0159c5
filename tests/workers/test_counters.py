"""Each pool counts for itself, and so does each scan of a process that runs several at once."""

from __future__ import annotations

import contextlib
import pickle
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from dedupe.config import ScanConfig
from dedupe.find import find_duplicates
from dedupe.result import ScanResult
from dedupe.workers import counters
from dedupe.workers.counters import SharedCounter, Stopped
from dedupe.workers.pool import Pool
from tests.conftest import write
from tests.naive import all_names, naive_groups


@dataclass(frozen=True)
class Step:
    """Counts in step with another thread."""

    together: threading.Barrier

    def __call__(self, batch: int) -> None:
        """Count between two meetings."""
        self.together.wait()
        counters.advance(batch)
        self.together.wait()

    def lost(self, batch: int) -> None:
        """Return nothing."""


def both(do: Callable[[int], object]) -> None:
    """Do something in two threads at once."""
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(do, range(2)))


def test_two_pools_in_two_threads_tell_each_its_own_count() -> None:
    """However two threads take turns, each pool's tick is called with what was done for that pool, and no other's."""
    together = threading.Barrier(2, timeout=30)
    told: list[list[int]] = [[], []]

    def work(n: int) -> None:
        with Pool(1) as pool:
            list(pool.run(Step(together), [n + 1] * 4, tick=told[n].append))
            assert pool.counted() == 4 * (n + 1)

    both(work)
    assert told == [[1, 2, 3, 4], [2, 4, 6, 8]]


class Told:
    """Keeps what a scan tells of its progress, by phase."""

    def __init__(self) -> None:
        self.totals: dict[str, int | None] = {}
        self.reached: dict[str, list[int]] = defaultdict(list)
        self._phase = ""

    def begin(self, phase: str, total: int | None, *, in_bytes: bool = False) -> None:
        """Note a phase."""
        self._phase = phase
        self.totals[phase] = total
        assert in_bytes == (phase == "confirm")

    def reach(self, count: int) -> None:
        """Note how far it is."""
        self.reached[self._phase].append(count)

    def end(self) -> None:
        """Note nothing."""


@pytest.mark.parametrize("threads", [0, 3])
def test_two_scans_at_once_show_each_its_own_progress(tmp_path: Path, threads: int) -> None:
    """Two scans of one process, alone or on one executor, rise each to its own total and find each its own groups."""
    roots = tmp_path / "few", tmp_path / "many"
    for root, count in zip(roots, (20, 60), strict=True):
        for n in range(count):
            write(root / str(n), bytes([n % 5]) * (count * 1000))
    told = Told(), Told()
    found: dict[int, ScanResult] = {}
    shared: contextlib.AbstractContextManager[Executor | None]
    shared = ThreadPoolExecutor(threads) if threads else contextlib.nullcontext()

    def scan(n: int) -> None:
        found[n] = find_duplicates(ScanConfig(roots=[roots[n]], jobs=1), progress=told[n], executor=executor)

    with shared as executor:
        both(scan)
    for n, root in enumerate(roots):
        assert all_names(found[n]) == naive_groups(root)
        reached = told[n].reached["confirm"]
        assert reached == sorted(reached)
        assert reached[-1] == told[n].totals["confirm"]


def test_a_counter_counts_for_itself_in_another_process() -> None:
    """A counter that is sent away begins anew there, and nobody tells it to stop."""
    counter = SharedCounter()
    counter.advance(5)
    counter.stopped = True
    sent = pickle.loads(pickle.dumps(counter))
    sent.advance(1)
    assert sent.done == 1
    with pytest.raises(Stopped):
        counter.advance(1)


def test_counting_outside_of_any_pool_is_for_nobody() -> None:
    """A task that is called by itself works, and is never stopped."""
    counters.advance(1 << 40)


def test_threads_that_count_at_once_lose_nothing() -> None:
    """The threads of one executor count into one counter, to the last byte."""
    counter = SharedCounter()
    together = threading.Barrier(2, timeout=30)

    def count(_: int) -> None:
        together.wait()
        for _ in range(50_000):
            counter.advance(1)

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that they take turns in the midst of everything
    try:
        both(count)
    finally:
        sys.setswitchinterval(usual)
    assert counter.done == 100_000
