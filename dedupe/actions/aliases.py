"""One file under two mounts, which the system tells two devices of: overlays, bindfs, mergerfs, a server's own disk.

Removing it under one removes it under the other, so it is never a victim and a copy that stays.  Changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import NamedTuple

from dedupe.actions.apart import ONE, Folders
from dedupe.actions.looks import Look
from dedupe.storage import file_systems, volumes

ITSELF = "is the same file as a copy that stays"
SAID = ONE
_COARSE = 2_000_000_000  # ns by which a server or program may tell a date wrongly: FAT counts by so many


class Seen(NamedTuple):
    """A file, and the folders that it was seen in."""

    look: Look
    folder: bytes
    others: tuple[bytes, ...] = ()  # folders of further names


def one_file(a: Seen, b: Seen) -> bool:
    """Return whether two names may lead to one file, be it by two mounts, as far as exact dates tell.

    No copy has the time of change of its original, to the nanosecond; where a file system keeps none, only those that
    cannot show another's files are believed.
    """
    if a.look.identity == b.look.identity:
        return True
    if a.look.device == b.look.device or _dates(a.look) != _dates(b.look):
        return False
    return may_show_others(a) or may_show_others(b)


class Files:
    """Files that are known to be different ones; asking costs the same however many there are.

    Args:
        seen: the first of them.
        folders: finds out whether folders are one where dates tell nothing, for each pair anew; without it only dates
            that are equal to the last digit count.
    """

    def __init__(self, seen: Iterable[Seen] = (), folders: Folders | None = None) -> None:
        self._folders = folders
        self._identities: set[tuple[int, int]] = set()
        self._dated: dict[tuple[int, int, int], list[Seen]] = {}
        self._sized: dict[int, list[Seen]] = {}
        self._count = 0
        for each in seen:
            self.add(each)

    def __len__(self) -> int:
        return self._count

    def add(self, seen: Seen) -> bool:
        """Take a file in, unless it may be one that is known; return whether it was taken."""
        if self.has(seen):
            return False
        self._identities.add(seen.look.identity)
        self._dated.setdefault(_dates(seen.look), []).append(seen)
        self._sized.setdefault(seen.look.size, []).append(seen)
        self._count += 1
        return True

    def has(self, seen: Seen) -> bool:
        """Return whether a file may be one of those that are known."""
        return bool(self.reason(seen))

    def reason(self, seen: Seen) -> str:
        """Return why a file may be one of those that are known; empty where it is another one."""
        if seen.look.identity in self._identities:
            return ITSELF
        if any(one_file(seen, other) for other in self._dated.get(_dates(seen.look), ())):
            return SAID
        if self._folders is None:
            return ""
        reasons = (self._doubt(seen, other, self._folders) for other in self._sized.get(seen.look.size, ()))
        return next(filter(None, reasons), "")

    @staticmethod
    def _doubt(a: Seen, b: Seen, folders: Folders) -> str:
        """Return why two files under two mounts may be one where times of change do not tell; empty for two."""
        if a.look.device == b.look.device or not (_dates_alike(a) or _dates_alike(b)):
            return ""
        is_near = abs(a.look.modified_ns - b.look.modified_ns) <= _COARSE
        if not is_near and not (_dates_made_up(a) or _dates_made_up(b)):
            return ""
        pairs = product((a.folder, *a.others), (b.folder, *b.others))
        reason = next(filter(None, (folders.reason(*pair) for pair in pairs)), "")
        return reason if is_near or reason == ONE else ""


def _dates(look: Look) -> tuple[int, int, int]:
    return look.size, look.modified_ns, look.changed_ns


def may_show_others(seen: Seen) -> bool:
    """Return whether a file may be one of another mount, and be changed by way of that."""
    return file_systems.shows_others(_kind(seen))


def _dates_alike(seen: Seen) -> bool:
    """Return whether a file may be one of another mount, and its time of change does not tell."""
    return file_systems.dates_alike(_kind(seen))


def _dates_made_up(seen: Seen) -> bool:
    """Return whether not even its date of modification need be the true one: clouds may have none."""
    return file_systems.remembers_names(_kind(seen))


def _kind(seen: Seen) -> str:
    """Return the kind of file system of a file; of one that cannot be asked, that of a program."""
    try:
        return volumes.locate(seen.folder, seen.look.device).volume.file_system
    except OSError:
        return "fuse"
