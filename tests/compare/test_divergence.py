"""Divergences: what tells near-equal files apart in the next scan, without reading them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedupe import ScanConfig, find_duplicates
from dedupe.compare.divergence import divergence_at, split_by_divergence
from dedupe.compare.tuning import MEASURED
from tests.conftest import SETTLED, write

PLACES = st.dictionaries(st.sampled_from([0, 4096, 1 << 20]), st.binary(min_size=1, max_size=1), max_size=3)


@given(st.dictionaries(st.integers(0, 20), PLACES, min_size=1))
@example({0: {0: b"a"}, 1: {0: b"a", 4096: b"a"}, 2: {0: b"a", 4096: b"b"}})  # a place that one file lacks
def test_only_a_different_value_at_a_shared_place_tells_apart(files: dict[int, dict[int, bytes]]) -> None:
    """Files part only where both have a place and differ there; those that stay together agree where all have one."""
    divergences = {i: b"".join(divergence_at(at, data) for at, data in places.items()) for i, places in files.items()}
    sets = split_by_divergence(list(files), divergences.__getitem__)
    assert sorted(i for s in sets for i in s) == sorted(files)
    home = {i: n for n, s in enumerate(sets) for i in s}
    for i, one in files.items():
        for j, two in files.items():
            if home[i] != home[j]:
                assert any(one[at] != two[at] for at in one.keys() & two.keys())
    for same in sets if all(files.values()) else ():
        for at in set.intersection(*(set(files[i]) for i in same)):
            assert len({files[i][at] for i in same}) == 1


@given(st.binary(max_size=60))
def test_a_divergence_cut_short_tells_nobody_apart(rest: bytes) -> None:
    """What is not a whole divergence counts as none."""
    whole = divergence_at(0, b"x")
    assert split_by_divergence([1, 2], {1: whole + rest[:27], 2: whole}.__getitem__) == [[1, 2]]
    assert split_by_divergence([1, 2], {1: rest[:27], 2: whole}.__getitem__) == [[1, 2]]


@pytest.mark.parametrize("size", [MEASURED.small, 4 * MEASURED.small], ids=["small", "windows"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_near_equal_files_are_not_read_again(tmp_path: Path, size: int, jobs: int) -> None:
    """Files that differ in the middle cost nothing in a second scan, and a changed one is looked at again."""
    root = tmp_path / "root"
    for name in "abcdef":
        middle = b"same" if name in "abc" else name.encode() * 4
        write(root / name, b"h" * (size // 2) + middle + b"t" * (size // 2 - 4))
    config = ScanConfig(roots=[root], cache=tmp_path / "cache.db", jobs=jobs)
    time.sleep(SETTLED)
    cold, warm = find_duplicates(config), find_duplicates(config)
    assert cold.totals.bytes_read > 0
    assert warm.totals.bytes_read == 0
    assert [[f.path for f in g.files] for g in warm.groups] == [[f.path for f in g.files] for g in cold.groups]
    assert len(warm.groups) == 1
    (root / "f").write_bytes((root / "a").read_bytes())
    changed = find_duplicates(config)
    assert [len(g.files) for g in changed.groups] == [4]
