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
from dedupe.storage.paths import absolute

if sys.platform == "linux":
    from dedupe.storage import linux_flags

_TRASH = re.compile(
    rb"\$recycle\.bin|recycler|recycled|\.trash|\.trash-\d+|\.trashes|#recycle|@recycle|\.recycle[rd]?|\.recyclebin"
    rb"|\.recycle\.bin|files_(trashbin|versions)|\.dtrash|\.stversions|\.dropbox\.cache|\.trashbox",
    # of Samba, Unraid, Nextcloud, digiKam, Syncthing, Dropbox, phones
    re.IGNORECASE,
)
_SNAPSHOT = re.compile(
    rb"\.snapshots?|\.snaps?|\.zfs|~snapshot|[#@.]snapshot|@recently-snapshot|@gmt-[\d.-]+"  # of file systems
    rb"|(hourly|daily|weekly|monthly|yearly|alpha|beta|gamma|delta)\.\d+|_delete\.\d+"  # rsnapshot
    rb"|timeshift(-btrfs)?|[._]?btrbk[_-]snap\w*|backups\.backupdb|\.mobilebackups|com\.apple\.timemachine\.\w+",
    re.IGNORECASE,
)
_EMPTIED = re.compile(
    rb"lost\+found|found\.\d{3}|windows\.old|\$windows\.~\w+|system volume information", re.IGNORECASE
)
_TRASHES_WITHIN = re.compile(rb"/trash/files/|/\.sync/archive/", re.IGNORECASE)  # of desktops, Resilio
_SNAPSHOTS_WITHIN = re.compile(rb"/backintime/([^/]+/){3}\d{8}-\d{6}-\d+/", re.IGNORECASE)  # Back In Time
_REMOVED = re.compile(rb"\.trashed-\d+-.*|\.nfs[0-9a-f]{16,}|\.fuse_hidden[0-9a-f]{8,}", re.DOTALL)


class Inside:
    """Some folders, and all that lies below them."""

    def __init__(self, folders: Iterable[bytes]) -> None:
        self._tops = [os.path.realpath(absolute(folder)) for folder in folders]
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
            if folder in self._tops or identity(folder) in self._identities:
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
        self._protected, self._only_in = Inside(folders["protect"]), Inside(folders["only-in"])

    def refusal(self, path: bytes) -> str | None:
        """Return why a file with a real path stays, or None."""
        if self._protected.has(path):
            return "lies in a protected folder"
        if any(pattern.match(os.fsdecode(os.path.basename(path))) for pattern in self._patterns):
            return "has a protected name"
        if self._only_in and not self._only_in.has(path):
            return "lies outside the folders where copies may go"
        return None


def out_of_the_way(folder: bytes) -> str | None:
    """Return why a file in a folder is no copy to count on, or None."""
    folder = folder.replace(b"\\", b"/")
    for part in folder.split(b"/"):
        if _TRASH.fullmatch(part):
            return _IN_TRASH
        if _SNAPSHOT.fullmatch(part):
            return _IN_SNAPSHOT
        if _EMPTIED.fullmatch(part):
            return f"lies in {display.shown(part)}, which is emptied by the system or by a repair of the disk"
    if _TRASHES_WITHIN.search(folder + b"/"):
        return _IN_TRASH
    return _IN_SNAPSHOT if _SNAPSHOTS_WITHIN.search(folder + b"/") else None


def removed_already(name: bytes) -> str | None:
    """Return why a file by its own name is one that was removed, and is there for a while only; or None."""
    return "was removed already, and is kept for a while only" if _REMOVED.fullmatch(name) else None


def misplaced(path: bytes) -> str | None:
    """Return why a file by a path is neither a copy to count on nor one that goes, or None."""
    folder, name = os.path.split(path)
    return out_of_the_way(folder) or removed_already(name)


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
                    return _IN_SNAPSHOT
            if memory.holds(folder):
                return _IN_MEMORY
            if memory.is_unsure(folder):
                return _UNSURE
        return ""


_IN_MEMORY = "lies in memory: a restart removes it"
_UNSURE = "lies on an overlay that is volatile or of an unknown upper layer: a restart may remove it"
_IN_TRASH, _IN_SNAPSHOT = "lies in a trash", "lies in a snapshot"


def _top(folder: bytes, device: int) -> bytes:
    """Return the highest folder of a device, upwards from one of it."""
    while (above := os.path.dirname(folder)) != folder and os.stat(above).st_dev == device:
        folder = above
    return folder


def identity(folder: bytes) -> tuple[int, int] | None:
    """Return what tells one folder from another, None where it cannot be looked at."""
    try:
        seen = os.stat(folder)
    except OSError:
        return None
    return seen.st_dev, seen.st_ino
