"""What Linux's file systems say of themselves when asked through an open folder.  Changes nothing, needs no privilege.

Numbers and layouts are those of linux/fs.h, linux/btrfs.h, fs/ext4/ext4.h and fs/xfs/libxfs/xfs_fs.h.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys

assert sys.platform == "linux"

_GET_UUID = 0x8011_1500  # FS_IOC_GETFSUUID, Linux 6.9: one byte of length, 16 of UUID or serial number
_GET_LABEL = 0x8100_9431  # FS_IOC_GETFSLABEL
_EXT4_GET_UUID = 0x8008_662C  # EXT4_IOC_GETFSUUID, Linux 6.0: 32 bits of length, 32 of flags, 16 bytes of UUID
_XFS_GEOMETRY = 0x8070_5864  # XFS_IOC_FSGEOMETRY_V1: the UUID follows 64 bytes of sizes
_BTRFS_INFO = 0x8400_941F  # BTRFS_IOC_FS_INFO
_BTRFS_LOOK_UP = 0xD000_9412  # BTRFS_IOC_INO_LOOKUP
_BTRFS_METADATA_UUID = 4  # BTRFS_FS_INFO_FLAG_METADATA_UUID
_BTRFS_ROOT = 256  # BTRFS_FIRST_FREE_OBJECTID: the inode number of the root of every subvolume
_EXT = frozenset({"ext2", "ext3", "ext4"})


def open_folder(path: bytes) -> int:
    """Open a folder to ask about its file system.

    Raises:
        OSError: it cannot be opened.
    """
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK | os.O_CLOEXEC)


def uuid(folder: int, kind: str) -> bytes:
    """Return the 16 bytes of a UUID, or the 4 or 8 of a serial number in this machine's byte order; nothing if unknown.

    A file system's own call comes first: the general one tells what was true when it was mounted.
    """
    own = b""
    if kind in _EXT:
        own = _ask(folder, _EXT4_GET_UUID, 24, struct.pack("=II", 16, 0))[8:]
    elif kind == "xfs":
        own = _ask(folder, _XFS_GEOMETRY, 112)[64:80]
    elif kind == "btrfs":
        own = _btrfs_uuid(folder)
    if any(own):
        return own
    answer = _ask(folder, _GET_UUID, 17)
    found = answer[1 : 1 + answer[0]] if answer else b""
    return found if any(found) else b""


def label(folder: int) -> str:
    """Return the label of a file system; nothing where it has none or does not tell."""
    return _ask(folder, _GET_LABEL, 256).partition(b"\0")[0].decode(errors="replace")


def subvolume(folder: int) -> int:
    """Return the number of the subvolume of btrfs that a folder lies in; 0 where it is not told."""
    answer = _ask(folder, _BTRFS_LOOK_UP, 4096, struct.pack("=QQ", 0, _BTRFS_ROOT))
    number: int = struct.unpack_from("=Q", answer)[0] if answer else 0
    return number


def is_subvolume_root(path: bytes) -> bool:
    """Return whether a folder of btrfs is the root of a subvolume.

    Raises:
        OSError: it is not there.
    """
    return os.stat(path).st_ino == _BTRFS_ROOT


def _btrfs_uuid(folder: int) -> bytes:
    """Return the UUID of a btrfs, as its disk has it.

    Of clones that are mounted at once, all but the first have another one for the time being (Linux 6.7); the disk's
    is then that of the metadata.
    """
    answer = _ask(folder, _BTRFS_INFO, 1024, bytes(48) + struct.pack("=Q", _BTRFS_METADATA_UUID))
    if not answer:
        return b""
    shown = answer[16:32]
    name = shown.hex()
    name = "-".join((name[:8], name[8:12], name[12:16], name[16:20], name[20:]))
    try:
        with open(f"/sys/fs/btrfs/{name}/temp_fsid", "rb") as temporary:
            return answer[64:80] if temporary.read(1) == b"1" else shown
    except OSError:  # an older kernel
        return shown


def _ask(folder: int, request: int, size: int, question: bytes = b"") -> bytes:
    answer = bytearray(question.ljust(size, b"\0"))
    try:
        fcntl.ioctl(folder, request, answer)
    except OSError:
        return b""
    return bytes(answer)
