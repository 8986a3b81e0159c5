"""A table of files that workers are forked with: files travel to them as numbers, and nothing else changes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from dedupe.files.selection import SelectedPaths, SelectedStats
from dedupe.files.table import FileTable
from dedupe.storage.file_stat import FileStat
from dedupe.workers.pool import Pool
from tests.made_volumes import MOUNT


class _Batch(NamedTuple):
    paths: SelectedPaths
    stats: SelectedStats


class _Tell:
    """Returns what a batch tells of its files, and whether it came with their numbers alone.

    Where `deadly` is one of its paths, the first worker that sees it dies.
    """

    def __init__(self, deadly: bytes = b"", marker: str = "") -> None:
        self.deadly = deadly
        self.marker = marker

    def __call__(self, batch: _Batch) -> tuple[list[bytes], list[tuple[int, ...]], bool]:
        if self.deadly in list(batch.paths) and not os.path.exists(self.marker):
            with open(self.marker, "x"):
                pass
            os.kill(os.getpid(), signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
        return list(batch.paths), list(batch.stats), isinstance(batch.paths, SelectedPaths)

    def lost(self, _: _Batch) -> tuple[list[bytes], list[tuple[int, ...]], bool]:
        return [], [], False


def made() -> FileTable:
    """Return a table of forty files in two folders."""
    found = FileTable()
    for number, folder in enumerate((b"/a", b"/b")):
        here = found.enter(folder, MOUNT)
        for i in range(20):
            found.add(here, b"n%d" % i, FileStat(i, i + 1, i + 2, i + 100 * number + 3))
    return found


@pytest.fixture
def table() -> FileTable:
    """Return a table that nothing else uses."""
    return made()


def _batches(table: FileTable) -> Iterator[_Batch]:
    for first in range(0, 40, 7):
        members = range(first, min(first + 7, 40))
        yield _Batch(SelectedPaths(table, members), SelectedStats(table, members))


def _told(table: FileTable, pool: Pool, task: _Tell) -> set[bool]:
    """Run all batches, check what came back against the table, and return how they had come."""
    paths: list[bytes] = []
    stats: list[tuple[int, ...]] = []
    ways = set()
    for _, (some, their_stats, by_number) in pool.run(task, _batches(table)):
        paths += some
        stats += their_stats
        ways.add(by_number)
    assert sorted(paths) == sorted(table.path(i) for i in range(40))
    assert sorted(stats) == sorted(tuple(table.stat(i)) for i in range(40))
    return ways


def test_workers_that_are_forked_get_numbers_and_others_columns(table: FileTable, method: str) -> None:
    """What arrives is the same however workers start; those that ran before the table was there are replaced."""
    with Pool(2) as pool:
        pool.prepare(files=10)
        assert _told(table, pool, _Tell()) == {False}
        pool.share(table)
        pool.prepare(files=10)
        assert _told(table, pool, _Tell()) == {method == "fork"}


@pytest.mark.skipif(sys.platform != "linux", reason="only there are workers forked unless told otherwise")
def test_a_program_without_threads_has_its_workers_inherit() -> None:
    """Nothing has to be asked for: those that worked before end with their threads, and the next are forked."""
    program = """
from tests.workers.test_inherited import _Tell, _batches, _told, made
from dedupe.workers.pool import Pool
table = made()
with Pool(2) as pool:
    pool.prepare(files=10**6)
    before = _told(table, pool, _Tell())
    pool.share(table)
    pool.prepare(files=10**6)
    print(before, _told(table, pool, _Tell()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("{False} {True}\n", "")


def test_a_table_of_another_scan_is_sent(table: FileTable, method: str) -> None:
    """Only the very table that was shared is there; what is told of any other comes along."""
    other = FileTable()
    with Pool(2) as pool:
        pool.share(other)
        pool.prepare(files=10)
        assert _told(table, pool, _Tell()) == {False}, method


@pytest.mark.usefixtures("method")
def test_after_the_death_of_a_worker_nothing_is_taken_for_there(table: FileTable, tmp_path: os.PathLike[str]) -> None:
    """The workers that take the place of those that died get what they need, whichever way they start."""
    with Pool(2) as pool:
        pool.share(table)
        pool.prepare(files=10)
        task = _Tell(b"/b" + os.sep.encode() + b"n3", os.path.join(tmp_path, "died"))
        assert _told(table, pool, task)
    assert os.path.exists(task.marker)
