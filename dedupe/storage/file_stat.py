"""What the system says of a file: the one call whose answer identifies a file and dates its content.

Both sides of every comparison come from here, so that they come from the same kind of call; and so does the opening and
reading of files, which differs between systems.  Compares and keeps nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

if sys.platform == "win32":
    from dedupe.storage import windows


class FileStat(NamedTuple):
    """Identity and date of a file's content; equal means that nothing is known to have changed."""

    size: int  # bytes
    modified_ns: int
    changed_ns: int  # of content or metadata: POSIX ctime, Windows ChangeTime
    device: int
    inode: int


def of_stat(s: os.stat_result) -> FileStat:
    """Return the status that a POSIX stat tells."""
    return tuple.__new__(FileStat, (s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_dev, s.st_ino))  # half the time


if sys.platform == "win32":

    def columns(files: Sequence[os.DirEntry[bytes] | bytes], *, follow: bool) -> Sequence[Sequence[int]]:
        """Return the statuses of listed or named files, a column a field: by handles, as a listing may be old news."""
        found = [of_path(f if isinstance(f, bytes) else f.path, follow=follow) for f in files]
        return list(zip(*found, strict=True)) if found else [()] * len(FileStat._fields)

    def of_path(path: bytes, *, follow: bool = False) -> FileStat:
        """Return the status of a file by its name; with `follow`, of what a link leads to."""
        found = windows.status(path, follow=follow)
        return FileStat(found.size, found.modified_ns, found.changed_ns, found.device, found.inode)

    def of_descriptor(descriptor: int) -> FileStat:
        """Return the status of an open file."""
        found = windows.status_of(descriptor)
        return FileStat(found.size, found.modified_ns, found.changed_ns, found.device, found.inode)

    def open_file(path: bytes, *, follow: bool = False) -> int:
        """Open a file for reading; a link only with `follow`.  Other programs may still rename or delete it."""
        return windows.open_for_reading(path, follow=follow)

    def read_at(descriptor: int, length: int, offset: int) -> bytes:
        """Read bytes at a place of an open file."""
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, length)

    def content(path: bytes, length: int, *, follow: bool) -> bytes:
        """Return the first `length` bytes of a file, fewer only where it ends before."""
        descriptor = open_file(path, follow=follow)
        try:
            return os.read(descriptor, length)
        finally:
            os.close(descriptor)

    def content_and_status(path: bytes, length: int, *, follow: bool) -> tuple[bytes, tuple[int, ...]]:
        """Return the same, and the status that the file had after it was read."""
        descriptor = open_file(path, follow=follow)
        try:
            return os.read(descriptor, length), of_descriptor(descriptor)
        finally:
            os.close(descriptor)

else:

    def columns(files: Sequence[os.DirEntry[bytes] | bytes], *, follow: bool) -> Sequence[Sequence[int]]:
        """Return the statuses of listed or named files, a column a field: no object is kept for each of a million."""
        found = [
            (os.stat(f, follow_symlinks=follow) if isinstance(f, bytes) else f.stat(follow_symlinks=follow))
            for f in files
        ]
        return (
            [s.st_size for s in found],
            [s.st_mtime_ns for s in found],
            [s.st_ctime_ns for s in found],
            [s.st_dev for s in found],
            [s.st_ino for s in found],
        )

    # O_NONBLOCK: a FIFO that took the file's place must not hang us.  O_NOCTTY: nor a terminal become ours.
    _FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    _UNFOLLOWED = _FLAGS | os.O_NOFOLLOW

    def of_path(path: bytes, *, follow: bool = False) -> FileStat:
        """Return the status of a file by its name; with `follow`, of what a link leads to."""
        return of_stat(os.stat(path, follow_symlinks=follow))

    def of_descriptor(descriptor: int) -> FileStat:
        """Return the status of an open file."""
        return of_stat(os.fstat(descriptor))

    def open_file(path: bytes, *, follow: bool = False) -> int:
        """Open a file for reading; a link only with `follow`.  The caller checks that it is the file it expects."""
        return os.open(path, _FLAGS if follow else _UNFOLLOWED)

    def read_at(descriptor: int, length: int, offset: int) -> bytes:
        """Read bytes at a place of an open file; fewer only where the file ends.

        Reading by position fails on a pipe that took the file's place, whose data a plain read would steal.
        """
        data = os.pread(descriptor, length, offset)
        while data and len(data) < length:  # some FUSE file systems return less than there is
            more = os.pread(descriptor, length - len(data), offset + len(data))
            if not more:
                break
            data += more
        return data

    def content(path: bytes, length: int, *, follow: bool) -> bytes:
        """Return the first `length` bytes of a file, fewer only where it ends before."""
        descriptor = os.open(path, _FLAGS if follow else _UNFOLLOWED)
        try:
            data = os.pread(descriptor, length, 0)
            return data if len(data) == length else read_at(descriptor, length, 0)
        finally:
            os.close(descriptor)

    def content_and_status(path: bytes, length: int, *, follow: bool) -> tuple[bytes, tuple[int, ...]]:
        """Return the same, and the status that the file had after it was read."""
        descriptor = os.open(path, _FLAGS if follow else _UNFOLLOWED)
        try:
            data = os.pread(descriptor, length, 0)
            if len(data) < length:
                data = read_at(descriptor, length, 0)
            s = os.fstat(descriptor)
            return data, (s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_dev, s.st_ino)
        finally:
            os.close(descriptor)
