"""What one look at a file tells: which object it is, and whether it is as it was.  Opens nothing, changes nothing."""

from __future__ import annotations

import os
import stat
import sys
from typing import NamedTuple

from dedupe.storage import windows
from dedupe.storage.opening import stat_at
from dedupe.storage.placeholders import would_download


class Look(NamedTuple):
    """One file at one moment."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int  # of content, names or metadata
    nlink: int
    is_regular: bool = True
    is_elsewhere: bool = False  # in a cloud: reading would download it
    on_disk: int = 0  # bytes that it takes

    @property
    def identity(self) -> tuple[int, int]:
        """Return what tells one file from another while both are there."""
        return self.device, self.inode

    def is_as(self, other: Look) -> bool:
        """Return whether both are one object whose content nobody is known to have changed; names may have."""
        return self[:4] == other[:4]

    def is_untouched_since(self, other: Look) -> bool:
        """Return whether nothing at all is known to have changed, names included."""
        return self[:6] == other[:6]


if sys.platform == "win32":
    from dedupe.storage import windows_acts

    def at(path: bytes) -> Look:
        """Return a look at a name; a link's own.

        Raises:
            OSError: it is not there, or may not be looked at.
        """
        seen = os.lstat(path)
        if would_download(seen):
            return Look(seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, 0, 1, is_elsewhere=True)
        found = windows.status(path)
        regular = stat.S_ISREG(seen.st_mode) and not windows.is_junction_or_link(found.attributes, found.reparse_tag)
        return _look(found, is_regular=regular)

    def anew(path: bytes) -> Look:
        """Return a look at a regular file that is opened for it.

        Raises:
            OSError: it is not there, or may not be opened.
        """
        return at(path)

    def within(folder: int, name: bytes) -> Look:
        """Return a look at a name in an open folder; a link's own.

        Raises:
            OSError: it is not there, or may not be looked at.
        """
        return at(windows_acts.at(folder, name))

    def of_open(descriptor: int) -> Look:
        """Return a look at an open file."""
        return _look(windows.status_of(descriptor), is_regular=True)

    def _look(found: windows.HandleStat, *, is_regular: bool) -> Look:
        return Look(
            found.device,
            found.inode,
            found.size,
            found.modified_ns,
            found.changed_ns,
            found.nlink,
            is_regular,
            on_disk=found.size,
        )

else:

    def at(path: bytes) -> Look:
        """Return a look at a name; a symbolic link's own.

        Raises:
            OSError: it is not there, or may not be looked at.
        """
        return _look(os.lstat(path))

    def anew(path: bytes) -> Look:
        """Return a look at a regular file that is opened for it, which asks programs and servers behind it anew.

        A name alone may be answered from what the system remembers of a folder that changed behind its back.

        Raises:
            OSError: it is not there, or may not be opened.
        """
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            return of_open(descriptor)
        finally:
            os.close(descriptor)

    def within(folder: int, name: bytes) -> Look:
        """Return a look at a name in an open folder; a symbolic link's own.

        Raises:
            OSError: it is not there, or may not be looked at.
        """
        return _look(stat_at(folder, name))

    def of_open(descriptor: int) -> Look:
        """Return a look at an open file."""
        return _look(os.fstat(descriptor))

    def _look(s: os.stat_result) -> Look:
        return Look(
            s.st_dev,
            s.st_ino,
            s.st_size,
            s.st_mtime_ns,
            s.st_ctime_ns,
            s.st_nlink,
            stat.S_ISREG(s.st_mode),
            would_download(s),
            s.st_blocks * 512,
        )


def is_there(folder: int, name: bytes) -> bool:
    """Return whether something has a name in an open folder."""
    try:
        within(folder, name)
    except OSError:
        return False
    return True
