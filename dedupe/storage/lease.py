"""Keeping writers away from a file while it is compared and acted on.  Changes nothing.

Linux has leases: one is given only if nobody has the file open for writing, and whoever opens it so later has to wait
until the lease is given back or the system's patience ends (/proc/sys/fs/lease-break-time, 45 s).  Windows has share
modes, which are part of opening.  Other systems have neither.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class WriterError(OSError):
    """Somebody has the file open for writing."""


if sys.platform == "win32":
    from dedupe.storage import windows_acts

    def open_denying_writers(path: bytes, *, may_move: bool = False) -> int:
        """Open a regular file so that while it is open nobody can open it for writing, rename or remove it.

        Args:
            path: of the file; a junction or link as its last part is refused.
            may_move: ask for the right to rename and remove it by this descriptor (`windows_acts.move_open`).

        Raises:
            WriterError: somebody has it open for writing already.
            OSError: it cannot be opened so, or is no regular file.
        """
        try:
            return windows_acts.open_denying_writers(path, may_move=may_move)
        except OSError as error:
            if error.winerror == windows_acts.SHARING_VIOLATION:
                raise WriterError(0, error.strerror, path, error.winerror) from error
            raise

else:

    def open_denying_writers(path: bytes, *, may_move: bool = False) -> int:  # noqa: ARG001
        """Raise OSError: opening keeps nobody away on this system; `read_lease` does where the file system can."""
        raise OSError(errno.ENOTSUP, "opening a file does not keep writers away on this system", path)


if sys.platform == "linux":
    import fcntl
    import signal
    from contextlib import suppress

    from dedupe.storage import mounts

    # Not offered by this file system, or to users who do not own the file.
    _NO_LEASE = frozenset({errno.EINVAL, errno.EACCES, errno.EPERM, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS})

    @contextmanager
    def read_lease(descriptor: int) -> Iterator[bool]:
        """Keep writers waiting; the value is whether that can be done for this file.

        Args:
            descriptor: of a regular file, open for reading only.  Its own process must not open the file for writing
                before the lease is given back: it would wait for itself.

        Raises:
            WriterError: somebody, be it this process, has the file open for writing.
        """
        taken = _take(descriptor)
        try:
            yield taken
        finally:
            if taken:
                with suppress(BlockingIOError):  # the system took it back for a writer who had waited long enough
                    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)

    def is_kept(descriptor: int) -> bool:
        """Return whether a lease still stands: nobody has asked to write since it was taken."""
        return fcntl.fcntl(descriptor, fcntl.F_GETLEASE) == fcntl.F_RDLCK

    def _take(descriptor: int) -> bool:
        # The news that somebody waits comes as SIGIO, which ends a process that has no handler for it.  SIGURG is
        # ignored unless somebody asks for it, so that no handler of the whole process has to be changed.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        try:
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except OSError as error:
            if error.errno in _NO_LEASE or (error.errno == errno.EAGAIN and _is_on_server(descriptor)):
                return False
            if error.errno == errno.EAGAIN:
                raise WriterError(error.errno, "another program has it open for writing") from error
            raise
        return True

    def _is_on_server(descriptor: int) -> bool:
        """Return whether a server decides: cifs says EAGAIN for every file whose server lends it nothing."""
        return mounts.is_network(os.path.dirname(os.readlink(b"/proc/self/fd/%d" % descriptor)))

else:

    @contextmanager
    def read_lease(descriptor: int) -> Iterator[bool]:  # noqa: ARG001
        """Yield False: this system does not lend files."""
        yield False

    def is_kept(descriptor: int) -> bool:  # noqa: ARG001
        """Return False: this system does not lend files."""
        return False
