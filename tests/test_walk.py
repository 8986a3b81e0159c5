"""The walk: a folder of any width is listed once, whoever looks at its files, and nothing is lost on the way."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from dedupe import walk
from dedupe.config import ScanConfig
from dedupe.filters import Filters
from dedupe.listing import Listing, Waiting
from dedupe.pool import Pool
from dedupe.result import ProblemKind, SkipReason
from tests.conftest import write
from tests.naive import fork_workers


def lister() -> walk.Lister:
    """Return a lister by the rules of a plain scan."""
    nothing: frozenset[bytes] = frozenset()
    return walk.Lister(Filters.of(ScanConfig(roots=["/"])), nothing, frozenset(), False, False, False)  # noqa: FBT003


def wide_folder(folder: Path) -> Path:
    """Make a folder of forty entries: files, empty ones, a folder with a file, and a link where there are links."""
    for n in range(30):
        write(folder / f"f{n:02d}", b"x" * (n + 1))
    for n in range(7):
        write(folder / f"empty{n}", b"")
    write(folder / "sub" / "deep", b"deep")
    if sys.platform != "win32":
        (folder / "link").symlink_to("f00")
    return folder


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("width", [1, 5, 4096])
def test_a_wide_folder_is_shared_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int, width: int) -> None:
    """However a folder is cut, every file comes once, what is left out is counted once, and in its own folder."""
    if jobs > 1:
        fork_workers(monkeypatch)
    monkeypatch.setattr(walk, "_SLICE", width)
    root = os.fsencode(wide_folder(tmp_path / "root"))
    with Pool(jobs) as pool:
        *_, found = walk.walk(ScanConfig(roots=[root]), [root], pool, ())
    files = sorted(found.entries.path(i) for i in range(len(found.entries)))
    assert files == [*sorted(os.path.join(root, b"f%02d" % n) for n in range(30)), os.path.join(root, b"sub", b"deep")]
    assert not found.problems
    links = {SkipReason.SYMLINK: 1} if sys.platform != "win32" else {}
    assert found.skipped == {SkipReason.EMPTY: 7, **links}
    counts = dict.fromkeys((root, os.path.join(root, b"sub")), (0, 0, 0))
    for folder, *numbers in found.entries.listed():
        place = os.path.normpath(folder)
        counts[place] = tuple(map(sum, zip(counts[place], numbers, strict=True)))  # type: ignore[assignment]
    assert counts[root] == (30, sum(range(31)), 7 + len(links))
    assert counts[os.path.join(root, b"sub")] == (1, 4, 0)


def test_files_that_vanish_between_two_looks_are_told(tmp_path: Path) -> None:
    """Names that were handed on may be gone when their turn comes: each is a problem, the others are there."""
    folder = os.fsencode(tmp_path)
    write(tmp_path / "here", b"here")
    listing = lister()([Waiting(folder, 0, b"gone\0here\0lost")], mapped=False)
    assert [listing.entries.path(i) for i in range(len(listing.entries))] == [os.path.join(folder, b"here")]
    assert [(p.path, p.kind) for p in listing.problems] == [
        (os.path.join(folder, name), ProblemKind.VANISHED) for name in (b"gone", b"lost")
    ]
    assert [left_out for *_, left_out in listing.entries.listed()] == [2]


def test_a_slice_without_files_does_not_list_its_folder_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a folder of folders only, the slices hold no names to hand on: nothing waits but the folders."""
    monkeypatch.setattr(walk, "_SLICE", 2)
    for n in range(6):
        (tmp_path / str(n)).mkdir()
    listing = Listing()
    lister().folder(listing, os.fsencode(tmp_path), 0)
    assert sorted(w.folder for w in listing.waiting) == [os.fsencode(tmp_path / str(n)) for n in range(6)]
