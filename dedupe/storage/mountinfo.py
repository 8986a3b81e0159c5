"""What is mounted where, as Linux lists it in /proc/self/mountinfo (man 5 proc).  Asks no file system.

The only reader of that list; elsewhere it is empty.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

assert sys.platform != "win32"  # there nobody asks

_PATH = "/proc/self/mountinfo"


class Entry(NamedTuple):
    """One mount."""

    id: int
    parent: int  # id of the mount that its point lies in
    device: int  # st_dev of the super block; files of btrfs and overlay may tell others
    root: bytes  # the folder of the file system that the mount begins with: a bind mount's, a subvolume's
    point: bytes  # where
    kind: bytes  # of file system
    source: bytes  # what is mounted: a block device's path, a server's name, or a mere word
    options: bytes  # of the super block, as they are written there

    def option(self, name: bytes) -> bytes | None:
        """Return the value of an option, empty where it has none; None where the option is not set."""
        for each in self.options.split(b","):
            key, _, value = each.partition(b"=")
            if key == name:
                return unescaped(value)
        return None


class Table:
    """The mounts of one moment.  Which of them a path reaches follows from their tree, not from their names alone."""

    def __init__(self, listed: bytes) -> None:
        self.entries = [entry for entry in map(_entry, listed.split(b"\n")) if entry]
        ids = {entry.id for entry in self.entries}
        self._above: dict[tuple[int | None, bytes], Entry] = {}  # of two in one place, the later one lies above
        for entry in self.entries:
            known = entry.parent in ids and entry.parent != entry.id  # else it is where this process's view begins
            self._above[entry.parent if known else None, entry.point] = entry

    def find(self, path: bytes) -> Entry | None:
        """Return the mount that an absolute path without links lies on, or None where the system does not say.

        A mount over a folder hides those that were mounted below it before.
        """
        found = self._top(None, b"/")
        at = path.find(b"/", 1)
        while at > 0:
            found = self._top(found, path[:at])
            at = path.find(b"/", at + 1)
        return found if len(path) <= 1 else self._top(found, path.rstrip(b"/"))

    @functools.cached_property
    def points(self) -> frozenset[bytes]:
        """Return the folders where a mount begins."""
        return frozenset(entry.point for entry in self.entries)

    def visible(self) -> Iterator[Entry]:
        """Yield the mounts that are not hidden by others."""
        return (entry for entry in self.entries if self.find(entry.point) is entry)

    def _top(self, below: Entry | None, point: bytes) -> Entry | None:
        for _ in self.entries:  # a broken list might go round in a circle
            above = self._above.get((below.id if below else None, point))
            if above is None:
                break
            below = above
        return below


@functools.cache
def table() -> Table:
    """Return what is mounted, as it was when first asked."""
    try:
        with open(_PATH, "rb") as listed:
            return Table(listed.read())
    except OSError:
        return Table(b"")


def forget() -> None:
    """Read the list anew when asked the next time."""
    table.cache_clear()


def unescaped(name: bytes) -> bytes:
    r"""Return a name with `\040` and its like put back."""
    return re.sub(rb"\\([0-3][0-7]{2})", lambda octal: bytes([int(octal[1], 8)]), name) if b"\\" in name else name


def _entry(line: bytes) -> Entry | None:
    """Return what a line says; None for one that is not of the known form."""
    fields = line.split(b" ")
    try:
        end = fields.index(b"-", 6)  # of the optional fields
        kind, source, options = fields[end + 1 : end + 4]
        major, minor = map(int, fields[2].split(b":"))
        number, parent, device = int(fields[0]), int(fields[1]), os.makedev(major, minor)
    except (ValueError, OverflowError):
        return None
    root, point, kind, source = map(unescaped, (fields[3], fields[4], kind, source))
    return Entry(number, parent, device, root, point, kind, source, options)
