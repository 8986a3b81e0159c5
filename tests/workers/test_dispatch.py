"""Batches come back whatever dies: what a death costs, and what goes on meanwhile."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from dedupe.workers import counters, processes
from dedupe.workers.pool import Pool
from tests.naive import fork_workers
from tests.workers.tasks import (
    Task,
    die_at_7,
    die_at_7_mapped,
    forks,
    linux,
    posix,
    results,
    truncate_under_a_map,
    wait_for,
)


@forks
@posix
def test_a_death_costs_a_retry_and_nothing_else(method: str) -> None:
    """A worker killed over a batch with maps is replaced, and all batches come back once with the right result."""
    with Pool(2) as workers:
        workers.prepare(files=10)
        assert results(workers, Task(die_at_7_mapped), range(30)) == {n: n * n for n in range(30)}
        assert results(workers, Task(), range(30)) == {n: n * n for n in range(30)}


@forks
@linux
def test_a_file_truncated_under_its_map_costs_a_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGBUS kills one worker; its batch is done again with plain reads."""
    fork_workers(monkeypatch)
    with Pool(2) as workers:
        workers.prepare(files=10)
        found = dict(workers.run(Task(truncate_under_a_map), range(12)))
    assert {b: v[0] for b, v in found.items()} == {n: n * n for n in range(12)}
    assert found[7][1] is False


@forks
@posix
def test_a_batch_that_kills_twice_is_lost_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the batch over which workers die again and again is given up."""
    fork_workers(monkeypatch)
    with Pool(3) as workers:
        workers.prepare(files=10)
        assert results(workers, Task(die_at_7), range(20)) == {n: -7 if n == 7 else n * n for n in range(20)}


@forks
@posix
def test_workers_that_died_unseen_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers killed between two phases cost nothing."""
    fork_workers(monkeypatch)
    with Pool(2) as workers:
        workers.prepare(files=10)
        for worker in {v[2] for _, v in workers.run(Task(), range(8))}:
            os.kill(worker, signal.SIGKILL)
        time.sleep(0.2)
        assert results(workers, Task(), range(20)) == {n: n * n for n in range(20)}


def refuses(executor: Executor) -> bool:
    """Return whether an executor takes no more work."""
    try:
        executor.submit(abs, 1)
    except BrokenExecutor:
        return True
    return False


@forks
@posix
def test_workers_that_replaced_the_dead_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A death that is noticed when more work is handed out costs one new set of workers, and no second one."""
    fork_workers(monkeypatch)
    started: list[ProcessPoolExecutor] = []

    def start(*how: Any) -> ProcessPoolExecutor:
        started.append(ProcessPoolExecutor(*how))
        return started[-1]

    def batches() -> Iterator[int]:
        yield 7
        assert wait_for(lambda: refuses(started[0]), 30)
        yield from range(10, 20)

    monkeypatch.setattr(processes, "ProcessPoolExecutor", start)
    with Pool(2) as workers:
        workers.prepare(files=10)
        assert results(workers, Task(die_at_7_mapped), batches()) == {n: n * n for n in (7, *range(10, 20))}
    assert len(started) == 2


@dataclass(frozen=True)
class DiesMapped:
    """Dies with maps; without, counts and then waits until somebody saw that."""

    seen: Path
    may_mmap: bool = False

    def with_maps(self) -> DiesMapped:
        """Return one that dies."""
        return replace(self, may_mmap=True)

    def __call__(self, batch: int) -> bool:
        """Return whether what it counted was seen."""
        if self.may_mmap:
            os.kill(os.getpid(), signal.SIGKILL)
        counters.advance(batch)
        return wait_for(self.seen.exists, 30)

    def lost(self, batch: int) -> bool:
        """Return that none was."""
        return batch == 0


@forks
@posix
def test_progress_goes_on_while_a_batch_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done alone after a death is told of while it lasts, so that the cache is written meanwhile too."""
    fork_workers(monkeypatch)
    seen = tmp_path / "seen"
    with Pool(2) as workers:
        workers.prepare(files=10)
        tick = lambda count: count and seen.touch()  # noqa: E731
        assert dict(workers.run(DiesMapped(seen), [1], tick=tick)) == {1: True}
