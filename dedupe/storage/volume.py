"""What a volume is and where a folder lies in it, by identities that outlive a mount.  Asks no file system.

A volume is known by its UUID or serial number, or by its server and export.  The device number that `stat` tells is
made up at each mount, so it is a hint within one run on one host: never stored, never compared across hosts or runs.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import NamedTuple


class Volume(NamedTuple):
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
    offline: bool = False  # only a catalog tells of it: nothing on it can be opened

    def is_same(self, other: Volume) -> bool:
        """Return whether both are one volume as far as is known: across hosts, only the id can tell."""
        return self.id == other.id and (self.instance == other.instance or self.host != other.host)

    def shares_file_system(self, other: Volume) -> bool:
        """Return whether both go when one of them is formatted: one volume, or subvolumes of one file system.

        A catalog's volume has the catalog before its id, and is the one with the rest of the id wherever that is.
        """
        if (self.host, self.device) == (other.host, other.device) and not self.offline:
            return True
        mine, theirs = self._file_system(), other._file_system()
        is_clone = self.instance != other.instance and self.host == other.host
        return bool(mine) and mine == theirs and not is_clone

    def _file_system(self) -> str:
        known = self.id.removeprefix(f"{self.host}:") if self.offline else self.id
        return ":".join(known.split(":")[:2]) if self.file_system == "btrfs" and known.startswith("uuid:") else known


class Mount(NamedTuple):
    """Where a tree of folders, under the name by which it was reached, lies in its volume."""

    volume: Volume
    prefix: bytes  # of paths as they were reached, with a separator at its end
    base: bytes  # the same folder in the volume, "/" between names: empty at the volume's root, else ends in "/"
    linked: bool = False  # reached through a symbolic link, so that the same folder has another name

    def relative(self, folder: bytes) -> bytes:
        """Return the path in the volume of a folder below the prefix; both end in a separator."""
        return self.base + folder[len(self.prefix) :].replace(os.fsencode(os.sep), b"/")


NOWHERE = Mount(Volume("", "", "", 0, stable_inodes=False), b"", b"")  # of a folder whose volume nobody asked for


def as_base(*parts: bytes) -> bytes:
    """Return parts of a path in a volume as one: without a slash before it, with one after it unless it is empty."""
    path = b"/".join(part.strip(b"/") for part in parts if part.strip(b"/"))
    return path and path + b"/"


def by_uuid(uuid: bytes) -> str:
    """Return the id of a volume with a UUID of 16 bytes; empty for one of zeros, which many volumes have."""
    text = uuid.hex()
    return f"uuid:{'-'.join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))}" if any(uuid) else ""


def by_serial(serial: int, file_system: str) -> str:
    """Return the id of a volume with a serial number: the file system belongs to it, as short numbers meet easily."""
    return f"serial:{serial:016x}:{file_system.lower()}" if serial else ""


def by_share(share: str) -> str:
    r"""Return the id of a share of a Windows or Samba server, written as `//server/share` or as `\\server\share`."""
    return "export:smb:" + share.replace("/", "\\").rstrip("\\").lower()


def by_machine(*words: str) -> str:
    """Return the id of what only this machine can name: another one may use the same words for something else."""
    return ":".join(("host", _machine(), *words))


@cache
def host() -> str:
    """Return what this machine is known by while it runs: device numbers mean the same where this is equal.

    Copies of a virtual machine often have one name; each start of a Linux kernel has a number of its own.
    """
    return f"{_name()}/{boot()}" if boot() else _name()


@cache
def boot() -> str:
    """Return the number of this start of the kernel; nothing where the system has none."""
    return _line("/proc/sys/kernel/random/boot_id") if sys.platform == "linux" else ""


@cache
def _machine() -> str:
    """Return a short hash of this machine's number, which `man machine-id` asks not to show, or of its name."""
    import hashlib

    known = "" if sys.platform == "win32" else _line("/etc/machine-id") or _line("/var/lib/dbus/machine-id")
    return hashlib.blake2b((known or _name()).encode(), digest_size=8, person=b"dedupe").hexdigest()


def _name() -> str:
    if sys.platform == "win32":
        return os.environ.get("COMPUTERNAME", "")
    else:  # noqa: RET505 - the form that mypy understands
        return os.uname().nodename


def _line(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return ""
