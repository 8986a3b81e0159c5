"""How the files of a run are opened and read by name.  Whether links are followed is decided once, when this is made.

Files are opened so that nothing that took a file's place hangs the program, and so that no other program is kept from
renaming or deleting them.  Compares and keeps nothing.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from dedupe.storage import file_stat
from dedupe.storage.file_stat import FileStat

if sys.platform == "win32":
    from dedupe.storage import windows

    def read_at(descriptor: int, length: int, offset: int) -> bytes:
        """Read bytes at a place of an open file."""
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, length)

else:
    # O_NONBLOCK: a FIFO that took the file's place must not hang us.  O_NOCTTY: nor a terminal become ours.
    _FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    _UNFOLLOWED = _FLAGS | os.O_NOFOLLOW

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


@dataclass(frozen=True, slots=True)
class Opener:
    """Opens, reads and looks at files by their names; picklable, so that workers do it in the same way.

    Args:
        follow: whether a name that is a symbolic link stands for what it leads to; otherwise it is not opened.
    """

    follow: bool = False

    def identity(self, path: bytes) -> tuple[int, int]:
        """Return device and inode of a name: equal while both names are there means one file."""
        return file_stat.identity(path, follow=self.follow)

    if sys.platform == "win32":

        def stat(self, path: bytes) -> FileStat:
            """Return the stat of a file by its name."""
            return file_stat.of_path(path, follow=self.follow)

        def open(self, path: bytes) -> int:
            """Open a file for reading.  The caller checks that it is the file it expects."""
            return windows.open_for_reading(path, follow=self.follow)

        def read(self, path: bytes, length: int) -> bytes:
            """Return the first `length` bytes of a file, fewer only where it ends before."""
            descriptor = self.open(path)
            try:
                return os.read(descriptor, length)
            finally:
                os.close(descriptor)

        def read_with_stat(self, path: bytes, length: int) -> tuple[bytes, tuple[int, ...]]:
            """Return the same, and the stat that the file had after it was read."""
            descriptor = self.open(path)
            try:
                return os.read(descriptor, length), file_stat.of_descriptor(descriptor)
            finally:
                os.close(descriptor)

    else:

        def stat(self, path: bytes) -> FileStat:
            """Return the stat of a file by its name."""
            s = os.stat(path, follow_symlinks=self.follow)
            return tuple.__new__(FileStat, (s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino))

        def open(self, path: bytes) -> int:
            """Open a file for reading.  The caller checks that it is the file it expects."""
            return os.open(path, _FLAGS if self.follow else _UNFOLLOWED)

        def read(self, path: bytes, length: int) -> bytes:
            """Return the first `length` bytes of a file, fewer only where it ends before."""
            descriptor = os.open(path, _FLAGS if self.follow else _UNFOLLOWED)
            try:
                data = os.pread(descriptor, length, 0)
                return data if len(data) == length else read_at(descriptor, length, 0)
            finally:
                os.close(descriptor)

        def read_with_stat(self, path: bytes, length: int) -> tuple[bytes, tuple[int, ...]]:
            """Return the same, and the stat that the file had after it was read."""
            descriptor = os.open(path, _FLAGS if self.follow else _UNFOLLOWED)
            try:
                data = os.pread(descriptor, length, 0)
                if len(data) < length:
                    data = read_at(descriptor, length, 0)
                s = os.fstat(descriptor)
                return data, (s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino)
            finally:
                os.close(descriptor)
