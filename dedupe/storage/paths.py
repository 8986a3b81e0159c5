"""Turns the paths that users write into the absolute ones used inside, and back.  Lists no folder."""

from __future__ import annotations

import os
import sys

from dedupe.errors import UsageError
from dedupe.storage import windows_paths


def absolute(path: bytes) -> bytes:
    """Return a path made absolute as the user reached it: links stay, and `..` goes only where that changes nothing.

    On Windows it is an extended-length path, which has no limit of 260 characters.

    Raises:
        UsageError: the path is empty, which the system would take for the current folder.
    """
    if not path:
        raise UsageError("A path is empty: name a file or a folder (a dot is the current folder).")
    return windows_paths.extended(path) if sys.platform == "win32" else _folded(path)


def _folded(path: bytes) -> bytes:
    folded = os.path.abspath(path)
    if b".." in path.split(b"/"):
        try:
            same = os.path.samefile(folded, path)
        except OSError:
            same = False
        return folded if same else os.path.realpath(path)
    return folded.replace(b"//", b"/", 1) if folded.startswith(b"//") else folded


def outside(path: bytes) -> bytes:
    """Return a path as users write it: on Windows without the prefix of an extended-length path."""
    return windows_paths.plain(path) if sys.platform == "win32" else path


def outside_all(paths: list[bytes]) -> list[bytes]:
    """Return many paths as users write them; on systems other than Windows they are that already."""
    return list(map(outside, paths)) if sys.platform == "win32" else paths


def lies_below(path: bytes, root: bytes) -> bool:
    """Return whether a path is a root or lies below it, even if links, mounts or case give it another name."""
    try:
        top = os.stat(root)
    except OSError:
        return False
    place, above = b"", os.path.realpath(path)
    while place != above:
        place, above = above, os.path.dirname(above)
        try:
            if os.path.samestat(os.stat(place), top):
                return True
        except OSError:  # not there yet
            continue
    return False
