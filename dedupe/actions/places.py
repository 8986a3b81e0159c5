"""The places that an intent of a journal names, opened and looked at.  Changes nothing."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass

from dedupe.actions import looks
from dedupe.actions.action import Spot
from dedupe.actions.holding import Folders
from dedupe.actions.looks import Look
from dedupe.actions.records import Intent
from dedupe.actions.reread import digest_of
from dedupe.storage import volumes
from dedupe.storage.opening import open_nofollow


@dataclass(frozen=True, slots=True)
class Place:
    """One name, and what has it now: None for nothing."""

    spot: Spot
    look: Look | None

    def has_content(self, intent: Intent) -> bool:
        """Return whether a file of the journal's size and digest lies here; reads it."""
        if self.look is None or not self.look.is_regular or self.look.size != intent.size:
            return False
        try:
            descriptor = open_nofollow(*self.spot)
            try:
                return digest_of(descriptor, intent.algorithm) == intent.digest
            finally:
                os.close(descriptor)
        except OSError:
            return False

    def is_empty(self) -> bool:
        """Return whether an empty file lies here that has no other name."""
        return self.look is not None and self.look.is_regular and self.look.size == 0 and self.look.nlink == 1

    def is_victim(self, intent: Intent) -> bool:
        """Return whether the victim lies here: by its inode, or, where those do not last, by its content."""
        if self.look is None or not self.look.is_regular:
            return False
        if (self.look.size, self.look.modified_ns) != (intent.size, intent.modified_ns):
            return False
        return self.look.inode == intent.inode or self.has_content(intent)


class AwayError(OSError):
    """The volume of an intent is not there: what its mount point has now says nothing."""


class GoneError(OSError):
    """The folder of an intent is gone, and its volume is there."""


def place(path: bytes, folders: Folders) -> Place:
    """Return what lies at a real path.

    Raises:
        OSError: its folder is not there, or may not be looked at.
    """
    folder, name = os.path.split(path)
    return look_at(Spot(folders.handle(folder), name))


def check_volume(intent: Intent, path: bytes) -> None:
    """Make sure that a path of an intent leads to the volume that it lay on.

    Raises:
        AwayError: it does not: the volume is unplugged, or not mounted.
        GoneError: it does, but the folder is gone.
        OSError: that cannot be told.
    """
    folder = os.path.dirname(path)
    there = existing(folder)
    if intent.volume and volume_of(path)[1] != intent.volume:
        raise AwayError(errno.ENODEV, "its volume is not there: mount it, then run this again", path)
    if there != folder:
        raise GoneError(errno.ENOENT, "its folder is gone: make it again, or give --to DIR", path)


def existing(folder: bytes) -> bytes:
    """Return the folder, or the nearest one above it that is there."""
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder


def volume_of(path: bytes) -> tuple[str, str]:
    """Return the file system and the id of the volume that a name lies on, or would lie on.

    Raises:
        OSError: that cannot be told.
    """
    there = existing(os.path.dirname(path))
    volume = volumes.locate(there, os.stat(there).st_dev).volume
    return volume.file_system, volume.id


def look_at(spot: Spot) -> Place:
    """Return what has a name in an open folder.

    Raises:
        OSError: it may not be looked at.
    """
    try:
        return Place(spot, looks.within(*spot))
    except FileNotFoundError:
        return Place(spot, None)
