"""Confirming sparse files: holes are not read, and what is told of them is what reading would have told."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedupe.compare.candidates import CandidateSet, ConfirmResult
from dedupe.compare.confirm import Confirmer
from dedupe.compare.method import Method
from dedupe.compare.tuning import MEASURED
from dedupe.storage import file_stat, holes, mounts
from dedupe.storage.opener import Opener
from tests.conftest import need
from tests.file_system_kinds import mounts as made_mounts

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="holes are believed on Linux only")

KINDS = ("ext4", "xfs", "btrfs", "tmpfs")
BLOCK = 64 << 10  # bytes; at least a block of each file system, and a window below
PLAN = MEASURED._replace(small=0, window=2 * BLOCK, step=BLOCK, hole_bytes=8 * BLOCK, hole_factor=1)


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """Return a function that gives a folder of a file system of some kind."""
    with made_mounts(tmp_path_factory.mktemp("mounts")) as of:
        mounts.forget()
        yield of


@pytest.fixture(params=KINDS)
def folder(request: pytest.FixtureRequest, folder_of: Callable[[str], Path]) -> Path:
    """Return an empty folder on each kind of file system."""
    top = folder_of(request.param)
    mounts.forget()
    for each in top.iterdir():
        if each.is_file():
            each.unlink()
    return top


def sparse(path: Path, blocks: str) -> Path:
    """Write a file of blocks: a dot is a hole, `0` zeros that are written, a letter other bytes."""
    with path.open("wb") as file:
        for place, block in enumerate(blocks):
            if block != ".":
                os.pwrite(file.fileno(), block.encode().replace(b"0", b"\0") * BLOCK, place * BLOCK)
        file.truncate(len(blocks) * BLOCK)
    return path


def confirmed(*paths: Path, algorithm: str = "sha256", may_mmap: bool = False, digest: bool = False) -> ConfirmResult:
    """Return what becomes of a set of files."""
    names = [os.fsencode(path) for path in paths]
    stats = [file_stat.of_path(name) for name in names]
    s = CandidateSet(stats[0].size, range(len(names)), names, stats, digest)
    return Confirmer(Method.of(algorithm), Opener(), PLAN, may_mmap)([s])


@pytest.mark.parametrize("may_mmap", [False, True])
def test_a_hole_is_equal_to_a_hole_and_to_zeros_and_is_not_read(folder: Path, *, may_mmap: bool) -> None:
    """Only data are read, and the digest is that of all bytes."""
    files = [sparse(folder / name, text) for name, text in (("a", "x..y...."), ("b", "x..y...."), ("c", "x00y0000"))]
    need(files[0].stat().st_blocks * 512 < 8 * BLOCK, "holes in files of this file system")
    both, all_three = confirmed(*files[:2], may_mmap=may_mmap), confirmed(*files, may_mmap=may_mmap)
    digest = hashlib.sha256(files[0].read_bytes()).digest()
    assert [(d, list(m)) for d, m in both.classes] == [(digest, [0, 1])]
    assert [(d, list(m)) for d, m in all_three.classes] == [(digest, [0, 1, 2])]
    assert both.bytes_read == 2 * 4 * BLOCK  # the windows with data, of both
    assert all_three.bytes_read == (2 * 4 + 8) * BLOCK
    assert not both.problems


def test_data_within_what_others_have_as_a_hole_tell_files_apart(folder: Path) -> None:
    """A byte in the middle of a hole is found, also the last one of a file."""
    files = [sparse(folder / name, text) for name, text in (("a", "x......."), ("b", "x....y.."), ("c", "x......."))]
    last = sparse(folder / "d", "x.......")
    with last.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"!")
    assert [list(members) for _, members in confirmed(*files, last).classes] == [[0, 2]]


def test_files_that_are_hardly_more_than_holes_are_proven_by_comparing_alone(folder: Path) -> None:
    """Whose zeros would take long to hash carry no digest, unless others may join them by it."""
    files = [sparse(folder / name, "x" + 30 * ".") for name in "ab"]
    need(files[0].stat().st_blocks * 512 < 31 * BLOCK, "holes in files of this file system")
    digest = hashlib.sha256(files[0].read_bytes()).digest()
    assert [d for d, _ in confirmed(*files).classes] == [None]
    assert [d for d, _ in confirmed(*files, digest=True).classes] == [digest]
    written = [sparse(folder / name, "x" * 16 + 15 * ".") for name in "cd"]  # reading costs more than the zeros
    assert [d for d, _ in confirmed(*written).classes] == [hashlib.sha256(written[0].read_bytes()).digest()]


def test_a_file_that_grew_or_was_cut_within_a_hole_has_changed(folder: Path) -> None:
    """What lies in a hole is not read, and all the same a change is seen."""
    files = [sparse(folder / name, 20 * ".") for name in "ab"]
    names = [os.fsencode(path) for path in files]
    stats = [file_stat.of_path(name) for name in names]
    os.truncate(files[1], 5 * BLOCK)
    result = Confirmer(Method.of("bytes"), Opener(), PLAN)([CandidateSet(20 * BLOCK, range(2), names, stats)])
    assert not list(result.classes)
    assert [problem.path for problem in result.problems] == names[1:]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(layouts=st.lists(st.text("..0x", min_size=9, max_size=9), min_size=2, max_size=4), mapped=st.booleans())
def test_whatever_the_holes_the_classes_are_those_of_reading(
    folder_of: Callable[[str], Path], layouts: list[str], *, mapped: bool
) -> None:
    """Files are equal if and only if their bytes are, however each is laid out."""
    top = folder_of("tmpfs")
    files = [sparse(top / f"f{n}", text) for n, text in enumerate(layouts)]
    found = {tuple(members) for _, members in confirmed(*files, may_mmap=mapped).classes}
    contents = [path.read_bytes() for path in files]
    wanted = {tuple(n for n, other in enumerate(contents) if other == content) for content in contents}
    assert found == {each for each in wanted if len(each) > 1}


def test_data_are_counted_and_found(folder: Path) -> None:
    """Where data begin and how many there are is what was written."""
    path = sparse(folder / "a", "..xx....x...")
    need(path.stat().st_blocks * 512 < 12 * BLOCK, "holes in files of this file system")
    descriptor = os.open(path, os.O_RDONLY)
    try:
        assert holes.are_told(descriptor, os.fsencode(path))
        assert holes.data_bytes(descriptor, 12 * BLOCK) == 3 * BLOCK
        assert holes.data_begins(descriptor, 4 * BLOCK) == 8 * BLOCK
        assert holes.data_begins(descriptor, 9 * BLOCK) == sys.maxsize
    finally:
        os.close(descriptor)
