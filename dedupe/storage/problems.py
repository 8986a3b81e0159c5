"""Turns an error of the system into a problem that a report can list.  Raises nothing."""

from __future__ import annotations

import errno

from dedupe.result import Problem, ProblemKind

_KINDS = {
    errno.EACCES: ProblemKind.PERMISSION,
    errno.EPERM: ProblemKind.PERMISSION,
    errno.ENOENT: ProblemKind.VANISHED,
    errno.ENOTDIR: ProblemKind.VANISHED,
    errno.ENAMETOOLONG: ProblemKind.TOO_LONG,
    errno.ELOOP: ProblemKind.CHANGED,  # a link took the place of the file that the walk saw
    errno.ENXIO: ProblemKind.CHANGED,  # a socket did
    errno.ESPIPE: ProblemKind.CHANGED,  # a pipe did
    errno.EISDIR: ProblemKind.CHANGED,  # a folder did
}
_MESSAGES = {
    ProblemKind.PERMISSION: "may not be read: {}",
    ProblemKind.VANISHED: "disappeared before it could be read",
    ProblemKind.TOO_LONG: "has a path that is too long for this system",
    ProblemKind.CHANGED: "changed during the scan",
    ProblemKind.SHORT_READ: "ended before its size was read: it changed during the scan, or its disk is failing",
    ProblemKind.SET_ASIDE: "was set aside by a run that was cut off: `dedupe undo` puts it back",
    ProblemKind.ROT: (
        "has other content than when it was read last, though its size and times are the same: check its disk, and "
        "restore it from a backup if it is damaged"
    ),
}


def of_error(path: bytes, error: OSError) -> Problem:
    """Return the problem that an OSError means for one path."""
    kind = _KINDS.get(error.errno or 0, ProblemKind.IO)
    text = error.strerror or str(error)
    return Problem(path, kind, _MESSAGES.get(kind, "cannot be read: {}").format(text))


def of_listing(path: bytes, error: OSError) -> Problem:
    """Return the problem of a path that could not be listed; nothing was known of it, so it cannot have changed."""
    if error.errno == errno.ELOOP:
        return Problem(path, ProblemKind.LINK_LOOP, "is a symbolic link that leads back to itself")
    return of_error(path, error)


def of_kind(path: bytes, kind: ProblemKind) -> Problem:
    """Return a problem of a kind that needs no further words."""
    return Problem(path, kind, _MESSAGES[kind])


def of_root(path: bytes, error: OSError) -> Problem:
    """Return the problem of a root that the system gives no information about."""
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return Problem(path, ProblemKind.NOT_FOUND, "does not exist: check the spelling, or that its disk is connected")
    return of_listing(path, error)
