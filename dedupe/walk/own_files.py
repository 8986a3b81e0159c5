"""The files that a scan itself writes, by whatever name they are met.  Writes none, and leaves none out itself."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

from dedupe.config import AnyPath
from dedupe.storage import file_stat, volumes
from dedupe.storage.paths import outside
from dedupe.storage.volume import Volume


class OwnFile(NamedTuple):
    """One of them, as it was when the walk began."""

    volume: Volume
    inode: int
    real: bytes  # its path without links; empty where only a descriptor is known

    def is_at(self, path: bytes, volume: Volume, inode: int) -> bool:
        """Return whether a file is this one: on this host its device tells, elsewhere its volume.

        Where another file may have its number, it must be at its place too, or be a further name of what is there.
        """
        if inode != self.inode:
            return False
        here = (self.volume.host, self.volume.device) == (volume.host, volume.device)
        if not (here or self.volume.is_same(volume)):
            return False
        return volume.stable_inodes or not self.real or _real(path) == self.real or _are_links(path, self.real)


def own_file(file: AnyPath | int) -> OwnFile | None:
    """Return what tells a file by its path or descriptor; None if it is not there or has no inode number."""
    try:
        if isinstance(file, int):
            device, inode = file_stat.identity(file)
            real = os.path.realpath(b"/proc/self/fd/%d" % file) if sys.platform == "linux" else b""
            volume = Volume("", f"device:{device}", volumes.host(), device)
        else:
            path = os.path.realpath(os.fsencode(file))
            device, inode = file_stat.identity(path)
            real = _real(path)
            volume = volumes.locate(os.path.dirname(path), device).volume
    except OSError:
        return None
    return OwnFile(volume, inode, real) if inode else None


def _real(path: bytes) -> bytes:
    """Return a path as it can be compared: without links, and on Windows without prefix and case."""
    return os.path.normcase(outside(os.path.realpath(path)))


def _are_links(one: bytes, other: bytes) -> bool:
    """Return whether two paths of one number are further names of one file, by all that is told of them."""
    try:
        first, second = os.stat(one), os.stat(other)
    except OSError:
        return False
    alike = (first.st_size, first.st_mtime_ns) == (second.st_size, second.st_mtime_ns)
    return alike and first.st_nlink == second.st_nlink > 1
