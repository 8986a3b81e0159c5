"""Linux's call that opens a path without following any link on it.  Elsewhere nobody asks."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import struct
import sys
from typing import Any

assert sys.platform == "linux"

_OPENAT2 = 437  # one number on every processor that Python is built for
_HOW = struct.Struct("=QQQ")  # struct open_how: flags, mode, resolve
_RESOLVE = 0x02 | 0x04 | 0x08  # RESOLVE_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH
# An older kernel, a container's rules, a path longer than the call takes, a rename on the way, a signal.
_OTHERWISE = frozenset({errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.ENAMETOOLONG, errno.EAGAIN, errno.EINTR})


@functools.cache
def _syscall() -> Any:
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    call.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)
    return call


def open_without_links(folder: int, path: bytes, flags: int) -> int | None:
    """Open a path below an open folder; None where that must be done part by part.

    Raises:
        OSError: it is not there, or (ELOOP) a link is on the way.
    """
    found: int = _syscall()(_OPENAT2, folder, path, _HOW.pack(flags, 0, _RESOLVE), _HOW.size)
    if found >= 0:
        return found
    code = ctypes.get_errno()
    if code in _OTHERWISE:
        return None
    raise OSError(code, os.strerror(code), path)
