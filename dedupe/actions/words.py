"""What the system's refusals mean, for people: what to do about them, where that is known."""

from __future__ import annotations

import errno
from contextlib import suppress

from dedupe.storage import metadata

_WORDS = {
    errno.EXDEV: "lies on another volume: names never move across",
    errno.EROFS: "lies on a volume that is read-only",
    errno.EEXIST: "its new place is taken",
    errno.ENOSPC: "there is no space left for its new name",
    errno.ELOOP: "is reached by a symbolic link: scan where it really lies",
}
_STOPPING = ("immutable", "append only", "read-only")  # the last one is Windows' attribute


def said(error: Exception) -> str:
    """Return what an error says."""
    if isinstance(error, OSError):
        return _WORDS.get(error.errno or 0, "") or error.strerror or str(error)
    return str(error)


def why(error: OSError, descriptor: int) -> str:
    """Return why the system did not let an open file's name be changed: its flags are what nobody thinks of."""
    if error.errno not in (errno.EPERM, errno.EACCES):
        return said(error)
    with suppress(OSError):
        flags = metadata.flag_words(metadata.of(descriptor).flags)
        if stopping := [word for word in flags if word in _STOPPING]:
            return f"is {' and '.join(stopping)}: take that from it first"
    return f"{said(error)}: the rights of its folder, or an immutable flag, forbid it"
