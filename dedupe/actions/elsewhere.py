"""Another folder to undo into: where a name goes below it, and the folders that it takes.  Makes no files."""

from __future__ import annotations

import os
from dataclasses import replace

from dedupe.actions.places import existing, volume_of
from dedupe.actions.records import Intent
from dedupe.storage.paths import absolute


def below(folder: bytes, intent: Intent) -> Intent:
    """Return an intent with its name below a folder, its whole path kept, and the volume that lies on."""
    drive, rest = os.path.splitdrive(intent.path)
    parts = [drive.replace(b":", b"").strip(b"\\?/").replace(b"\\", b"_"), rest.lstrip(b"/\\")]
    path = os.path.join(os.path.realpath(absolute(folder)), *(part for part in parts if part))
    try:
        file_system, volume = volume_of(path)
    except OSError:  # it is not compared later, then
        file_system, volume = "", ""
    return replace(intent, path=path, file_system=file_system, volume=volume)


def on_one_device(a: bytes, b: bytes) -> bool:
    """Return whether two folders, or the nearest ones above them that are there, have one device number.

    Raises:
        OSError: they cannot be looked at.
    """
    return os.stat(existing(a)).st_dev == os.stat(existing(b)).st_dev


def make_folders(goal: bytes, made: list[bytes]) -> None:
    """Make a folder and those above it that are missing.

    Args:
        goal: its path.
        made: gets the paths of those that were made, the uppermost first.

    Raises:
        OSError: one could not be made.
    """
    top = existing(goal)
    for part in os.path.relpath(goal, top).split(os.fsencode(os.sep)) if goal != top else ():
        top = os.path.join(top, part)
        os.mkdir(top)
        made.append(top)
