"""Putting sets into parts and results together: the classes are right, also where files fail on the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedupe.compare.confirm import Confirmer
from dedupe.compare.method import Method
from dedupe.compare.split_sets import SetSplitter
from dedupe.files.columns import Column
from dedupe.files.table import FileTable
from dedupe.storage import file_stat
from dedupe.storage.opener import Opener
from tests.conftest import write
from tests.made_volumes import MOUNT
from tests.naive import LOW, contents


def confirmed(paths: list[Path], *, mode: str, gone_after: dict[int, int]) -> list[list[int]]:
    """Return the classes of one set; some files are deleted after so many batches."""
    table = FileTable()
    folder = table.enter(os.fsencode(paths[0].parent), MOUNT)
    for p in paths:
        table.add(folder, os.fsencode(p.name), file_stat.of_path(os.fsencode(p)))
    method = Method.of(mode)
    task, splitter = Confirmer(method, Opener(), LOW), SetSplitter(table, method, Column(32), LOW)
    pending: list[list[int]] = [list(range(len(paths)))]
    batches = rounds = 0
    while pending:
        rounds += 1
        assert rounds < 30
        for batch in list(splitter.batches(pending)):
            for i in (i for i, n in gone_after.items() if n == batches):
                paths[i].unlink(missing_ok=True)
            batches += 1
            splitter.take(batch, task(batch))
        pending, splitter.again = splitter.again, []
    return sorted(sorted(members) for _, members in splitter.done)


@pytest.mark.parametrize("mode", ["bytes", "sha256"])
@pytest.mark.parametrize("size", [900, 3000])
def test_files_that_fail_on_the_way_never_part_the_others(
    tmp_path_factory: pytest.TempPathFactory, mode: str, size: int
) -> None:
    """A file that stands for a whole class may vanish at any time: the rest of its class stays together."""

    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(st.integers(0, 3), min_size=2, max_size=25),
        st.dictionaries(st.integers(0, 24), st.integers(0, 12), max_size=6),
    )
    def law(kinds: list[int], gone: dict[int, int]) -> None:
        folder = tmp_path_factory.mktemp("set")
        data = contents(4, size, [10, size // 2, size - 1])
        paths = [write(folder / str(n), data[kind]) for n, kind in enumerate(kinds)]
        gone = {i: n for i, n in gone.items() if i < len(paths)}
        found = confirmed(paths, mode=mode, gone_after=gone)
        for members in found:
            assert len({kinds[i] for i in members}) == 1
        for kind in range(4):
            stayed = {i for i, k in enumerate(kinds) if k == kind and i not in gone}
            if len(stayed) > 1:
                assert any(stayed <= set(members) for members in found), (kind, found)
        assert len([i for m in found for i in m]) == len({i for m in found for i in m})

    law()


def test_what_is_joined_by_digest_shares_no_batch_with_what_is_not(tmp_path: Path) -> None:
    """Where bytes are compared only sets in parts have digests: a batch of both would mix classes up."""
    table = FileTable()
    folder = table.enter(os.fsencode(tmp_path))
    names = [b"%04d" % n for n in range(2060)]
    for name in names:
        table.add(folder, name, (5, 1, 1, 1))
    splitter = SetSplitter(table, Method.of("bytes"), Column(32))
    sets = [range(2), range(2, 2052), range(2052, 2054), range(2054, 2060)]
    batches = list(splitter.batches(sets))
    assert all(len({s.needs_digest for s in batch}) == 1 for batch in batches)
    assert sorted(m for batch in batches for s in batch for m in s.members) == list(range(2060))
