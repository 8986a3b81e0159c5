"""Whether a file that is not where marks have it is gone, or its volume is away.  Looks at folders only."""

from __future__ import annotations

import os
from collections.abc import Iterable

from dedupe.actions import looks
from dedupe.actions.copies import Copy, Name
from dedupe.actions.marks import MarkedFile
from dedupe.actions.places import existing, volume_of

_AWAY = "its volume is not there: mount it, then run this again"
_NO_ROOT = "the folder that was scanned is not there: mount its volume, or scan again"


class Away:
    """What is known of the volumes of marks.

    Marks have the ids of volumes, which last, and the devices of files, which are numbered anew when a volume is
    mounted again.  Which device was which volume is learnt from the files that are there.

    Args:
        volumes: the ids; none in marks of the page.
    """

    def __init__(self, volumes: Iterable[str]) -> None:
        self._ids = {each for each in volumes if each}
        self._known: dict[int, str] = {}  # by a device as the marks have it: the id that its volume has
        self._now: dict[bytes, tuple[int | None, str]] = {}

    def note(self, file: MarkedFile, copy: Copy) -> None:
        """Learn from a file that is there."""
        if file.device is not None and file.device not in self._known:
            self._known[file.device] = self._at(copy.names[0])[1]

    def reason(self, file: MarkedFile, name: Name) -> str | None:
        """Return why a name that is not there may not be gone; None where it is."""
        device, volume = self._at(name)
        if self._ids and volume not in self._ids:
            return _AWAY
        if file.device is None:
            root = name.folder if name.path == name.root else os.path.realpath(name.root)
            return None if os.path.isdir(root) else _NO_ROOT
        if file.device == device:
            return None
        if file.device in self._known:
            return None if self._known[file.device] == volume else _AWAY
        return _AWAY if volume in self._known.values() or volume not in self._ids else None

    def _at(self, name: Name) -> tuple[int | None, str]:
        """Return the device and the id of the volume where a name lies, or would lie."""
        if name.folder not in self._now:
            try:
                self._now[name.folder] = looks.at(existing(name.folder)).device, volume_of(name.real)[1]
            except OSError:
                self._now[name.folder] = None, ""
        return self._now[name.folder]
