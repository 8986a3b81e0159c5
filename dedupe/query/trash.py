"""Saying that recycle bins and snapshots of the card were looked through, which every other walk leaves out.

What they hold goes with the card, so it counts there; in the archive it is about to go, so it counts for nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from dedupe.files.table import FileTable
from dedupe.report.units import counted
from dedupe.walk.filters import is_trash


def trash_notes(table: FileTable) -> Sequence[str]:
    """Return a sentence where files of the card lie in trash."""
    inside: dict[bytes, bool] = {b"": False}
    folders = {n for n, folder in enumerate(table.folders) if _is_inside(folder.rstrip(b"/\\"), inside)}
    files = sum(1 for folder in table.folder if folder in folders) if folders else 0
    if not files:
        return ()
    verb = "lies" if files == 1 else "lie"
    return (
        f"{counted(files, 'file')} of the card {verb} in trash, snapshots or the system's folders, and also count.",
    )


def _is_inside(folder: bytes, inside: dict[bytes, bool]) -> bool:
    """Return whether a folder is, or lies in, one that other walks leave out; `inside` remembers."""
    unknown = []  # no recursion: a path may be deeper than Python's stack
    while folder not in inside and (above := os.path.dirname(folder)) != folder:
        unknown.append(folder)
        folder = above
    answer = inside.get(folder, False)
    for below in reversed(unknown):
        answer = inside[below] = answer or is_trash(below)
    return answer
