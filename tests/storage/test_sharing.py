"""Sharing blocks leaves every byte, time and right as it was, and what it gained is what the disk says."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from dedupe.storage import sharing
from dedupe.storage.extents import NOT_OFFERED, extents
from dedupe.storage.sharing import DiffersError, can_share, clone_into_new, common_bytes, exclusive_bytes, share
from tests.conftest import write
from tests.disks import run
from tests.file_system_kinds import KINDS, SHARING, as_nobody, mounted, tree

On = Callable[[str], Path]
linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux shares blocks")
PLAIN = [kind for kind in KINDS if kind not in SHARING]


@contextmanager
def opened(*paths: Path) -> Iterator[list[int]]:
    """Open files for reading."""
    descriptors = [os.open(path, os.O_RDONLY) for path in paths]
    try:
        yield descriptors
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


@linux
@pytest.mark.parametrize("kind", SHARING)
@pytest.mark.parametrize("size", [1, 4096, 50_001, 1 << 20, (3 << 20) + 1])
def test_whole_files_are_shared(on: On, monkeypatch: pytest.MonkeyPatch, kind: str, size: int) -> None:
    """Files of any size are shared to the last byte in as many steps as it takes; only the disk knows."""
    monkeypatch.setattr(sharing, "_STEP", 1 << 20)
    top, data = on(kind), os.urandom(size)
    a, b = write(top / "a", data), write(top / "b", data)
    os.chmod(b, 0o640)
    os.utime(b, ns=(1_000_000_001, 2_000_000_002))
    before, steps = os.stat(b), []
    with opened(a, b) as (source, target):
        alone = exclusive_bytes([source, target])
        assert common_bytes(source, target) == 0
        assert share(source, target, size, progress=steps.append) == size
        if size >= 4096:
            assert alone >= 2 * size
            assert exclusive_bytes([source, target]) == 0
            assert sharing.shared_bytes(target) >= size
            assert common_bytes(source, target) >= size
        os.fsync(target)
    after = os.stat(b)
    assert sum(steps) == size
    assert len(steps) >= size >> 20
    assert a.read_bytes() == b.read_bytes() == data
    assert (after.st_mode, after.st_mtime_ns, after.st_uid) == (before.st_mode, before.st_mtime_ns, before.st_uid)


@linux
@pytest.mark.parametrize("kind", SHARING)
@pytest.mark.parametrize("at", [0, 70_000, 199_999])
def test_what_differs_stays_as_it_is(on: On, kind: str, at: int) -> None:
    """One byte that differs, wherever it is, ends in an error and changes nothing."""
    top, data = on(kind), bytearray(os.urandom(200_000))
    a = write(top / "a", data)
    data[at] ^= 1
    b = write(top / "b", data)
    before = tree(top)
    with opened(a, b) as (source, target):
        with pytest.raises(DiffersError, match="the contents differ"):
            share(source, target, 200_000)
        assert common_bytes(source, target) == 0
    assert tree(top) == before


@linux
@pytest.mark.parametrize("kind", SHARING)
def test_sharing_again_gains_nothing(on: On, kind: str) -> None:
    """What is shared already is nobody's own, so nothing more is claimed for it; a third copy still is."""
    top, data = on(kind), os.urandom(1 << 20)
    files = [write(top / name, data) for name in "abc"]
    with opened(*files) as (a, b, c):
        share(a, b, len(data))
        assert exclusive_bytes([a, b]) == 0
        assert share(a, b, len(data)) == len(data)
        assert exclusive_bytes([a, b, c, c]) == len(data)


@linux
@pytest.mark.parametrize("kind", SHARING)
def test_owners_share_through_descriptors_for_reading(on: On, kind: str) -> None:
    """A running program, which cannot be opened for writing, is shared; another user's file is not."""
    top = on(kind)
    program = shutil.copy("/bin/sleep", top / "a")
    other = shutil.copy("/bin/sleep", top / "b")
    size = os.path.getsize(program)
    with subprocess.Popen([other, "60"]) as running:
        try:
            with pytest.raises(OSError, match="Text file busy"):
                os.open(other, os.O_WRONLY)
            with opened(Path(program), Path(other)) as (source, target):
                assert "PermissionError" in as_nobody(lambda: share(source, target, size))
                assert share(source, target, size) == size
        finally:
            running.kill()


