"""Which volume a folder lies on, by an identity that outlives a mount, and where in it.  Reads no user's file.

A volume is known by its UUID or serial number, or by its server and export.  The device number that `stat` tells is
made up at each mount, so it is a hint within one run on one host: never stored, never compared across hosts or runs.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Volume:
    """A file system, and what its numbers are worth."""

    id: str  # such as "uuid:…", "serial:…", "export:…"; equal wherever and whenever the volume is mounted
    instance: str  # tells clones, which share their id, apart within one run on one host
    host: str  # that looked
    device: int  # st_dev there
    file_system: str = ""
    label: str = ""
    mount_point: bytes = b""  # one of them, as the user would write it
    stable_inodes: bool = True  # an inode number stays with its file, also over mounts
    keeps_change_time: bool = True  # the change time moves with every change, and no program can put it back

    def is_same(self, other: Volume) -> bool:
        """Return whether both are one volume as far as is known: across hosts, only the id can tell."""
        return self.id == other.id and (self.instance == other.instance or self.host != other.host)


@dataclass(frozen=True, slots=True)
class Mount:
    """Where a tree of folders, under the name by which it was reached, lies in its volume."""

    volume: Volume
    prefix: bytes  # of paths as they were reached, with a separator at its end
    base: bytes  # the same folder in the volume, "/" between names: empty at the volume's root, else ends in "/"
    linked: bool = False  # reached through a symbolic link, so that the same folder has another name

    def relative(self, folder: bytes) -> bytes:
        """Return the path in the volume of a folder below the prefix; both end in a separator."""
        return self.base + folder[len(self.prefix) :].replace(os.fsencode(os.sep), b"/")


NOWHERE = Mount(Volume("", "", "", 0, stable_inodes=False), b"", b"")  # of a folder whose volume nobody asked for


@cache
def host() -> str:
    """Return what this machine is known by."""
    return platform.node()


def locate(folder: bytes, device: int) -> Mount:
    """Return where an absolute folder lies.

    Args:
        folder: as it was reached; ends in a separator or not.
        device: its `st_dev`.

    Raises:
        OSError: it is not there any more.
    """
    prefix = os.path.join(folder, b"")
    real = os.path.join(os.path.realpath(folder), b"")
    volume = Volume(f"device:{device}", f"device:{device}", host(), device, mount_point=real)
    return Mount(volume, prefix, real.lstrip(b"/"), linked=real != prefix)


def mounted(volume_id: str) -> list[Mount]:
    """Return where a volume is mounted now."""
    number = volume_id.removeprefix("device:")
    device = int(number) if number.isdigit() else 0
    return [Mount(Volume(volume_id, volume_id, host(), device), os.path.join(os.sep, "").encode(), b"")]


def points() -> frozenset[bytes]:
    """Return the folders where a mount begins, without a separator at the end, as far as the system lists them."""
    return frozenset()


def forget() -> None:
    """Look anew from now on: file systems come and go between the scans of one process."""
