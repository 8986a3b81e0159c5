"""Inode flags (chattr's) and extended attributes of an open file, as Linux gives them.  Elsewhere nobody asks."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
from contextlib import suppress

assert sys.platform == "linux"

_INT = struct.Struct("=i")  # what is passed, whatever size the request's number speaks of
_LONG = struct.calcsize("l")
_COPIES = frozenset({"trusted.SGI_ACL_FILE", "trusted.SGI_ACL_DEFAULT"})  # how XFS keeps the access lists: seen by root
_LAST = 0x10 | 0x20  # FS_IMMUTABLE_FL, FS_APPEND_FL: with them no other flag can be set
_NOT_OFFERED = frozenset({errno.ENOTTY, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})


def request(letter: int, number: int, size: int, *, reads: bool, machine: str) -> int:
    """Return the number of an ioctl that reads from the kernel or writes to it, as asm/ioctl.h of a machine makes it.

    Args:
        letter: the kind of ioctl.
        number: within its kind.
        size: bytes of what is passed.
        reads: from the kernel's side to ours.
        machine: as `os.uname` names it.
    """
    if machine.startswith(("ppc", "mips", "sparc", "alpha")):
        direction = 2 << 29 if reads else 4 << 29
    else:
        direction = 2 << 30 if reads else 1 << 30
    return direction | size << 16 | letter << 8 | number


_MACHINE = os.uname().machine
_GET = request(ord("f"), 1, _LONG, reads=True, machine=_MACHINE)  # FS_IOC_GETFLAGS
_PUT = request(ord("f"), 2, _LONG, reads=False, machine=_MACHINE)  # FS_IOC_SETFLAGS

_SUBVOLUME = request(0x94, 25, 8, reads=True, machine=_MACHINE)  # BTRFS_IOC_SUBVOL_GETFLAGS
_READ_ONLY = 2  # BTRFS_SUBVOL_RDONLY
_INFO = request(0x94, 60, 504, reads=True, machine=_MACHINE)  # BTRFS_IOC_GET_SUBVOL_INFO, Linux 4.18
_PARENT = slice(312, 328)  # of what it answers: the UUID of the subvolume that this one was a snapshot of


def is_read_only_subvolume(folder: bytes) -> bool:
    """Return whether a folder of btrfs lies in a subvolume that is read-only, as most snapshots are.

    Raises:
        OSError: it cannot be opened, or is none of btrfs.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        answer = bytearray(8)
        fcntl.ioctl(descriptor, _SUBVOLUME, answer)
        return bool(int.from_bytes(answer, sys.byteorder) & _READ_ONLY)
    except OSError as error:
        if error.errno in _NOT_OFFERED:
            return bool(os.fstatvfs(descriptor).f_flag & os.ST_RDONLY)
        raise
    finally:
        os.close(descriptor)


def is_snapshot_subvolume(folder: bytes) -> bool:
    """Return whether a folder of btrfs lies in a subvolume that was made as a snapshot, which may be written to.

    Raises:
        OSError: it cannot be opened, or does not tell.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        answer = bytearray(504)
        fcntl.ioctl(descriptor, _INFO, answer)
        return any(answer[_PARENT])
    finally:
        os.close(descriptor)


def get(descriptor: int) -> int:
    """Return the flags of an open file.

    Raises:
        OSError: its file system has none, or does not tell.
    """
    answer = bytearray(8)
    fcntl.ioctl(descriptor, _GET, answer)
    flags: int = _INT.unpack_from(answer)[0]
    return flags & 0xFFFF_FFFF


def put(descriptor: int, flags: int, mask: int) -> None:
    """Give an open file flags, each that it takes: which those are is for the caller to look at.

    Args:
        descriptor: of the file.
        flags: wanted.
        mask: the flags that are meant; all others stay.
    """
    with suppress(OSError):
        missing = (get(descriptor) ^ flags) & mask
        bits = [1 << n for n in range(32) if missing >> n & 1]
        for bit in sorted(bits, key=lambda bit: bit & _LAST):
            with suppress(OSError):
                fcntl.ioctl(descriptor, _PUT, struct.pack("=I4x", get(descriptor) ^ bit))


def of_open(descriptor: int) -> int:
    """Return the flags of an open file; 0 where its file system has none.

    Raises:
        OSError: it has some, but they cannot be read.
    """
    try:
        return get(descriptor)
    except OSError as error:
        if error.errno not in _NOT_OFFERED:
            raise
        return 0


def xattrs(descriptor: int) -> dict[str, bytes]:
    """Return the extended attributes of an open file that this user may see; empty where its file system has none.

    Raises:
        OSError: it has some, but they cannot be read.
    """
    found = {}
    try:
        names = os.listxattr(descriptor)
    except OSError as error:
        if error.errno not in _NOT_OFFERED:
            raise
        names = []
    for name in set(names) - _COPIES:
        try:
            found[name] = os.getxattr(descriptor, name)
        except OSError as error:
            if error.errno != errno.ENODATA:  # gone meanwhile
                raise
    return found
