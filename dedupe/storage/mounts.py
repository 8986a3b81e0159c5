"""What lies under a path: a pseudo, network or local file system, a rotating disk or none.  Opens no user's file.

Tells facts only; what follows from them for reading is `schedule`'s to say.
"""

from __future__ import annotations

import functools
import os
import sys

if sys.platform == "win32":
    from dedupe.storage import windows

    def forget() -> None:
        """Look anew from now on: drives come and go between the scans of one process."""
        may_map.cache_clear()

    def pseudo() -> frozenset[bytes]:
        """Return the folders where a pseudo file system begins; here there are none."""
        return frozenset()

    @functools.cache
    def may_map(folder: bytes) -> bool:
        """Return whether files of a folder may be memory-mapped: on fixed local drives only."""
        return windows.drive_kind(folder) == "fixed"

    def is_network(folder: bytes) -> bool:
        """Return whether each read of a folder's files may wait for a server."""
        return windows.drive_kind(folder) == "remote"

    @functools.cache
    def rotating_disks(device: int, folder: bytes) -> frozenset[str]:  # noqa: ARG001
        """Return the rotating disks that files lie on; here nobody knows."""
        return frozenset()

else:
    from dedupe.storage import block_devices, file_systems, mountinfo

    _PSEUDO_PATHS = frozenset({b"/proc", b"/sys", b"/dev"})

    def forget() -> None:
        """Look anew from now on: file systems come and go between the scans of one process."""
        mountinfo.forget()
        may_map.cache_clear()
        rotating_disks.cache_clear()

    def pseudo() -> frozenset[bytes]:
        """Return the folders where a pseudo file system begins: their files are not data."""
        table = mountinfo.table()
        found = (entry for entry in table.entries if file_systems.is_pseudo(entry.kind))
        return _PSEUDO_PATHS | {entry.point for entry in found if table.find(entry.point) is entry}

    @functools.cache
    def may_map(folder: bytes) -> bool:
        """Return whether files of a folder may be memory-mapped: local file systems only, never network or FUSE."""
        kind = file_system(folder)
        if not kind:
            return sys.platform == "darwin" and not folder.startswith((b"/Volumes/", b"/Network/"))
        return not file_systems.is_network(kind) and not kind.startswith(b"fuse")

    def is_network(folder: bytes) -> bool:
        """Return whether each read of a folder's files may wait for a server, or for the program behind FUSE.

        Not so for `fuseblk`: its program waits for a disk of its own, which tells itself whether it rotates.
        """
        return file_system(folder) not in (b"", b"fuseblk") and not may_map(folder)

    @functools.cache
    def rotating_disks(device: int, folder: bytes) -> frozenset[str]:
        """Return the rotating disks that files lie on: two readers at once would only make their heads travel.

        Partitions of one disk share it; a RAID has several.  Empty where none rotates, or nothing is known.

        Args:
            device: the number that the files' status has.
            folder: where one of them lies; asked where the number is the file system's own, as on btrfs.
        """
        disk = block_devices.below(device, folder)
        return block_devices.rotating_disks(disk) if disk is not None else frozenset()

    def file_system(path: bytes) -> bytes:
        """Return the kind of file system that an absolute path lies on; empty where the system does not say."""
        entry = mountinfo.table().find(os.path.realpath(path))
        return entry.kind if entry else b""