@linux
@pytest.mark.parametrize("kind", SHARING)
def test_an_immutable_target_is_refused(on: On, kind: str) -> None:
    """The kernel's answer reaches the caller by its number."""
    top = on(kind)
    a, b = write(top / "a", b"x" * 8192), write(top / "b", b"x" * 8192)
    run("chattr", "+i", b)
    try:
        with opened(a, b) as (source, target), pytest.raises(PermissionError):
            share(source, target, 8192)
    finally:
        run("chattr", "-i", b)


@linux
def test_a_snapshot_stays_what_it_was(on: On) -> None:
    """A file of a read-only snapshot can be the source; as a target its content stays, whatever btrfs says."""
    top, data = on("btrfs"), os.urandom(1 << 20)
    run("btrfs", "subvolume", "create", top / "volume")
    old = write(top / "volume/old", data)
    run("btrfs", "subvolume", "snapshot", "-r", top / "volume", top / "snapshot")
    old.unlink()
    new = write(top / "new", data)
    with opened(top / "snapshot/old", new) as (kept, own):
        assert share(kept, own, len(data)) == len(data)
        assert exclusive_bytes([own]) == 0
        with suppress(OSError):
            share(own, kept, len(data))
    assert (top / "snapshot/old").read_bytes() == new.read_bytes() == data


@linux
@pytest.mark.parametrize("kind", PLAIN)
def test_who_does_not_share_says_so(on: On, kind: str) -> None:
    """Other file systems refuse, a trial tells it in a sentence beforehand, and nothing stays of trials and copies."""
    top = on(kind)
    a, b = write(top / "a", b"x" * 8192), write(top / "b", b"x" * 8192)
    with opened(a, b, top) as (source, target, folder):
        with pytest.raises(OSError) as told:  # noqa: PT011 - by its number
            share(source, target, 8192)
        assert told.value.errno in {errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL}
        assert "does not share blocks" in str(can_share(os.fsencode(top)))
        assert clone_into_new(source, folder, b"new") is False
    assert set(tree(top)) == {"a", "b"}


