"""What Linux tells of block devices through /sys and udev: whether they rotate, what they lie on, how they are called.

Opens no device, and no file on one.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator

from dedupe.storage import mountinfo

assert sys.platform != "win32"  # there nobody asks

_SYS = "/sys"
_UDEV = "/run/udev/data"
_LINKS = "/dev/disk"
# As SCSI and ATA disks name themselves in /sys/block/*/device: they are files or volumes of a host.
_VIRTUAL_MAKERS = ("QEMU", "VMware", "VBOX", "Virtual", "Google")
_SECTOR = 512  # the unit of /sys, whatever the disk's own is


def number_of(path: bytes) -> int | None:
    """Return the number of the block device that a path names, None if it names none."""
    try:
        seen = os.stat(path) if path.startswith(b"/") else None
    except OSError:
        return None
    return seen.st_rdev if seen and stat.S_ISBLK(seen.st_mode) else None


def below(device: int, folder: bytes) -> int | None:
    """Return the number of the block device that a file system lies on, None where there is none.

    Of a file system on several devices, the one that it was mounted by stands for all.

    Args:
        device: the file system's number; not a block device's, where it has made it up, as btrfs does.
        folder: any of the file system's.
    """
    if os.major(device):
        return device
    entry = mountinfo.table().find(os.path.realpath(folder))
    return number_of(entry.source) if entry else None


def backing_file(device: int) -> tuple[str, int] | None:
    """Return the file that a loop device shows, and from which byte on; None for all other devices.

    For a partition too.  A file that was deleted since has a name that nothing has.
    """
    folder = _folder(device)
    start = 0
    if os.path.exists(f"{folder}/partition"):
        start = int(word(f"{folder}/start") or 0) * _SECTOR
        folder = os.path.dirname(folder)
    file = word(f"{folder}/loop/backing_file")
    return (file, start + int(word(f"{folder}/loop/offset") or 0)) if file else None


def name(device: int) -> str:
    """Return what the kernel calls a block device, such as `sda1`."""
    return os.path.basename(_folder(device))


def parts(device: int) -> list[int]:
    """Return the numbers of the block devices that a mapped or RAID device is made of; none of all others."""
    return list(_slaves(_folder(device)))


def rotating_disks(device: int) -> frozenset[str]:
    """Return the disks under a block device by the kernel's names, if it says that it rotates, and they do too.

    https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-block.  Virtual disks say that they rotate whatever lies
    below them (virtio's default), so they are not asked; nor are those believed that merely pass this on: mapped and
    RAID devices, and loop devices, which say what the disk of their file says.
    """
    disk = _folder(device)
    if os.path.exists(f"{disk}/partition"):
        disk = os.path.dirname(disk)
    if word(f"{disk}/queue/rotational") != "1" or _is_virtual(disk):
        return frozenset()
    others = list(_others(disk))
    return frozenset[str]().union(*map(rotating_disks, others)) if others else frozenset({os.path.basename(disk)})


def udev_properties(device: int) -> dict[str, str]:
    """Return what udev found on a block device by its own names: ID_FS_UUID, ID_FS_LABEL, ID_FS_TYPE."""
    try:
        with open(f"{_UDEV}/b{os.major(device)}:{os.minor(device)}", encoding="utf-8", errors="replace") as file:
            lines = [line[2:].rstrip("\n").partition("=") for line in file if line.startswith("E:ID_FS_")]
        return {key: value for key, _, value in lines}
    except OSError:
        return {}


def linked_name(kind: str, device: int) -> str:
    """Return the name of a block device among the links of `kind` (by-uuid, by-label), nothing where it has none."""
    folder = os.path.join(_LINKS, kind)
    try:
        for name in os.listdir(folder):
            if number_of(os.fsencode(os.path.join(folder, name))) == device:
                return re.sub(r"\\x([0-9a-f]{2})", lambda code: chr(int(code[1], 16)), name)
    except OSError:
        pass
    return ""


def word(path: str) -> str:
    """Return what a file of sysfs says, nothing where there is no such file."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as answer:
            return answer.read().strip()
    except OSError:
        return ""


def _folder(device: int) -> str:
    return os.path.realpath(f"{_SYS}/dev/block/{os.major(device)}:{os.minor(device)}")


def _is_virtual(disk: str) -> bool:
    maker = f"{word(f'{disk}/device/vendor')} {word(f'{disk}/device/model')}"
    return os.path.basename(disk).startswith(("vd", "xvd")) or any(name in maker for name in _VIRTUAL_MAKERS)


def _others(disk: str) -> Iterator[int]:
    """Yield the numbers of the block devices that a device lies on, as far as they are known."""
    yield from _slaves(disk)
    file = word(f"{disk}/loop/backing_file")
    try:
        number = below(os.stat(file).st_dev, os.fsencode(os.path.dirname(file))) if file else None
    except OSError:  # it has been deleted, or lies in another name space
        return
    if number is not None:
        yield number


def _slaves(disk: str) -> Iterator[int]:
    """Yield the numbers of the block devices that a mapped or RAID device is made of."""
    slaves = f"{disk}/slaves"
    for slave in os.listdir(slaves) if os.path.isdir(slaves) else ():
        major, _, minor = word(f"{slaves}/{slave}/dev").partition(":")
        if minor:
            yield os.makedev(int(major), int(minor))
