"""Lists for people: so many groups, in an order that is asked for, with names as they would be typed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.report import Style
from dedupe.report.base import Sort
from dedupe.report.listed import hidden, listed, namer
from dedupe.result import File, Group, GroupList
from tests.conftest import write

Run = Callable[..., subprocess.CompletedProcess[bytes]]

_MADE = st.lists(
    st.tuples(st.integers(1, 5), st.lists(st.binary(min_size=1, max_size=2), min_size=2, max_size=5)), max_size=12
)
_KEYS: dict[Sort, Callable[[Group], object]] = {
    Sort.RECLAIMABLE: lambda group: group.id,
    Sort.SIZE: lambda group: -group.size,
    Sort.FILES: lambda group: -len(group.files),
    Sort.PATH: lambda group: group.files[0].path,
}


@given(_MADE, st.sampled_from(Sort), st.none() | st.integers(1, 15))
def test_the_order_is_that_of_sorting_all(made: list[tuple[int, list[bytes]]], sort: Sort, top: int | None) -> None:
    """And the first so many of it; where two are alike, the order of the report counts."""
    groups = GroupList(
        Group(n, size, "sha256", None, [File(b"/" + name, 0, 0, 0) for name in names])
        for n, (size, names) in enumerate(made, 1)
    )
    style = Style(sort=sort, top=top)
    assert list(listed(groups, style)) == sorted(groups, key=_KEYS[sort])[:top]  # type: ignore[arg-type]
    assert hidden(groups, style) == len(groups) - len(list(listed(groups, style)))


@pytest.mark.skipif(os.name == "nt", reason="POSIX paths")
@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (b"/a/b/c", b"c"),
        (b"/a/b/c/d", b"c/d"),
        (b"/a/x", b"../x"),
        (b"/a/b", b"../b"),
        (b"/z", b"../../z"),
        (b"/a/b/-rf", b"./-rf"),
        (b"/a/b/-x/y", b"./-x/y"),
        (b"/a/b/\xff", b"\xff"),
    ],
)
def test_relative_names_lead_to_the_same_file(path: bytes, shown: bytes) -> None:
    """From the folder that they are relative to, and none looks like an option."""
    assert namer(Style(relative_to=b"/a/b"))(path) == shown
    assert os.path.normpath(os.path.join(b"/a/b", shown)) == path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make three groups: four small files, two of middle size, two large ones."""
    for n in range(4):
        write(tmp_path / f"t/c{n}", b"small" * 5)
    for n in range(2):
        write(tmp_path / f"t/b{n}", b"middle" * 100)
        write(tmp_path / f"t/a{n}", b"large" * 1000)
    return tmp_path


def test_top_shows_what_wastes_most_and_the_totals_count_all(cli: Run, tree: Path) -> None:
    """Also of a saved report; what is left out is counted."""
    told = cli("scan", "t", "--top", "1", "--relative", "--no-cache").stdout.decode().replace("\\", "/")
    assert told.startswith("Group 1: 2 files of 4.9 KiB")
    assert "\n  t/a0\n  t/a1\n\n2 more groups: --top 1 leaves out what comes after.\n" in told
    assert "\n3 groups, 5 redundant files" in told
    cli("scan", "t", "-o", "r.json", "--top", "1", "--no-cache")
    assert (
        cli("report", "r.json", "--top", "1", "--relative").stdout.decode().replace("\\", "/").split("\nLooked")[0]
        in told
    )
    assert cli("report", "r.json").stdout.decode().count("Group ") == 3


@pytest.mark.parametrize(("sort", "order"), [("files", "cab"), ("size", "abc"), ("path", "abc"), ("SIZE", "abc")])
def test_sort_says_which_comes_first(cli: Run, tree: Path, sort: str, order: str) -> None:
    """In the list of paths as in the text."""
    paths = cli("scan", "t", "--sort", sort, "--relative", "-f", "paths", "--no-cache").stdout.decode()
    assert "".join(block[2] for block in paths.replace("\\", "/").split("\n\n")) == order


def test_redundant_names_may_be_relative_too(cli: Run, tree: Path) -> None:
    """They are what a user would type."""
    done = cli("scan", "t", "--redundant", "--relative", "--top", "1", "-f", "paths", "--no-cache")
    assert done.stdout.decode().replace("\\", "/").split() == ["t/a1"]