@linux
@pytest.mark.parametrize("kind", SHARING)
def test_who_shares_is_found_out_by_trying(on: On, kind: str) -> None:
    """A trial with real content succeeds and leaves nothing, also where files cannot be made without a name."""
    top = os.fsencode(on(kind))
    assert can_share(top) is None
    really = os.open

    def unnamed_refused(path: Any, flags: int, *args: Any, **options: Any) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "not offered")
        return really(path, flags, *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", unnamed_refused)
        assert can_share(top) is None
    assert os.listdir(top) == []
    assert "cannot be opened" in str(can_share(top + b"/missing"))


@linux
def test_a_trial_that_fails_for_other_reasons_says_which(tmp_path: Path) -> None:
    """A read-only volume is told as one, not as one that cannot share."""
    with mounted(tmp_path, "btrfs") as top:
        run("mount", "-o", "remount,ro", top)
        assert "Read-only file system" in str(can_share(os.fsencode(top)))


@linux
@pytest.mark.parametrize("kind", SHARING)
def test_a_clone_is_a_new_file(on: On, kind: str) -> None:
    """The copy has the content and shares the blocks; a name that is taken is left alone."""
    top, data = on(kind), os.urandom((1 << 20) + 7)
    a = write(top / "a", data)
    write(top / "taken", b"old")
    with opened(a, top) as (source, folder):
        assert clone_into_new(source, folder, b"b")
        with pytest.raises(FileExistsError):
            clone_into_new(source, folder, b"taken")
        assert exclusive_bytes([source]) == 0
    assert tree(top) == {"a": data, "b": data, "taken": b"old"}
    assert os.stat(top / "b").st_mode & 0o7777 == 0o600


@linux
def test_a_file_system_that_wants_it_written_first_gets_that(on: On, monkeypatch: pytest.MonkeyPatch) -> None:
    """After EAGAIN both files are written to the disk, and it is tried once more; a second refusal is the answer."""
    top = on("btrfs")
    a, b = write(top / "a", b"x" * 8192), write(top / "b", b"x" * 8192)
    asked: list[int] = []
    synced: list[int] = []
    really = sharing._ask

    def busy(*args: int) -> int:
        asked.append(len(asked))
        if len(asked) in refused:
            raise BlockingIOError(errno.EAGAIN, "not yet")
        return really(*args)

    monkeypatch.setattr(sharing, "_ask", busy)
    monkeypatch.setattr(os, "fsync", synced.append)
    with opened(a, b) as (source, target):
        refused = {1}
        assert share(source, target, 8192) == 8192
        assert synced == [source, target]
        asked.clear()
        refused = {1, 2}
        with pytest.raises(BlockingIOError):
            share(source, target, 8192)


@linux
def test_the_end_of_what_the_kernel_does_is_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer of nothing ends the loop, and what was done is the sum of the answers."""
    answers = iter([3, 4, 0])
    monkeypatch.setattr(sharing, "_ask", lambda *_: next(answers))
    assert share(0, 0, 100) == 7


@linux
@pytest.mark.parametrize("kind", ["ext4", "btrfs", "xfs"])
def test_every_extent_is_told(on: On, kind: str) -> None:
    """More extents than one call tells are told all, in order, and none for holes."""
    file = on(kind) / "a"
    block = 8192
    with file.open("wb") as made:
        for n in range(700):
            made.seek(2 * n * block)
            made.write(os.urandom(block))
    with opened(file) as (descriptor,):
        found = list(extents(descriptor))
    row_of = re.compile(r"^ *\d+: *(\d+)\.\. *\d+: *(\d+)\.\. *\d+: *(\d+):", re.MULTILINE)
    told = row_of.findall(run("filefrag", "-b1", "-v", file))
    assert [tuple(map(int, row)) for row in told] == [(e.logical, e.physical, e.length) for e in found]
    assert len(found) > 256
    if kind != "xfs":  # which reserves space in the holes
        assert sum(extent.length for extent in found) == 700 * block


@linux
def test_equal_places_on_two_disks_are_not_common(tmp_path: Path, on: On) -> None:
    """Two disks cloned from one image tell equal places for equal files, which share nothing."""
    data = os.urandom(1 << 20)
    with mounted(tmp_path, "ext4") as first:
        write(first / "a", data)
        run("sync", "-f", first / "a")
        shutil.copy(tmp_path / "ext4.image", tmp_path / "clone")
        with (
            mounted(tmp_path, "ext4", image=tmp_path / "clone") as second,
            opened(first / "a", second / "a") as (a, b),
        ):
            assert [e.physical for e in extents(a)] == [e.physical for e in extents(b)]
            assert common_bytes(a, b) == 0
            assert common_bytes(a, a) == len(data)


def test_elsewhere_it_is_said(tmp_path: Path) -> None:
    """A system that shares nothing, or does not tell where files lie, says so."""
    file = write(tmp_path / "a", b"x")
    if sys.platform == "linux":
        with open("/proc/self/status", "rb") as told_nothing, pytest.raises(OSError) as told:  # noqa: PT011 - by number
            list(extents(told_nothing.fileno()))
        assert told.value.errno in NOT_OFFERED
    else:
        with file.open("rb") as opened_file:
            with pytest.raises(OSError, match="on Linux only"):
                share(opened_file.fileno(), opened_file.fileno(), 1)
            assert not clone_into_new(opened_file.fileno(), 0, b"b")
            with pytest.raises(OSError):  # noqa: PT011 - in the system's words
                exclusive_bytes([opened_file.fileno()])
        assert "on Linux only" in str(can_share(os.fsencode(tmp_path)))
