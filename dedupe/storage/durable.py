"""Having what was written to a file on its disk, not only in memory.  Writes no content itself."""

from __future__ import annotations

import errno
import os
import re
import sys
from contextlib import suppress

from dedupe.storage.rename import sync_folder

# Answers of file systems that offer no such call.  EROFS is none of them: a sound volume that is mounted read-only has
# nothing to write and says so by 0, while one that met an error answers EROFS and keeps in memory what it was to write.
_NOT_OFFERED = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF})


def begin(descriptor: int) -> None:
    """Begin to write an open file to its disk where the system offers that; several then are written together."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


if sys.platform == "linux":

    def write_volume(descriptor: int) -> bool:
        """Have all of an open folder's volume on its disk, many small files by one call; return whether it is."""
        import ctypes

        if [int(number) for number in re.findall(r"\d+", os.uname().release)[:2]] < [5, 8]:
            return False  # the call says nothing of what could not be written there
        return bool(ctypes.CDLL(None, use_errno=True).syncfs(ctypes.c_int(descriptor)) == 0)

else:

    def write_volume(descriptor: int) -> bool:  # noqa: ARG001
        """Return False: this system has no such call."""
        return False


def failure(descriptor: int) -> str:
    """Return why an open file could not be written to its disk; empty once it lies there."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        return "" if error.errno in _NOT_OFFERED else error.strerror or str(error)
    return ""


def failure_of_names(folder: int) -> str:
    """Return why the names of an open folder could not be written to its disk; empty once they lie there."""
    try:
        sync_folder(folder)
    except OSError as error:
        return "" if error.errno in _NOT_OFFERED else error.strerror or str(error)
    return ""
