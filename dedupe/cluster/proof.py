"""What shows that two machines see the same folder: when it was changed, its number, and the names in it.

Times of change are kept by the file system itself, most to the nanosecond, and no program can set them: folders that
agree in all of it are one, or copies of one disk made block by block.  Where a file system makes numbers up, as sshfs
does, what is mounted must have the same name too.
"""

from __future__ import annotations

import hashlib
import os
from itertools import islice
from typing import NamedTuple, TypeAlias

from dedupe.walk.mount_points import located

FolderStat: TypeAlias = tuple[int, int, int]  # modified and changed in ns, inode
_NAMES = 4096  # of a folder with more, names are not compared: the listing would take too long


class RootProof(NamedTuple):
    """What one machine sees of a folder; equal on two machines means the same folder."""

    stat: FolderStat  # its inode is 0 where the file system makes numbers up
    names: bytes  # a digest of all names in it; empty where they are too many
    volume: bytes  # identity and path in it, where numbers are made up; else empty: servers have several names


class WantedRoot(NamedTuple):
    """A folder that a worker should see."""

    here: bytes
    candidates: tuple[bytes, ...]  # paths that it may have on the worker, the likeliest first
    proof: RootProof
    stable_inodes: bool


def look(folder: bytes) -> FolderStat:
    """Return what dates and numbers a folder.

    Raises:
        OSError: it is not there.
    """
    seen = os.stat(folder)
    return seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino


def prove(folder: bytes, *, stable_inodes: bool) -> RootProof:
    """Return what this machine sees of a folder.

    Args:
        folder: an absolute path.
        stable_inodes: whether its number is the file system's own.

    Raises:
        OSError: it cannot be listed.
    """
    modified, changed, inode = look(folder)
    mount = b""
    if not stable_inodes:
        lies = located(folder)
        mount = os.fsencode(lies.volume.id) + b"/" + lies.relative(os.path.join(folder, b""))
    names = sorted(islice(os.listdir(folder), _NAMES + 1))
    told = b"".join(len(name).to_bytes(4, "big") + name for name in names) if len(names) <= _NAMES else None
    digest = b"" if told is None else hashlib.sha256(told).digest()
    return RootProof((modified, changed, inode if stable_inodes else 0), digest, mount)


def wanted(here: bytes, candidates: tuple[bytes, ...]) -> WantedRoot:
    """Return what to ask a worker about a folder.

    Raises:
        OSError: it cannot be listed here.
    """
    stable = located(here).volume.stable_inodes
    return WantedRoot(here, candidates, prove(here, stable_inodes=stable), stable)


def find(root: WantedRoot) -> tuple[bytes, str]:
    """Return at which of its candidates a folder lies on this worker, or an empty path and the reason why at none."""
    why: list[str] = []
    for path in root.candidates:
        shown = path.decode(errors="backslashreplace")
        try:
            if prove(path, stable_inodes=root.stable_inodes) == root.proof:
                return path, ""
            why.append(f"{shown} is another folder there")
        except FileNotFoundError:
            why.append(f"it has no {shown}")
        except OSError as error:
            why.append(f"it cannot list {shown} ({error.strerror})")
    return b"", ", ".join(why)
