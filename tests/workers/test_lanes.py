"""Lanes: a rotating disk has one batch out at a time, no disk is left waiting, and nothing is lost."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.config import ScanConfig
from dedupe.find import find_duplicates
from dedupe.storage import mounts
from dedupe.workers.lanes import Lane, Lanes
from tests.disks import disk, memory

LANES = st.dictionaries(st.frozensets(st.sampled_from("abc")), st.integers(0, 5), max_size=6)


@given(LANES, st.none() | st.integers(1, 3), st.randoms())
def test_every_disk_is_busy_once_while_it_has_work(
    lanes: dict[frozenset[str], int], most: int | None, random: Any
) -> None:
    """Whatever ends when: no two batches share a disk, one that could go out does, and each comes once, in order."""
    made = Lanes(Lane(disks, iter([(disks, n) for n in range(count)])) for disks, count in lanes.items())
    left, out, came = dict(lanes), list[frozenset[str]](), list[tuple[frozenset[str], int]]()
    while made.has_more or out:
        taken = made.take(most)
        busy = frozenset[str]().union(*out)
        if taken is not None:
            batch, disks = taken
            assert batch[0] == disks
            assert busy.isdisjoint(disks)
            assert disks or most is None or out.count(disks) < most
            left[disks] -= 1
            came.append(batch)
            out.append(disks)
            continue
        for disks, count in left.items():  # whoever has something left has a reason to wait
            assert not count or not busy.isdisjoint(disks) or (not disks and out.count(disks) == most)
        if out:
            made.give_back(out.pop(random.randrange(len(out))))
    for disks, count in lanes.items():
        assert [batch for batch in came if batch[0] == disks] == [(disks, n) for n in range(count)]


class Watching(ThreadPoolExecutor):
    """Threads that note which folders what they were given lies in, of all that is out at a time."""

    def __init__(self) -> None:
        super().__init__(4)
        self.out: list[tuple[Future[Any], set[str]]] = []
        self.seen: list[list[set[str]]] = []

    def submit(self, function: Any, /, *arguments: Any) -> Future[Any]:  # type: ignore[override]
        """Note what is out with this batch, before any thread can end it."""
        self.out = [(future, where) for future, where in self.out if not future.done()]
        batch = arguments[-1]
        paths = batch.paths if hasattr(batch, "paths") else [path for s in batch for path in s.paths]
        where = {os.path.basename(os.path.dirname(os.fsdecode(path))) for path in paths}
        future = super().submit(function, *arguments)
        self.out.append((future, where))
        self.seen.append([each for _, each in self.out])
        return future


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[list[Path]]:
    """Return folders on two rotating disks, and one in memory, each with files that others have too."""
    with ExitStack() as stack:
        top = stack.enter_context(memory(tmp_path / "memory"))
        made = [tmp_path / "one", tmp_path / "two", top / "three"]
        for folder in made[:2]:
            stack.enter_context(disk(top / f"{folder.name}.image", folder)).rotate(yes=True)
        made[2].mkdir()
        for number, folder in enumerate(made):
            for n in range(90):
                (folder / f"{n}").write_bytes(bytes([n // 2, number * (n % 3 > 0)]) * 20_000)
        mounts.forget()
        yield made
    mounts.forget()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what rotates")
def test_all_disks_are_read_at_once_and_each_rotating_one_by_one_reader(folders: list[Path]) -> None:
    """A scan over two rotating disks and one that does not: never two batches with files of one, all three at once."""
    with Watching() as threads:
        result = find_duplicates(ScanConfig(roots=folders), executor=threads)
    for out in threads.seen:
        assert all(sum(name in where for where in out) <= 1 for name in ("one", "two"))
    assert any({"one"} in out and {"two"} in out and {"three"} in out for out in threads.seen)
    by_content: dict[bytes, set[bytes]] = {}
    for path in (path for folder in folders for path in folder.iterdir() if path.is_file()):
        by_content.setdefault(path.read_bytes(), set()).add(os.fsencode(path))
    assert {frozenset(file.path for file in group.files) for group in result.groups} == {
        frozenset(paths) for paths in by_content.values() if len(paths) > 1
    }
