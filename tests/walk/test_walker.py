"""The walk: a folder of any width is listed once, whoever looks at its files, and nothing is lost on the way."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from dedupe.config import ScanConfig
from dedupe.result import ProblemKind, SkipReason
from dedupe.walk import scanner, walker
from dedupe.walk.filters import Filters
from dedupe.walk.listing import Listing, PendingFiles, PendingFolder
from dedupe.walk.mount_points import located
from dedupe.workers.pool import Pool
from tests.conftest import write
from tests.made_volumes import MOUNT
from tests.naive import fork_workers


def rules() -> scanner.FolderScanner:
    """Return a lister by the rules of a plain scan."""
    nothing: frozenset[bytes] = frozenset()
    return scanner.FolderScanner(Filters.of(ScanConfig(roots=["/"])), nothing, (), False, False, False)  # noqa: FBT003


def pending(folder: bytes) -> PendingFolder:
    """Return a folder as the walk hands it out."""
    mount = located(folder)
    return PendingFolder(folder, mount, 0, mount.volume)


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
    monkeypatch.setattr(scanner, "_SLICE", width)
    root = os.fsencode(wide_folder(tmp_path / "root"))
    with Pool(jobs) as pool:
        found = walker.walk(ScanConfig(roots=[root]), [root], pool, ())
    files = sorted(found.table.path(i) for i in range(len(found.table)))
    assert files == [*sorted(os.path.join(root, b"f%02d" % n) for n in range(30)), os.path.join(root, b"sub", b"deep")]
    assert not found.problems
    links = {SkipReason.SYMLINK: 1} if sys.platform != "win32" else {}
    assert found.skipped == {SkipReason.EMPTY: 7, **links}
    counts = dict.fromkeys((root, os.path.join(root, b"sub")), (0, 0, 0))
    for folder, *numbers in found.table.listed():
        place = os.path.normpath(folder)
        counts[place] = tuple(map(sum, zip(counts[place], numbers, strict=True)))  # type: ignore[assignment]
    assert counts[root] == (30, sum(range(31)), 7 + len(links))
    assert counts[os.path.join(root, b"sub")] == (1, 4, 0)


def test_files_that_vanish_between_two_looks_are_told(tmp_path: Path) -> None:
    """Names that were handed on may be gone when their turn comes: each is a problem, the others are there."""
    folder = os.fsencode(tmp_path)
    write(tmp_path / "here", b"here")
    listing = rules()([PendingFiles(folder, located(folder), 0, b"gone\0here\0lost")])
    assert [listing.table.path(i) for i in range(len(listing.table))] == [os.path.join(folder, b"here")]
    assert [(p.path, p.kind) for p in listing.problems] == [
        (os.path.join(folder, name), ProblemKind.VANISHED) for name in (b"gone", b"lost")
    ]
    assert [left_out for *_, left_out in listing.table.listed()] == [2]


def test_a_slice_without_files_does_not_list_its_folder_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a folder of folders only, the slices hold no names to hand on: nothing waits but the folders."""
    monkeypatch.setattr(scanner, "_SLICE", 2)
    for n in range(6):
        (tmp_path / str(n)).mkdir()
    listing = Listing()
    rules().folder(listing, pending(os.fsencode(tmp_path)))
    assert sorted(w.folder for w in listing.pending) == [os.fsencode(tmp_path / str(n)) for n in range(6)]


@pytest.mark.parametrize("after", [0, 3, 8, 20])
def test_a_listing_that_breaks_off_leaves_something_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """Files that were seen before the error take part; the folder is never taken for one that is known whole."""
    monkeypatch.setattr(scanner, "_SLICE", 4)
    root = os.fsencode(wide_folder(tmp_path / "root"))
    real = os.scandir

    @contextlib.contextmanager
    def breaking(path: bytes) -> Iterator[Iterator[os.DirEntry[bytes]]]:
        def table() -> Iterator[os.DirEntry[bytes]]:
            yield from islice(found, after)
            raise OSError(errno.EIO, "Input/output error")

        with real(path) as found:
            yield table() if path == root else found

    monkeypatch.setattr(scanner.os, "scandir", breaking)
    with Pool(1) as pool:
        listing = walker.walk(ScanConfig(roots=[root]), [root], pool, ())
    assert [p.kind for p in listing.problems] == [ProblemKind.IO]
    direct = [numbers for folder, *numbers in listing.table.listed() if os.path.normpath(folder) == root]
    assert sum(left_out for *_, left_out in direct) > 0
    assert sum(files for files, *_ in direct) == sum(
        os.path.dirname(listing.table.path(i)) == root for i in range(len(listing.table))
    )


def test_a_lost_share_is_so_many_files() -> None:
    """Where the worker died that looked at some files of a huge folder, each of them is unknown, not the folder."""
    folder = os.path.join(os.sep.encode() + b"d", b"")
    listing = rules().lost([PendingFiles(folder, MOUNT, 0, b"a\0b"), PendingFolder(b"/e", MOUNT, 0, MOUNT.volume)])
    assert listing.unlisted == [folder + b"a", folder + b"b", b"/e"]
    assert [(p.path, p.kind) for p in listing.problems] == [(folder[:-1], ProblemKind.IO), (b"/e", ProblemKind.IO)]
    assert "2 of its files" in listing.problems[0].message
