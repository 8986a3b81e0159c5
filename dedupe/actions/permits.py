"""Whether names may be changed, as far as the system tells without trying.  Changes nothing.

So a dry run, and the question before a run, promise no more than what will be done; who is refused here has nothing
read for it.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress

from dedupe.storage import metadata
from dedupe.storage.opening import stat_at

if sys.platform == "linux":
    from dedupe.storage import linux_flags

_FLAGS = ("immutable", "append only")

if sys.platform == "linux":

    def mount_of(folder: bytes) -> tuple[bytes, int]:
        """Return which mount and which device a folder lies on; nothing is renamed from one to another.

        Raises:
            OSError: it is not there.
        """
        descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with open(f"/proc/self/fdinfo/{descriptor}", "rb") as told:
                mount = next(line for line in told if line.startswith(b"mnt_id:"))
            return mount, os.fstat(descriptor).st_dev
        finally:
            os.close(descriptor)

else:

    def mount_of(folder: bytes) -> tuple[bytes, int]:
        """Return which device a folder lies on; nothing is renamed from one to another.

        Raises:
            OSError: it is not there.
        """
        return b"", os.stat(folder).st_dev


if sys.platform == "win32":

    def of_folder(handle: int, folder: bytes, called: str = "its folder") -> str:  # noqa: ARG001
        """Return why names cannot be changed in a folder: Windows tells when it is tried."""
        return ""

    def of_name(handle: int, name: bytes) -> str:  # noqa: ARG001
        """Return why one name cannot be taken from a folder: Windows tells when it is tried."""
        return ""

    def of_file(descriptor: int) -> str:  # noqa: ARG001
        """Return why an open file's names cannot be changed: Windows tells when it is tried."""
        return ""

else:

    def of_folder(handle: int, folder: bytes, called: str = "its folder") -> str:
        """Return why names cannot be changed in a folder; empty if they can.

        Args:
            handle: of the open folder.
            folder: its path.
            called: what the reason calls it.
        """
        if os.fstatvfs(handle).f_flag & os.ST_RDONLY:
            return f"{called} is on a volume that is read-only"
        if stopping := _stopping(handle):
            return f"{called} is {stopping}: take that from it first"
        if not os.access(folder, os.W_OK | os.X_OK):
            return f"{called} cannot be changed: its rights, or an immutable flag, forbid it"
        return ""

    def of_name(handle: int, name: bytes) -> str:
        """Return why one name cannot be taken from an open folder: a sticky one keeps the names of others."""
        seen, user = os.fstat(handle), os.geteuid()
        if user in (0, seen.st_uid) or not seen.st_mode & stat.S_ISVTX:
            return ""
        with suppress(OSError):
            if stat_at(handle, name).st_uid != user:
                return "is another user's, in a folder where only owners remove and rename (sticky)"
        return ""

    def of_file(descriptor: int) -> str:
        """Return why an open file cannot be changed nor given another name; empty if it can."""
        stopping = _stopping(descriptor)
        return f"is {stopping}: take that from it first" if stopping else ""

    def _stopping(descriptor: int) -> str:
        if sys.platform == "linux":
            with suppress(OSError):
                words = metadata.flag_words(linux_flags.of_open(descriptor))
                return " and ".join(word for word in words if word in _FLAGS)
        return ""
