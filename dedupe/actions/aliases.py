"""One file under two mounts, which the system tells two devices of: overlays, bindfs, mergerfs, a server's own disk.

Removing it under one removes it under the other, so it is never a victim and a copy that stays.  Changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dedupe.actions.looks import Look
from dedupe.storage import file_systems, volumes

SAID = "seems to be the same file as a copy that stays, by way of another mount"


class Seen(NamedTuple):
    """A file, and the folder that it was seen in."""

    look: Look
    folder: bytes


def one_file(a: Seen, b: Seen) -> bool:
    """Return whether two names may lead to one file, be it by two mounts.

    No copy has the time of change of its original, to the nanosecond; where a file system keeps none, only those that
    cannot show another's files are believed.
    """
    if a.look.identity == b.look.identity:
        return True
    if a.look.device == b.look.device or _dates(a.look) != _dates(b.look):
        return False
    return may_show_others(a) or may_show_others(b)


class Files:
    """Files that are known to be different ones; asking costs the same however many there are."""

    def __init__(self, seen: Iterable[Seen] = ()) -> None:
        self._identities: set[tuple[int, int]] = set()
        self._dated: dict[tuple[int, int, int], list[Seen]] = {}
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
        self._count += 1
        return True

    def has(self, seen: Seen) -> bool:
        """Return whether a file may be one of those that are known."""
        if seen.look.identity in self._identities:
            return True
        return any(one_file(seen, other) for other in self._dated.get(_dates(seen.look), ()))


def _dates(look: Look) -> tuple[int, int, int]:
    return look.size, look.modified_ns, look.changed_ns


def may_show_others(seen: Seen) -> bool:
    """Return whether a file may be one of another mount, and be changed by way of that."""
    try:
        kind = volumes.locate(seen.folder, seen.look.device).volume.file_system
    except OSError:
        return True
    return file_systems.shows_others(kind)
