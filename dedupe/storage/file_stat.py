"""What the system says of a file: the one call whose answer identifies a file and dates its content.

Both sides of every comparison come from here, so that they come from the same kind of call.  Opens no file by name:
that is `opener`'s.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

if sys.platform == "win32":
    from dedupe.storage import windows


class FileStat(NamedTuple):
    """What dates a file's content on its volume; equal means that nothing is known to have changed.

    The device is no part of it: its number is made up at each mount, and on each host that looks.
    """

    size: int  # bytes
    modified_ns: int
    changed_ns: int  # of content or metadata: POSIX ctime, Windows ChangeTime
    inode: int  # 0 where the file system has none, or none that stays


def of_stat(s: os.stat_result) -> FileStat:
    """Return what a POSIX stat tells."""
    return tuple.__new__(FileStat, (s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino))  # half the time


def is_unchanged(expected: Sequence[int], seen: Sequence[int]) -> bool:
    """Return whether a file is as it was expected; an expected inode of 0 stands for any number."""
    return seen == expected or (not expected[3] and seen[:3] == expected[:3])


if sys.platform == "win32":

    def columns(files: Sequence[os.DirEntry[bytes] | bytes], *, follow: bool) -> Sequence[Sequence[int]]:
        """Return the stats of listed or named files, a column a field, and their devices: by handles.

        What a listing tells may be old news.
        """
        found = [windows.status(f if isinstance(f, bytes) else f.path, follow=follow) for f in files]
        return [[getattr(each, name) for each in found] for name in (*FileStat._fields, "device")]

    def of_path(path: bytes, *, follow: bool = False) -> FileStat:
        """Return the stat of a file by its name; with `follow`, of what a link leads to."""
        found = windows.status(path, follow=follow)
        return FileStat(found.size, found.modified_ns, found.changed_ns, found.inode)

    def of_descriptor(descriptor: int) -> FileStat:
        """Return the stat of an open file."""
        found = windows.status_of(descriptor)
        return FileStat(found.size, found.modified_ns, found.changed_ns, found.inode)

    def identity(file: bytes | int, *, follow: bool = False) -> tuple[int, int]:
        """Return device and inode of a name or an open file: equal while both are there means one file."""
        found = windows.status_of(file) if isinstance(file, int) else windows.status(file, follow=follow)
        return found.device, found.inode

else:

    def columns(files: Sequence[os.DirEntry[bytes] | bytes], *, follow: bool) -> Sequence[Sequence[int]]:
        """Return the stats of listed or named files, a column a field, and their devices; no object is kept."""
        found = [
            (os.stat(f, follow_symlinks=follow) if isinstance(f, bytes) else f.stat(follow_symlinks=follow))
            for f in files
        ]
        return (
            [s.st_size for s in found],
            [s.st_mtime_ns for s in found],
            [s.st_ctime_ns for s in found],
            [s.st_ino for s in found],
            [s.st_dev for s in found],
        )

    def of_path(path: bytes, *, follow: bool = False) -> FileStat:
        """Return the stat of a file by its name; with `follow`, of what a link leads to."""
        return of_stat(os.stat(path, follow_symlinks=follow))

    def of_descriptor(descriptor: int) -> FileStat:
        """Return the stat of an open file."""
        return of_stat(os.fstat(descriptor))

    def identity(file: bytes | int, *, follow: bool = False) -> tuple[int, int]:
        """Return device and inode of a name or an open file: equal while both are there means one file."""
        s = os.fstat(file) if isinstance(file, int) else os.stat(file, follow_symlinks=follow)
        return s.st_dev, s.st_ino
