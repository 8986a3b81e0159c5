"""From paths in volumes, as a cache has them, to where they lie now, and from folders to such paths.  Reads no file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence

from dedupe.storage import file_stat, volumes
from dedupe.storage.volume import Mount

BOOT = "boot:"  # begins the id of a volume that ends with the mount or the machine's run, such as a tmpfs
_SEPARATOR = os.fsencode(os.sep)


def mounts_of(volume_id: str) -> list[Mount]:
    """Return where a volume is mounted now, without mount points that another file system has taken over."""
    found = []
    for mount in volumes.mounted(volume_id):
        try:
            if file_stat.identity(mount.prefix, follow=True)[0] == mount.volume.device:
                found.append(mount)
        except OSError:
            continue
    return found


def is_readable(mounts: Sequence[Mount], root: bytes, inode: str) -> bool:
    """Return whether a scanned folder can be listed now, and is the folder that it was.

    Args:
        mounts: of its volume.
        root: its path in the volume.
        inode: its number then, "0" where none stays.
    """
    for mount, place in _places(mounts, root):
        try:
            device, number = file_stat.identity(place, follow=True)
            with os.scandir(place):
                if device == mount.volume.device and inode in ("0", str(number)):
                    return True
        except OSError:
            continue
    return False


def is_gone(mounts: Sequence[Mount], file: bytes) -> bool:
    """Return whether a file is at none of the places where its volume shows it; no where that cannot be seen."""
    answers = [_is_gone(mount, place) for mount, place in _places(mounts, file)]
    return bool(answers) and all(answers)


def _places(mounts: Sequence[Mount], path: bytes) -> Iterator[tuple[Mount, bytes]]:
    """Yield where a path in a volume lies now."""
    for mount in mounts:
        if path.startswith(mount.base):
            yield mount, mount.prefix + path[len(mount.base) :].replace(b"/", _SEPARATOR)


def _is_gone(mount: Mount, place: bytes) -> bool:
    try:
        os.lstat(place)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # no file can have a NUL in its name
        pass
    except OSError:
        return False
    else:
        return False
    folder = os.path.dirname(place)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    try:  # another file system may be mounted over the folder that held it
        return file_stat.identity(folder, follow=True)[0] == mount.volume.device
    except OSError:
        return False


def remembered_below(connection: sqlite3.Connection, folder: bytes) -> list[tuple[int, bytes]]:
    """Return under which volumes, by number, and paths in them an absolute folder is remembered, there or not.

    Asked are the volume on which it, or the nearest folder above it that is there, lies now, and the roots of scans,
    which keep the name by which they were reached then.
    """
    found = {*_by_parent(connection, folder), *_by_roots(connection, os.path.join(folder, b""))}
    return sorted(found)


def _by_parent(connection: sqlite3.Connection, folder: bytes) -> Iterator[tuple[int, bytes]]:
    there = folder
    while not os.path.isdir(there) and os.path.dirname(there) != there:
        there = os.path.dirname(there)
    try:
        mount = volumes.locate(there, file_stat.identity(there, follow=True)[0])
    except OSError:
        return
    begin = os.path.join(there, b"")
    path = mount.relative(begin) + os.path.join(folder, b"")[len(begin) :].replace(_SEPARATOR, b"/")
    for (number,) in connection.execute("SELECT number FROM volumes WHERE id = ?", (mount.volume.id,)):
        yield number, path


def _by_roots(connection: sqlite3.Connection, folder: bytes) -> Iterator[tuple[int, bytes]]:
    for volume, path, root in connection.execute("SELECT volume, path, reached FROM roots"):
        if not isinstance(path, bytes) or not isinstance(root, bytes):  # another program wrote into it
            continue
        reached = os.path.join(root, b"")
        if folder.startswith(reached):
            yield volume, path + folder[len(reached) :].replace(_SEPARATOR, b"/")
        elif reached.startswith(folder):
            yield volume, path


def below(path: bytes) -> tuple[str, tuple[bytearray, ...]]:
    """Return a condition on `path` of a table, with its values: that it lies below a folder of the volume."""
    if not path:
        return "1", ()
    return "path >= ? AND path < ?", (bytearray(path), bytearray(path[:-1] + b"0"))  # what follows "/"
