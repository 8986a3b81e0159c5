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
from tests.disks import KINDS, disk, memory, run

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


def block(sys_folder: Path, number: str, name: str, rotational: int, **words: str) -> Path:
    """Add a block device to a folder that looks like /sys, with further files by their paths, `__` for a slash."""
    folder = sys_folder / "devices" / name
    for place, word in {"dev": number, "queue__rotational": str(rotational), **words}.items():
        write(folder / place.replace("__", "/"), f"{word}\n".encode())
    (folder / "slaves").mkdir()
    link = sys_folder / "dev/block" / number
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(folder)
    return folder


def test_which_claims_to_rotate_are_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk is believed, its partitions share its head, virtual disks are not believed, nor is what lies on them only.

    Not every machine can map devices or has such disks: this tree has the form of Linux's /sys.
    """
    monkeypatch.setattr(mounts, "_SYS", str(tmp_path))
    disk = block(tmp_path, "8:0", "sda", 1, device__vendor="ATA", device__model="WDC WD40EFRX-68N")
    write(disk / "sda1/partition", b"1\n")
    write(disk / "sda1/dev", b"8:1\n")
    (tmp_path / "dev/block/8:1").symlink_to(disk / "sda1")
    flash = block(tmp_path, "259:0", "nvme0n1", 0)
    virtual = block(tmp_path, "254:0", "vda", 1)
    block(tmp_path, "202:0", "xvda", 1)
    block(tmp_path, "8:16", "sdb", 1, device__vendor="ATA", device__model="QEMU HARDDISK")
    block(tmp_path, "8:32", "sdc", 1, device__vendor="Msft", device__model="Virtual Disk")
    on_disk = block(tmp_path, "253:0", "dm-0", 1)
    (on_disk / "slaves/sda1").symlink_to(disk / "sda1")
    on_virtual = block(tmp_path, "253:1", "dm-1", 1)
    (on_virtual / "slaves/vda").symlink_to(virtual)
    twice = block(tmp_path, "253:2", "dm-2", 1)
    (twice / "slaves/dm-1").symlink_to(on_virtual)
    raid = block(tmp_path, "9:0", "md0", 1)
    (raid / "slaves/nvme0n1").symlink_to(flash)
    (raid / "slaves/dm-0").symlink_to(on_disk)
    block(tmp_path, "7:0", "loop0", 1, loop__backing_file="/has/been (deleted)")
    numbers = (
        *((8, 0), (8, 1), (259, 0), (254, 0), (202, 0), (8, 16), (8, 32)),
        *((253, 0), (253, 1), (253, 2), (9, 0), (7, 0), (8, 99)),
    )
    found = {number for number in numbers if mounts.rotates(os.makedev(*number), b"/")}
    assert found == {(8, 0), (8, 1), (253, 0), (9, 0), (7, 0)}


def test_a_mount_point_may_have_any_name(tmp_path: Path) -> None:
    """Spaces, line ends, backslashes and the like in a mount point's name hide nothing."""
    with memory(tmp_path / "a b\t\n\\040\x0b\x0c\r#é") as odd:
        mounts.forget()
        assert mounts._table()[os.fsencode(odd)].kind == b"tmpfs"
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
        run("umount", point)
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
    monkeypatch.setattr(mounts, "_mount_of", lambda _: mounts._Mount(kind.encode(), b"source"))
    assert (mounts.is_network(b"/f"), mounts.may_map(b"/f")) == (is_network, may_map)
