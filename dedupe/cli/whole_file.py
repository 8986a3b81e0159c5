"""A file that has its name only when it is complete: written beside its place, then renamed.  Decides no name."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterable


class WholeFile:
    """One file that is being written; as a context manager it leaves nothing half written behind.

    Args:
        path: where links lead to a file, they stay; a device or a pipe is written in place.

    Raises:
        OSError: it cannot be made there, or what is there may not be written.
    """

    def __init__(self, path: str) -> None:
        import tempfile  # imports random and bisect, which a scan without report files does not need

        self.target = target = os.path.realpath(path)
        self.temporary: str | None = None
        self._file: BinaryIO
        with contextlib.suppress(FileNotFoundError):
            os.lstat(target)  # shows a name that is too long before the work, not after it
        there = os.path.exists(path)  # by its own name: that of a pipe behind /dev/stdout leads nowhere
        if there and not stat.S_ISREG(os.stat(path).st_mode):
            self._file = open(path, "wb")  # noqa: SIM115 - `commit` or `discard` closes it
            return
        if there and not os.access(target, os.W_OK):
            raise PermissionError(13, "it is there and may not be written")
        folder, name = os.path.split(target)
        handle, self.temporary = tempfile.mkstemp(suffix=".part", prefix=f".{name[:40]}.", dir=folder)
        self._file = os.fdopen(handle, "wb")

    def commit(self, pieces: Iterable[bytes]) -> None:
        """Write all and give the file its name, once it is on the disk.

        Raises:
            OSError: it could not be written.
        """
        with self._file as file:
            file.writelines(pieces)
            file.flush()
            if self.temporary is not None:
                os.fsync(file.fileno())
        if self.temporary is not None:
            _give_usual_mode(self.temporary, self.target)
            os.replace(self.temporary, self.target)
            self.temporary = None

    def discard(self) -> None:
        """Remove what was not finished."""
        with contextlib.suppress(OSError):
            self._file.close()
        if self.temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(self.temporary)

    def __enter__(self) -> WholeFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()


def _give_usual_mode(path: str, target: str) -> None:
    """Give a file the mode of the one whose place it takes, or that of any new file: temporary ones are private."""
    try:
        mode = stat.S_IMODE(os.stat(target).st_mode)
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    os.chmod(path, mode)
