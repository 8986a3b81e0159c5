"""Which names are of places that hold files for a while only: trashes, snapshots, finds of a repair.  Looks nothing up.

A copy there is none to count on, whatever it holds: somebody, or the system, will remove it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from dedupe.storage import display

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
_IN_TRASH, IN_SNAPSHOT = "lies in a trash", "lies in a snapshot"


def out_of_the_way(folder: bytes) -> str | None:
    """Return why a file in a folder is no copy to count on, or None."""
    folder = folder.replace(b"\\", b"/")
    for part in folder.split(b"/"):
        if _TRASH.fullmatch(part):
            return _IN_TRASH
        if _SNAPSHOT.fullmatch(part):
            return IN_SNAPSHOT
        if _EMPTIED.fullmatch(part):
            return f"lies in {display.shown(part)}, which is emptied by the system or by a repair of the disk"
    if _TRASHES_WITHIN.search(folder + b"/"):
        return _IN_TRASH
    return IN_SNAPSHOT if _SNAPSHOTS_WITHIN.search(folder + b"/") else None


def removed_already(name: bytes) -> str | None:
    """Return why a file by its own name is one that was removed, and is there for a while only; or None."""
    return "was removed already, and is kept for a while only" if _REMOVED.fullmatch(name) else None


def misplaced(path: bytes) -> str | None:
    """Return why a file by a path is neither a copy to count on nor one that goes, or None."""
    folder, name = os.path.split(path)
    return out_of_the_way(folder) or removed_already(name)


def lasts(names: Iterable[bytes]) -> bool:
    """Return whether a file with these names may be the copy that stays: one of them lies in no such place."""
    return not all(map(misplaced, names))
