"""Whether files lie in memory in the end, whatever lies between: overlays, programs, images, disks made of memory.

Opens no file, and asks no server.
"""

from __future__ import annotations

import os
import re
import sys

_DEPTH = 8  # file systems that lie on each other: more would be a circle

if sys.platform == "linux":
    from dedupe.storage import block_devices, file_systems, layers, mountinfo

    _RAM_DISK = 1  # the major number (Documentation/admin-guide/devices.txt)

    def holds(path: bytes, depth: int = _DEPTH) -> bool:
        """Return whether a restart would take what lies at a path, or some of what it may be made of."""
        entry = mountinfo.table().find(os.path.realpath(path))
        if entry is None or not depth:
            return False
        if os.fsdecode(entry.kind) in file_systems.MEMORY:
            return True
        if entry.kind == b"overlay" or file_systems.is_fuse(os.fsdecode(entry.kind)):
            known = (folder for folder in layers.folders(entry) if folder.startswith(b"/"))  # others may lie anywhere
            return any(holds(folder, depth - 1) for folder in known)
        number = entry.device if os.major(entry.device) else block_devices.number_of(entry.source)
        return number is not None and _is_of_memory(number, depth - 1)

    def is_unsure(path: bytes) -> bool:
        """Return whether a path lies on an overlay that is `volatile`, or whose upper layer cannot be told.

        The one was told not to wait for its disk; the other's relative name may mean any folder.
        """
        entry = mountinfo.table().find(os.path.realpath(path))
        if entry is None or entry.kind != b"overlay":
            return False
        upper = entry.option(b"upperdir")
        if upper is not None and not upper.startswith(b"/"):
            return True
        return entry.option(b"volatile") is not None or entry.option(b"fsync") == b"volatile"  # of newer kernels

    def _is_of_memory(device: int, depth: int) -> bool:
        """Return whether a block device is one of memory, or lies on one, or is a file in memory."""
        if os.major(device) == _RAM_DISK or re.match(r"zram\d", block_devices.name(device)):
            return True
        if file := block_devices.backing_file(device):
            return holds(os.path.dirname(os.fsencode(file[0])), depth)
        return depth > 0 and any(_is_of_memory(each, depth - 1) for each in block_devices.parts(device))

else:

    def holds(path: bytes, depth: int = _DEPTH) -> bool:  # noqa: ARG001
        """Return False: this system does not tell what lies in memory."""
        return False

    def is_unsure(path: bytes) -> bool:  # noqa: ARG001
        """Return False: this system has no such overlays."""
        return False
