"""Holes of open files: ranges that are zeros though nothing lies on the disk for them.  Reads no content.

Source: https://man7.org/linux/man-pages/man2/lseek.2.html (SEEK_DATA, SEEK_HOLE)
"""

from __future__ import annotations

import errno
import functools
import os
import sys

from dedupe.storage.readers import Reader, Window

if sys.platform == "linux":
    from dedupe.storage import file_systems, mounts

    _BLOCK = 512  # bytes, the unit of st_blocks whatever the file system's own is

    def are_told(descriptor: int, path: bytes) -> bool:
        """Return whether an open file may have holes, and lies on a file system that is believed where they are."""
        seen = os.fstat(descriptor)
        return seen.st_blocks * _BLOCK < seen.st_size and file_systems.tells_holes(mounts.file_system(path))

    def data_begins(descriptor: int, offset: int) -> int:
        """Return from where on an open file has data, at `offset` or behind; `sys.maxsize` where all is one hole.

        Moves the place at which the file is read next.  What cannot be told counts as data.
        """
        try:
            return os.lseek(descriptor, offset, os.SEEK_DATA)
        except OSError as error:
            return sys.maxsize if error.errno == errno.ENXIO else offset

    def data_bytes(descriptor: int, size: int) -> int:
        """Return how many of the first `size` bytes of an open file lie in no hole; see `data_begins`."""
        total = end = 0
        while (begin := data_begins(descriptor, end)) < size:
            try:
                end = os.lseek(descriptor, begin, os.SEEK_HOLE)
            except OSError:  # it was cut meanwhile, which its stat will tell
                return size
            total += min(end, size) - begin
        return total

else:

    def are_told(descriptor: int, path: bytes) -> bool:  # noqa: ARG001
        """Return False: this system's answers are not tried."""
        return False

    def data_begins(descriptor: int, offset: int) -> int:  # noqa: ARG001
        """Return the place asked for: nothing is known of holes."""
        return offset

    def data_bytes(descriptor: int, size: int) -> int:  # noqa: ARG001
        """Return the size: nothing is known of holes."""
        return size


@functools.lru_cache(maxsize=4)
def zeros(length: int) -> Window:
    """Return a window of zeros, the same one for the same length."""
    return memoryview(bytes(length))


class SparseReader:
    """Another reader's windows, but for those in a hole: they are zeros, and are not read.

    Args:
        reader: of the file; its windows may be skipped, as the place in the file is set before each.
        descriptor: of the same file, open as long as the reader is.
    """

    def __init__(self, reader: Reader, descriptor: int) -> None:
        self._reader = reader
        self._descriptor = descriptor
        self._data = 0  # from where on there is data, as far as was asked

    def hole_end(self, offset: int) -> int:
        """Return where the hole ends that begins at `offset` or before; `offset` where that lies in data."""
        if self._data <= offset:
            self._data = data_begins(self._descriptor, offset)
        return self._data

    def window(self, offset: int, length: int) -> Window | None:
        """Return the bytes at `offset`, or None where the file ends before.  That it ends in a hole, its stat tells."""
        if self.hole_end(offset) >= offset + length:
            return zeros(length)
        os.lseek(self._descriptor, offset, os.SEEK_SET)
        return self._reader.window(offset, length)

    def close(self) -> None:
        """Close the reader."""
        self._reader.close()
