"""What lies under a path: disks that rotate and those that only say so, servers, odd mount points."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dedupe.storage import mounts
from tests.cases.common import need_root
from tests.conftest import need, write
from tests.disks import KINDS, disk, memory, run, unmount

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what lies under a path")


@pytest.fixture(autouse=True)
def look_anew() -> Iterator[None]:
    """Keep what other tests mounted out of this one, and this one's mounts out of theirs."""
    mounts.forget()
    yield
    mounts.forget()


def rotates(path: Path) -> bool:
    """Return whether a file lies on a rotating disk."""
    mounts.forget()
    return mounts.rotates(os.stat(path).st_dev, os.fsencode(path.parent))


@pytest.mark.parametrize("kind", KINDS)
def test_a_disk_is_believed_for_every_file_system(tmp_path: Path, kind: str) -> None:
    """What the kernel says of a disk holds for its files, also where they have device numbers of their own (btrfs)."""
    with memory(tmp_path / "memory") as top, disk(top / "image", tmp_path / "disk", kind) as made:
        file = write(made.folder / "sub/file", b"x")
        for yes in (True, False):
            made.rotate(yes)
            assert rotates(file) is yes
        if kind == "btrfs":
            made.rotate(yes=True)
            run("btrfs", "subvolume", "create", made.folder / "volume")
            inner = write(made.folder / "volume/file", b"x")
            assert os.stat(inner).st_dev != os.stat(file).st_dev
            assert rotates(inner)


def test_a_loop_device_rotates_only_if_the_disk_of_its_file_does(tmp_path: Path) -> None:
    """Newer kernels have a loop device say what its file's disk says: a virtual disk's claim must not get through."""
    with (
        memory(tmp_path / "memory") as top,
        disk(top / "image", tmp_path / "outer") as outer,
        disk(outer.folder / "image", tmp_path / "inner") as inner,
    ):
        file = write(inner.folder / "file", b"x")
        for below in (True, False):
            for own in (True, False):
                outer.rotate(below)
                inner.rotate(own)
                assert rotates(file) is (below and own)


def test_memory_does_not_rotate(tmp_path: Path) -> None:
    """A file system that lies on no device has no head."""
    with memory(tmp_path / "memory") as top:
        assert not rotates(write(top / "file", b"x"))


def test_a_mount_point_may_have_any_name(tmp_path: Path) -> None:
    """Spaces, line ends, backslashes and the like in a mount point's name hide nothing."""
    with memory(tmp_path / "a b\t\n\\040\x0b\x0c\r#é") as odd:
        mounts.forget()
        assert mounts.file_system(os.fsencode(odd)) == b"tmpfs"
        assert mounts.may_map(os.fsencode(odd / "sub"))


def test_fuse_is_network_and_never_mapped(tmp_path: Path) -> None:
    """Nobody knows what FUSE's program waits for; one that has died is told all the same."""
    need_root()
    need(os.path.exists("/dev/fuse"), "FUSE in the kernel")
    point = tmp_path / "fuse"
    point.mkdir()
    descriptor = os.open("/dev/fuse", os.O_RDWR)
    try:
        options = f"fd={descriptor},rootmode=40000,user_id=0,group_id=0"
        command = ["mount", "-i", "-t", "fuse.some", "-o", options, "some", str(point)]
        subprocess.run(command, pass_fds=[descriptor], check=True)
    finally:
        os.close(descriptor)
    try:
        mounts.forget()
        assert mounts.is_network(os.fsencode(point))
        assert not mounts.may_map(os.fsencode(point))
    finally:
        unmount(point)
    mounts.forget()
    assert not mounts.is_network(os.fsencode(point))


@pytest.mark.parametrize(
    ("kind", "is_network", "may_map"),
    [
        ("ext4", False, True),
        ("tmpfs", False, True),
        ("nfs4", True, False),
        ("cifs", True, False),
        ("9p", True, False),
        ("fuse.sshfs", True, False),
        ("fuseblk", False, False),
    ],
)
def test_which_file_systems_are_of_the_network(
    kind: str,
    is_network: bool,  # noqa: FBT001
    may_map: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of a server or of FUSE wait; what FUSE has on a block device of its own waits for that alone."""
    monkeypatch.setattr(mounts, "file_system", lambda _: kind.encode())
    assert (mounts.is_network(b"/f"), mounts.may_map(b"/f")) == (is_network, may_map)
