"""Folders that decide whether a file may go or counts as a copy: protected, target, trash, snapshot, memory.

A folder is known by its names and by what it is, so that another mount or spelling of it passes nowhere.  Changes
nothing.
"""

from __future__ import annotations

import fnmatch
import os
import re
import sys
from collections.abc import Iterable
from contextlib import suppress

from dedupe.actions.marks import Rule
from dedupe.errors import UsageError
from dedupe.storage import display, memory, volumes
from dedupe.storage.lasting import IN_SNAPSHOT
from dedupe.storage.paths import absolute

if sys.platform == "linux":
    from dedupe.storage import linux_flags


class Inside:
    """Some folders, and all that lies below them.

    Args:
        folders: their paths; they need not be there.
        widely: whether a name in other letters may be one of them, where a volume cannot say which it is.
    """

    def __init__(self, folders: Iterable[bytes], *, widely: bool = False) -> None:
        self._tops = [os.path.realpath(absolute(folder)) for folder in folders]
        self._folded = {_folded(top) for top in self._tops} if widely else set()
        self._identities = {found for top in self._tops if (found := identity(top)) is not None}
        self._known: dict[bytes, bool] = {}

    def __bool__(self) -> bool:
        return bool(self._tops)

    def has(self, path: bytes) -> bool:
        """Return whether a real path lies below one of the folders, or is one."""
        return bool(self._tops) and (path in self._tops or self._holds(os.path.dirname(path)))

    def _holds(self, folder: bytes) -> bool:
        unknown = []
        while folder not in self._known:
            unknown.append(folder)
            if folder in self._tops or identity(folder) in self._identities or self._may_be(folder):
                self._known[folder] = True
                break
            above = os.path.dirname(folder)
            if above == folder:
                self._known[folder] = False
                break
            folder = above
        for each in unknown:
            self._known[each] = self._known[folder]
        return self._known[folder]

    def _may_be(self, folder: bytes) -> bool:
        """Return whether a folder is one of them in other letters, on a volume whose inode numbers tell nothing."""
        if _folded(folder) not in self._folded:
            return False
        with suppress(OSError):
            return not volumes.locate(folder, os.stat(folder).st_dev).volume.stable_inodes
        return True


class Rules:
    """The rules that marks were made by, asked once more of what they would take.

    Raises:
        UsageError: one names a folder that is no absolute path, which may mean any.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        folders: dict[str, list[bytes]] = {"protect": [], "only-in": []}
        self._patterns = []
        for rule in rules:
            if rule.name in folders:
                if not os.path.isabs(rule.value):
                    raise UsageError(
                        f"The marks' rule {rule.name} names no absolute path: {display.shown(rule.value)}."
                    )
                folders[rule.name].append(rule.value)
            elif rule.name == "protect-name":
                self._patterns.append(re.compile(fnmatch.translate(os.fsdecode(rule.value))))
        self._protected, self._only_in = Inside(folders["protect"], widely=True), Inside(folders["only-in"])

    def refusal(self, path: bytes) -> str | None:
        """Return why a file with a real path stays, or None."""
        if self._protected.has(path):
            return "lies in a protected folder"
        if any(pattern.match(os.fsdecode(os.path.basename(path))) for pattern in self._patterns):
            return "has a protected name"
        if self._only_in and not self._only_in.has(path):
            return "lies outside the folders where copies may go"
        return None


class Passing:
    """Volumes whose files do not last: those in memory, and snapshots that somebody will remove."""

    def __init__(self) -> None:
        volumes.forget()  # what lies between them and their disks may have been mounted since
        self._known: dict[int, str] = {}

    def reason(self, folder: bytes, device: int) -> str:
        """Return why a copy there does not last; empty where it does."""
        if device not in self._known:
            self._known[device] = self._asked(folder, device)
        return self._known[device]

    def outlasts(self, folder: bytes, device: int, others: Iterable[tuple[bytes, int]]) -> bool:
        """Return whether a copy there lasts as long as others, by their folders and devices, would."""
        reason = self.reason(folder, device)
        if reason == _IN_MEMORY:  # a restart takes all that are
            return all(self.reason(*other) == reason for other in others)
        return not reason or all(other == device for _, other in others)

    def snapshot(self, folder: bytes, device: int) -> str:
        """Return why a file there belongs to a snapshot; empty where it does not."""
        reason = self.reason(folder, device)
        return "" if reason in (_IN_MEMORY, _UNSURE) else reason

    @staticmethod
    def _asked(folder: bytes, device: int) -> str:
        with suppress(OSError):
            kind = volumes.locate(folder, device).volume.file_system
            if sys.platform == "linux" and kind == "btrfs":
                if linux_flags.is_read_only_subvolume(folder):
                    return "lies in a snapshot, or another subvolume that is read-only"
                # what is mounted by itself is in use: systems run from a snapshot after a rollback
                if linux_flags.is_snapshot_subvolume(folder) and _top(folder, device) not in volumes.points():
                    return IN_SNAPSHOT
            if memory.holds(folder):
                return _IN_MEMORY
            if memory.is_unsure(folder):
                return _UNSURE
        return ""


_IN_MEMORY = "lies in memory: a restart removes it"
_UNSURE = "lies on an overlay that is volatile or of an unknown upper layer: a restart may remove it"


def _top(folder: bytes, device: int) -> bytes:
    """Return the highest folder of a device, upwards from one of it."""
    while (above := os.path.dirname(folder)) != folder and os.stat(above).st_dev == device:
        folder = above
    return folder


def _folded(path: bytes) -> str:
    return os.fsdecode(path).casefold()


def identity(folder: bytes) -> tuple[int, int] | None:
    """Return what tells one folder from another, None where it cannot be looked at."""
    try:
        seen = os.stat(folder)
    except OSError:
        return None
    return seen.st_dev, seen.st_ino
