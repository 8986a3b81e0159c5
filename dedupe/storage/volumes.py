"""Which volume a folder lies on, by an identity that outlives a mount, and where in it.  Reads no user's file.

Each system has a module of its own that finds the answers; this one has the questions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Protocol

from dedupe.storage.volume import Mount, Volume, host

__all__ = ["Mount", "System", "Volume", "forget", "has_clones", "host", "locate", "mounted", "points", "use"]


class System(Protocol):
    """An operating system as far as it knows volumes; the functions below say what each answers."""

    def locate(self, folder: bytes, device: int) -> Mount:
        """Return where an absolute folder lies."""

    def points(self) -> frozenset[bytes]:
        """Return the folders where a mount begins."""

    def mounted(self, volume_id: str) -> list[Mount]:
        """Return where a volume can be reached now."""

    def forget(self) -> None:
        """Look anew from now on."""


_in_use: list[System] = []  # the last one answers


def locate(folder: bytes, device: int) -> Mount:
    """Return where an absolute folder lies.

    Args:
        folder: as it was reached; ends in a separator or not.
        device: its `st_dev`.

    Raises:
        OSError: it is not there any more.
    """
    return _system().locate(folder, device)


def points() -> frozenset[bytes]:
    """Return the folders where a mount begins, without a separator at the end, as far as the system lists them."""
    return _system().points()


def mounted(volume_id: str) -> list[Mount]:
    """Return where a volume can be reached now: each mount point and what it shows of the volume.

    Clones of the volume are among them.  A subvolume of btrfs that no mount begins with is not found.
    """
    return _system().mounted(volume_id)


@cache
def has_clones(volume_id: str) -> bool:
    """Return whether several volumes of one id are mounted now, such as a disk and a copy of its image.

    What is written to both in one tick of the clock can be alike in all that `stat` tells.
    """
    return len({mount.volume.instance for mount in mounted(volume_id)}) > 1


def forget() -> None:
    """Look anew from now on: file systems come and go between the scans of one process."""
    has_clones.cache_clear()
    _system().forget()


@contextmanager
def use(system: System) -> Iterator[None]:
    """Have another system answer for a while, such as one of a test."""
    _in_use.append(system)
    has_clones.cache_clear()
    try:
        yield
    finally:
        _in_use.remove(system)
        has_clones.cache_clear()


def _system() -> System:
    if not _in_use:
        _in_use.append(_this_system())
    return _in_use[-1]


def _this_system() -> System:
    # imported when asked for the first time: no command but those that look at files needs it
    if sys.platform == "linux":
        from dedupe.storage.linux_volumes import LinuxVolumes as Volumes
    elif sys.platform == "win32":
        from dedupe.storage.windows_volumes import WindowsVolumes as Volumes
    else:
        from dedupe.storage.macos_volumes import MacVolumes as Volumes
    return Volumes()
