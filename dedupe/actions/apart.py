"""Whether two folders are one by way of two mounts: found out by a folder made in one and looked for in the other.

What it makes it removes at once, and has one of dedupe's own temporary names.  Touches no file.
"""

from __future__ import annotations

import os

from dedupe.storage import display, file_systems, volumes
from dedupe.storage.rename import temporary_name

ONE = "seems to be the same file as a copy that stays, by way of another mount"
_MAY_BE = "may be the same file as a copy that stays, by way of another mount"


class Folders:
    """Knows of pairs of folders whether they are one, each asked once.

    Args:
        may_try: a folder may be made to find out; else nothing is found out.
    """

    def __init__(self, *, may_try: bool) -> None:
        self._may_try = may_try
        self._known: dict[tuple[bytes, bytes], str] = {}

    def reason(self, a: bytes, b: bytes) -> str:
        """Return why files of two folders may be the same ones; empty where the folders are known to be two."""
        if (a, b) not in self._known:
            self._known[a, b] = self._known[b, a] = self._asked(a, b)
        return self._known[a, b]

    def _asked(self, a: bytes, b: bytes) -> str:
        """Find out in both directions: what unites several folders makes a new one in any of them, but shows each."""
        if not self._may_try:
            return f"{_MAY_BE}: a dry run makes no folder to find out"
        pairs = [(made, seen) for made, seen in ((a, b), (b, a)) if not file_systems.remembers_names(_kind(seen))]
        if not pairs:
            return f"{_MAY_BE}: both mounts may remember what their folders held before, so nothing can be found out"
        for made, seen in pairs:
            try:
                if _shows(made, seen):
                    return ONE
            except OSError as error:
                why = f"no folder could be made and removed in {display.shown(made)} to find out"
                return f"{_MAY_BE}: {why} ({error.strerror})"
        return ""


def _shows(made: bytes, seen: bytes) -> bool:
    """Return whether a folder that is made in one folder is seen in another.

    Raises:
        OSError: it cannot be made, looked for or removed.
    """
    name = temporary_name()
    os.mkdir(os.path.join(made, name), 0o700)
    try:
        os.lstat(os.path.join(seen, name))
    except FileNotFoundError:
        return False
    else:
        return True
    finally:
        os.rmdir(os.path.join(made, name))


def _kind(folder: bytes) -> str:
    """Return the kind of file system that a folder lies on; of one that cannot be asked, that of a program."""
    try:
        return volumes.locate(folder, os.stat(folder).st_dev).volume.file_system
    except OSError:
        return "fuse"
