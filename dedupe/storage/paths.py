"""From the paths that users write to those used inside, and back.  Absolute ones only; reads no folder."""

from __future__ import annotations

import os
import sys

from dedupe.storage import windows_paths


def absolute(path: bytes) -> bytes:
    """Return a path made absolute as the user reached it: links stay, `..` is only folded where that is the same.

    On Windows an extended-length one, which has no limit of 260 characters.
    """
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
    """Return a path as users write it: on Windows without the mark of an extended-length one."""
    return windows_paths.plain(path) if sys.platform == "win32" else path


def outside_all(paths: list[bytes]) -> list[bytes]:
    """Return many paths as users write them: elsewhere than on Windows without a call for each."""
    return list(map(outside, paths)) if sys.platform == "win32" else paths


def lies_below(path: bytes, root: bytes) -> bool:
    """Return whether a path is a root or lies below it, by whatever name: links, mounts and case hide nothing."""
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
