"""Windows over a file, mapped without a copy or read into one buffer.  Compares and hashes nothing."""

from __future__ import annotations

import io
import mmap
import os
import sys
from typing import Protocol, TypeAlias

from dedupe.storage.opener import read_at

Window: TypeAlias = mmap.mmap | memoryview

GRANULARITY = 1 << 16  # offsets of maps are multiples of this on Windows; elsewhere a page, which divides it


class Reader(Protocol):
    """Gives a file's bytes in order, window by window.  Closes the descriptor that it was given."""

    def window(self, offset: int, length: int) -> Window | None:
        """Return the bytes at `offset`, valid until the next call; None where the file ends before.

        After the first call, offsets rise by the length of the call before; they are multiples of `GRANULARITY`.
        """

    def close(self) -> None:
        """Give up the window and the descriptor."""


class MappedReader:
    """Maps each window read-only: no byte is copied.  Kills its process if the file is truncated meanwhile."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor
        self._map: mmap.mmap | None = None

    def window(self, offset: int, length: int) -> Window | None:
        """Return a map of the bytes at `offset`, or None where the file is too short for it."""
        self._release()
        assert self._descriptor is not None
        try:
            self._map = mmap.mmap(self._descriptor, length, access=mmap.ACCESS_READ, offset=offset)
        except ValueError:  # "mmap length is greater than file size": it has shrunk
            return None
        except OSError:  # some file systems map nothing, and memory may be short
            data = read_at(self._descriptor, length, offset)
            return memoryview(data) if len(data) == length else None
        if sys.platform != "win32":
            self._map.madvise(mmap.MADV_SEQUENTIAL)
        return self._map

    def _release(self) -> None:
        if self._map is not None:
            self._map.close()
            self._map = None

    def close(self) -> None:
        """Give up the map and the descriptor; closing twice is harmless."""
        self._release()
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


class PlainReader:
    """Reads each window into one buffer that is used again.  Safe whatever happens to the file."""

    def __init__(self, descriptor: int, *, closes: bool = True) -> None:
        self._file = io.FileIO(descriptor, closefd=closes)
        self._buffer = bytearray()
        self._position = 0

    def window(self, offset: int, length: int) -> Window | None:
        """Return the bytes at `offset`, or None where the file ends before."""
        if offset != self._position:  # never in a pipe, which is read from its beginning
            self._file.seek(offset)
        self._position = offset + length
        if len(self._buffer) < length:
            self._buffer = bytearray(length)
        view = memoryview(self._buffer)[:length]
        filled = 0
        while filled < length:
            count = self._file.readinto(view[filled:])
            if not count:
                return None
            filled += count
        return view

    def close(self) -> None:
        """Give up the buffer, and the descriptor if it is the reader's to close."""
        self._buffer = bytearray()
        self._file.close()


def reader(descriptor: int, *, may_mmap: bool) -> Reader:
    """Return a reader of an open file; with `may_mmap`, one that may kill its process.

    Raises:
        OSError: it is none, such as a folder that took a file's place; the descriptor is closed.
    """
    try:
        return MappedReader(descriptor) if may_mmap else PlainReader(descriptor)
    except OSError:
        os.close(descriptor)
        raise
