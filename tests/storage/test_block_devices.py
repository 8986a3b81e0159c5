"""What Linux tells of block devices: which claims to rotate are believed, what udev calls them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.conftest import write

if sys.platform == "win32":
    pytest.skip("only Linux has /sys", allow_module_level=True)

from dedupe.storage import block_devices


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
    monkeypatch.setattr(block_devices, "_SYS", str(tmp_path))
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
    found = {number for number in numbers if block_devices.rotating_disks(os.makedev(*number))}
    assert found == {(8, 0), (8, 1), (253, 0), (9, 0), (7, 0)}


def test_a_loop_device_tells_its_file_and_where_it_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of a loop device is told with the byte that the device begins at, also for its partitions."""
    monkeypatch.setattr(block_devices, "_SYS", str(tmp_path))
    loop = block(tmp_path, "7:3", "loop3", 0, loop__backing_file="/images/a b", loop__offset="1048576")
    write(loop / "loop3p1/partition", b"1\n")
    write(loop / "loop3p1/start", b"2048\n")
    (tmp_path / "dev/block/259:7").symlink_to(loop / "loop3p1")
    block(tmp_path, "8:0", "sda", 1)
    assert block_devices.backing_file(os.makedev(7, 3)) == ("/images/a b", 1 << 20)
    assert block_devices.backing_file(os.makedev(259, 7)) == ("/images/a b", (1 << 20) + 2048 * 512)
    assert block_devices.backing_file(os.makedev(8, 0)) is None
    assert block_devices.backing_file(os.makedev(8, 99)) is None


def test_names_that_udev_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """UUID and label are what udev wrote down for a device, and the links that it made to it."""
    monkeypatch.setattr(block_devices, "_UDEV", str(tmp_path))
    monkeypatch.setattr(block_devices, "_LINKS", str(tmp_path / "disk"))
    write(tmp_path / "b8:17", b"S:disk/by-id/x\nE:ID_FS_UUID=1234-ABCD\nE:ID_FS_LABEL=a=b\nE:ID_BUS=usb\nG:systemd\n")
    assert block_devices.udev_properties(os.makedev(8, 17)) == {"ID_FS_UUID": "1234-ABCD", "ID_FS_LABEL": "a=b"}
    assert block_devices.udev_properties(os.makedev(8, 18)) == {}
    assert block_devices.linked_name("by-label", os.makedev(8, 17)) == ""
    labels = tmp_path / "disk/by-label"
    labels.mkdir(parents=True)
    (labels / "gone").symlink_to("/dev/no such disk")
    (labels / "no\\x20disk").symlink_to("/dev/null")
    (labels / "my\\x20disk").symlink_to("/dev/some")
    monkeypatch.setattr(block_devices, "number_of", lambda link: {b"d": 1, b"m": 2}.get(os.path.basename(link)[:1]))
    assert block_devices.linked_name("by-label", 2) == "my disk"
    assert block_devices.linked_name("by-label", 3) == ""
