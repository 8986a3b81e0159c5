"""Groups across roots and volumes, and within one root: what a plain search says of each."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedupe.cache import write_buffer
from dedupe.config import ScanConfig, Scope
from dedupe.files.table import FileTable
from dedupe.find import find_duplicates
from dedupe.progress import Silent
from dedupe.scan.scope import ScopeFilter
from tests.conftest import write
from tests.made_volumes import MOUNT, volume
from tests.naive import Groups, all_names, contents, lower_thresholds, naive_groups

POOL = [*contents(2, 300, [10]), *contents(3, 900, [0, 899]), *contents(3, 9000, [0, 4096, 8999]), b"x"]
FOLDERS = ("a", "a/in", "b", "c")
files = st.lists(st.tuples(st.sampled_from(FOLDERS), st.sampled_from(POOL)), min_size=1, max_size=25)
links = st.lists(st.tuples(st.integers(0, 24), st.sampled_from(FOLDERS)), max_size=6)
few = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def folder() -> Iterator[Callable[[], Path]]:
    """Return a maker of empty folders, one for each example of a property."""
    with tempfile.TemporaryDirectory() as above:
        yield lambda: Path(tempfile.mkdtemp(dir=above))


def grow(base: Path, made: list[tuple[str, bytes]], linked: list[tuple[int, str]]) -> None:
    """Make the folders, files and hard links."""
    for place in FOLDERS:
        (base / place).mkdir(exist_ok=True)
    paths = [write(base / place / f"f{n}", data) for n, (place, data) in enumerate(made)]
    for n, (which, place) in enumerate(linked):
        os.link(paths[which % len(paths)], base / place / f"l{n}")


def innermost(base: Path, path: str) -> str:
    """Return the root that a path belongs to: the innermost of those that it lies below."""
    return max((str(base / f) for f in FOLDERS if path.startswith(str(base / f) + os.sep)), key=len)


def plainly_across(base: Path) -> Groups:
    """Return the plain groups whose names lie below two roots or more."""
    return {group for group in naive_groups(base) if len({innermost(base, path) for path in group}) > 1}


def plainly_within(base: Path) -> Groups:
    """Return the plain groups of each root, searched by itself."""
    within = naive_groups(base / "b") | naive_groups(base / "c") | naive_groups(base / "a/in")
    hidden = base / "hidden"
    (base / "a/in").rename(hidden)  # a root inside a root is searched once, by itself
    within |= naive_groups(base / "a")
    hidden.rename(base / "a/in")
    return within


@pytest.mark.parametrize("scope", [Scope.ACROSS, Scope.WITHIN])
@pytest.mark.parametrize("cached", [False, True])
def test_any_roots_give_the_groups_of_a_plain_search(
    folder: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, scope: Scope, *, cached: bool
) -> None:
    """With hard links and a root inside another, read or remembered, the groups are those asked for and no others."""
    low = lower_thresholds(monkeypatch)
    monkeypatch.setattr(write_buffer, "RACY_NS", 0)  # files not at rest have no rows

    @few
    @given(files, links)
    def law(made: list[tuple[str, bytes]], linked: list[tuple[int, str]]) -> None:
        base = folder()
        grow(base, made, linked)
        expected = plainly_across(base) if scope is Scope.ACROSS else plainly_within(base)
        roots = [base / place for place in FOLDERS]
        config = ScanConfig(roots=roots, scope=scope, jobs=1, cache=base / "cache.db" if cached else None)
        for _ in range(2 if cached else 1):
            result = find_duplicates(config, tuning=low)
            assert all_names(result) == expected
            assert result.totals.groups == len(expected)

    law()


def test_what_cannot_span_roots_is_not_read(tmp_path: Path) -> None:
    """Copies below one root alone cost nothing where only those across roots are asked for."""
    for n in range(3):
        write(tmp_path / f"a/{n}", b"a" * 100_000)
        write(tmp_path / f"b/{n}", b"b" * 200_000)
    result = find_duplicates(ScanConfig(roots=[tmp_path / "a", tmp_path / "b"], scope=Scope.ACROSS))
    assert (result.totals.groups, result.totals.bytes_read) == (0, 0)


def test_a_group_that_changes_out_of_its_scope_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What spans roots by memory only must still do so when it is told."""
    monkeypatch.setattr(write_buffer, "RACY_NS", 0)  # files not at rest have no rows
    for name in ("a/1", "a/2", "b/3"):
        write(tmp_path / name, b"data" * 10_000)
    config = ScanConfig(roots=[tmp_path / "a", tmp_path / "b"], scope=Scope.ACROSS, cache=tmp_path / "cache.db", jobs=1)
    assert find_duplicates(config).totals.groups == 1

    class Remover(Silent):
        """Removes the file of the second root when the first group is put together."""

        def begin(self, phase: str, total: int | None, *, in_bytes: bool = False) -> None:  # noqa: ARG002
            if phase == "recheck":
                (tmp_path / "b/3").unlink()

    assert find_duplicates(config, progress=Remover()).totals.groups == 0


def test_volumes_are_told_apart() -> None:
    """Files of one volume are no group across volumes, whatever their roots."""
    table = FileTable()
    for root in range(2):
        table.add(table.enter(b"/%d" % root, MOUNT, root), b"f", (1, 1, 1, root + 1))
    scope = ScopeFilter(table, Scope.ALL, across_volumes=True)
    assert scope.take([[0, 1]]) == []  # type: ignore[list-item]
    table.volume[1] = table.enter_volume(volume(2))
    scope = ScopeFilter(table, Scope.ALL, across_volumes=True)
    assert scope.take([[0, 1]]) == [[0, 1]]  # type: ignore[list-item]
