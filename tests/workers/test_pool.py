"""Where work is done, and how many workers do it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from dedupe.workers.cores import cores
from dedupe.workers.pool import Pool
from dedupe.workers.tuning import WorkerTuning
from tests.workers.tasks import Task, UntilWithdrawn, forks, posix


def test_one_job_works_in_this_process_without_maps() -> None:
    """With one job no process starts, batches come back in order, and no file may be mapped."""
    with Pool(1) as workers:
        workers.prepare(files=10**9, size=10**12)
        assert not workers.has_workers
        found = list(workers.run(Task(), range(5)))
    assert found == [(n, (n * n, False, os.getpid())) for n in range(5)]


@forks
@posix
@pytest.mark.parametrize(
    ("files", "size", "expected"), [(9, 99, False), (10, 0, True), (0, 100, True), (10, 100, True)]
)
def test_workers_start_only_when_they_pay(files: int, size: int, *, expected: bool) -> None:
    """Below both thresholds the work is done here; what is asked later may start workers, and never ends them."""
    with Pool(2, tuning=WorkerTuning(warm_files=10, warm_bytes=100)) as workers:
        workers.prepare(files=files, size=size)
        assert workers.has_workers is expected
        workers.prepare()
        assert workers.has_workers is expected
        assert {pid != os.getpid() for _, (_, _, pid) in workers.run(Task(), range(2))} == {expected}


def test_jobs_are_bounded() -> None:
    """Windows can wait for no more than some sixty processes."""
    assert Pool(1000).jobs == 60
    assert 1 <= Pool().jobs <= 60
    assert cores() >= 1


def withdrawn(workers: Pool) -> list[bool]:
    """Return of three pieces of work whether each was withdrawn while it was done; the last one never is."""
    tickets = [workers.ticket() for _ in range(3)]

    def batches() -> Iterator[tuple[int, float]]:
        yield tickets[0], 30
        yield tickets[1], 30
        workers.withdraw(tickets[1])
        workers.withdraw(tickets[0])
        yield tickets[2], 0

    was = {ticket: was for (ticket, _), was in workers.run(UntilWithdrawn(), batches())}
    return [was[ticket] for ticket in tickets]


@forks
def test_one_piece_of_work_is_withdrawn_and_no_other() -> None:
    """Processes and threads hear while they work that it is not wanted any more, each time by a number of its own."""
    with Pool(2, tuning=WorkerTuning(warm_files=1)) as processes:
        processes.prepare(files=1)
        for _ in range(2):
            assert withdrawn(processes) == [True, True, False]
    with ThreadPoolExecutor(2) as threads, Pool(executor=threads) as workers:
        assert withdrawn(workers) == [True, True, False]


def test_width_is_how_many_work_at_one_time() -> None:
    """In this process that is one batch, whatever `jobs` says; elsewhere as many as there are workers."""
    with Pool(3) as here:
        assert here.width == 1
    with ThreadPoolExecutor(5) as threads, Pool(executor=threads) as workers:
        assert workers.width == 5
