"""What lies under a path: a pseudo, distant or local file system, a rotating disk or none.  Opens no user's file.

Tells facts only; what follows from them for reading is `reading`'s to say.
"""

from __future__ import annotations

import functools
import os
import re
import stat
import sys
from collections.abc import Iterator
from typing import NamedTuple

from dedupe.storage import windows

_PSEUDO_PATHS = frozenset() if sys.platform == "win32" else frozenset({b"/proc", b"/sys", b"/dev"})
_PSEUDO_KINDS = frozenset(
    b"autofs binfmt_misc bpf cgroup cgroup2 configfs debugfs devpts devtmpfs efivarfs fusectl fuse.gvfsd-fuse "
    b"hugetlbfs mqueue nsfs proc pstore rpc_pipefs securityfs selinuxfs smackfs sysfs tracefs".split()
)
# A map over one of these can kill its reader when the server goes away, and may show stale pages.
_NETWORK_KINDS = frozenset(
    b"9p afs afpfs beegfs ceph cifs coda davfs glusterfs gfs2 lustre ncpfs nfs nfs4 ocfs2 orangefs pvfs2 smb2 smb3 "
    b"smbfs vboxsf virtiofs vmhgfs webdav".split()
)
# As SCSI and ATA disks name themselves in /sys/block/*/device: they are files or volumes of a host.
_VIRTUAL_MAKERS = ("QEMU", "VMware", "VBOX", "Virtual", "Google")
_SYS = "/sys"


class _Mount(NamedTuple):
    kind: bytes  # of file system
    source: bytes  # what is mounted: a block device's path, a server's name, or a mere word


@functools.cache
def _table() -> dict[bytes, _Mount]:
    """Return what is mounted, by mount point, from Linux's mountinfo (man 5 proc); elsewhere empty."""
    try:
        with open("/proc/self/mountinfo", "rb") as lines:
            rows = [line.split(b" ") for line in lines]
    except OSError:
        return {}
    table = {}
    for row in rows:
        kind, source = row[row.index(b"-") + 1 :][:2]
        table[_unescaped(row[4])] = _Mount(kind, _unescaped(source))
    return table


def _unescaped(name: bytes) -> bytes:
    return re.sub(rb"\\([0-7]{3})", lambda octal: bytes([int(octal[1], 8)]), name)


def forget() -> None:
    """Look anew from now on: file systems come and go between the scans of one process."""
    for remembered in (_table, may_map, rotates):
        remembered.cache_clear()


def pseudo() -> frozenset[bytes]:
    """Return the folders where a pseudo file system begins: their files are not data."""
    return _PSEUDO_PATHS | {point for point, mount in _table().items() if mount.kind in _PSEUDO_KINDS}


def _mount_of(path: bytes) -> _Mount | None:
    """Return what an absolute path lies on, or None where the system does not say."""
    table, point = _table(), os.path.realpath(path)
    while point not in table:
        above = os.path.dirname(point)
        if above == point:
            return None
        point = above
    return table[point]


if sys.platform == "win32":

    @functools.cache
    def may_map(folder: bytes) -> bool:
        """Return whether files of a folder may be memory-mapped: on fixed local drives only."""
        return windows.drive_kind(folder) == "fixed"

    def is_network(folder: bytes) -> bool:
        """Return whether each read of a folder's files may wait for a server."""
        return windows.drive_kind(folder) == "remote"

    @functools.cache
    def rotates(device: int, folder: bytes) -> bool:  # noqa: ARG001
        """Return whether files lie on a rotating disk; here nobody knows."""
        return False

else:

    @functools.cache
    def may_map(folder: bytes) -> bool:
        """Return whether files of a folder may be memory-mapped: local file systems only, never network or FUSE."""
        mount = _mount_of(folder)
        if mount is None:
            return sys.platform == "darwin" and not folder.startswith((b"/Volumes/", b"/Network/"))
        return mount.kind not in _NETWORK_KINDS and not mount.kind.startswith(b"fuse")

    def is_network(folder: bytes) -> bool:
        """Return whether each read of a folder's files may wait for a server, or for the program behind FUSE.

        Not so for `fuseblk`: its program waits for a disk of its own, which tells itself whether it rotates.
        """
        mount = _mount_of(folder)
        return mount is not None and mount.kind != b"fuseblk" and not may_map(folder)

    @functools.cache
    def rotates(device: int, folder: bytes) -> bool:
        """Return whether files lie on a rotating disk, where two readers at once only make the head travel.

        Args:
            device: the number that the files' status has.
            folder: where one of them lies; asked where the number is the file system's own, as on btrfs.
        """
        disk = _disk_of(device, folder)
        return disk is not None and _block_rotates(os.major(disk), os.minor(disk))

    def _disk_of(device: int, folder: bytes) -> int | None:
        """Return the number of the block device below a file system, None where there is none.

        Of a file system on several devices, the one that it was mounted by stands for all.
        """
        if os.major(device):
            return device
        mount = _mount_of(folder)
        if mount is None or not mount.source.startswith(b"/"):
            return None
        try:
            seen = os.stat(mount.source)
        except OSError:
            return None
        return seen.st_rdev if stat.S_ISBLK(seen.st_mode) else None

    def _block_rotates(major: int, minor: int) -> bool:
        """Return whether a block device says that it rotates, and what it lies on does not say otherwise.

        https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-block.  Virtual disks say that they rotate whatever
        lies below them (virtio's default), so they are not asked; nor are those believed that merely pass this on:
        mapped and RAID devices, and loop devices, which say what the disk of their file says.
        """
        disk = os.path.realpath(f"{_SYS}/dev/block/{major}:{minor}")
        if os.path.exists(f"{disk}/partition"):
            disk = os.path.dirname(disk)
        if _word(f"{disk}/queue/rotational") != "1" or _is_virtual(disk):
            return False
        below = list(_below(disk))
        return not below or any(_block_rotates(*each) for each in below)

    def _is_virtual(disk: str) -> bool:
        maker = f"{_word(f'{disk}/device/vendor')} {_word(f'{disk}/device/model')}"
        return os.path.basename(disk).startswith(("vd", "xvd")) or any(name in maker for name in _VIRTUAL_MAKERS)

    def _below(disk: str) -> Iterator[tuple[int, int]]:
        """Yield the numbers of the block devices that a device lies on, as far as they are known."""
        slaves = f"{disk}/slaves"
        for slave in os.listdir(slaves) if os.path.isdir(slaves) else ():
            major, _, minor = _word(f"{slaves}/{slave}/dev").partition(":")
            if minor:
                yield int(major), int(minor)
        file = _word(f"{disk}/loop/backing_file")
        try:
            number = _disk_of(os.stat(file).st_dev, os.fsencode(os.path.dirname(file))) if file else None
        except OSError:  # it has been deleted, or lies in another name space
            return
        if number is not None:
            yield os.major(number), os.minor(number)

    def _word(path: str) -> str:
        """Return what a file of sysfs says, nothing where there is no such file."""
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as answer:
                return answer.read().strip()
        except OSError:
            return ""
