"""Standard input and output where they are closed or broken: an error for whoever uses them, never "nothing there".

Python sets a stream to None if its descriptor was closed before the program began, and most code then reads or writes
nothing without a word.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from typing import TYPE_CHECKING, Any, BinaryIO

from dedupe.errors import NothingUsableError

if TYPE_CHECKING:
    from typing_extensions import Buffer

_PIECE = 1 << 20  # bytes of standard input at a time


class _Closed(io.RawIOBase):
    """Takes the place of a closed stream: every use of it fails."""

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, _: Buffer, /) -> int:
        raise OSError(errno.EBADF, "it is closed")

    def write(self, _: Buffer, /) -> int:
        raise OSError(errno.EBADF, "it is closed")


class _Input(io.RawIOBase):
    """Standard input, whose failures are sentences for the user."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        try:
            return self._read(buffer)
        except OSError as error:
            raise NothingUsableError(f"Standard input cannot be read: {error.strerror or error}.") from error

    def _read(self, buffer: Buffer) -> int:
        source: Any = _Closed() if sys.stdin is None else sys.stdin.buffer
        while (count := source.readinto(buffer)) is None:
            select.select([source], [], [])  # non-blocking, and nothing has come yet: that is not the end
        return int(count)


def prepare() -> None:
    """Keep the descriptors of closed streams from other files, and make writing to a closed standard output fail.

    The next file that is opened would get the number of a closed stream, and error messages of a library would be
    written into it.  Standard error needs no substitute: a result is not withheld because nobody reads the messages.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_Closed(), "utf-8", "backslashreplace", write_through=True)


def stdin() -> BinaryIO:
    """Return standard input as bytes.

    Reading raises:
        NothingUsableError: it is closed, or the system does not let us read it.
    """
    return io.BufferedReader(_Input(), _PIECE)


def stdout_is_closed() -> bool:
    """Return whether standard output was closed before the program began."""
    return isinstance(getattr(sys.stdout, "buffer", None), _Closed)
