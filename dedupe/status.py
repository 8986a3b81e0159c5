"""What the system says of a file: the one call whose answer identifies a file and dates its content.

Both sides of every comparison come from here, so that they come from the same kind of call.  Never opens a file's
content.
"""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

if sys.platform == "win32":
    from dedupe import windows


class Status(NamedTuple):
    """Identity and date of a file's content; equal means that nothing is known to have changed."""

    size: int  # bytes
    modified_ns: int
    changed_ns: int  # of content or metadata: POSIX ctime, Windows ChangeTime
    device: int
    inode: int


def of_stat(s: os.stat_result) -> Status:
    """Return the status that a POSIX stat tells."""
    return tuple.__new__(Status, (s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_dev, s.st_ino))  # half the time


if sys.platform == "win32":

    def of_entry(entry: os.DirEntry[bytes], *, follow: bool) -> tuple[int, ...]:
        """Return the status of a directory entry, as a plain tuple: from a handle, as the listing may be old news."""
        return tuple(of_path(entry.path, follow=follow))

    def of_path(path: bytes, *, follow: bool = False) -> Status:
        """Return the status of a file by its name; with `follow`, of what a link leads to."""
        found = windows.status(path, follow=follow)
        return Status(found.size, found.modified_ns, found.changed_ns, found.device, found.inode)

    def of_descriptor(descriptor: int) -> Status:
        """Return the status of an open file."""
        found = windows.status_of(descriptor)
        return Status(found.size, found.modified_ns, found.changed_ns, found.device, found.inode)

    def open_file(path: bytes, *, follow: bool = False) -> int:  # noqa: ARG001 - names are followed by the walk alone
        """Open a regular file for reading in a way that keeps no other program from renaming or deleting it."""
        return windows.open_for_reading(path)

    def read_at(descriptor: int, length: int, offset: int) -> bytes:
        """Read bytes at a place of an open file."""
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, length)

else:

    def of_entry(entry: os.DirEntry[bytes], *, follow: bool) -> tuple[int, ...]:
        """Return the status of a directory entry, as a plain tuple: a million of them are made."""
        s = entry.stat(follow_symlinks=follow)
        return s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_dev, s.st_ino

    # O_NONBLOCK: a FIFO that took the file's place must not hang us.  O_NOCTTY: nor a terminal become ours.
    _FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

    def of_path(path: bytes, *, follow: bool = False) -> Status:
        """Return the status of a file by its name; with `follow`, of what a link leads to."""
        return of_stat(os.stat(path, follow_symlinks=follow))

    def of_descriptor(descriptor: int) -> Status:
        """Return the status of an open file."""
        return of_stat(os.fstat(descriptor))

    def open_file(path: bytes, *, follow: bool = False) -> int:
        """Open a file for reading; a link only with `follow`.  The caller checks that it is the file it expects."""
        return os.open(path, _FLAGS if follow else _FLAGS | os.O_NOFOLLOW)

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
