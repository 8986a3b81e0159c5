"""Which file another file system only shows: an overlay, bindfs or mergerfs has files that lie in folders elsewhere.

Such a file has a device and often an inode of its own, so that nothing that `stat` tells says it is the other one.
Opens no file.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator

_DEPTH = 4  # file systems that show each other: more would be a circle

if sys.platform == "linux":
    import re
    from contextlib import suppress
    from itertools import islice

    from dedupe.storage import file_systems, mountinfo

    _LAYERS = ("upperdir", "lowerdir+", "lowerdir")  # of an overlay, in the order in which they hide each other

    def identities(path: bytes, depth: int = _DEPTH) -> Iterator[tuple[int, int]]:
        """Yield device and inode of the files that a file shows, as far as the system can tell and reach them."""
        real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        entry = mountinfo.table().find(real)
        for shown in _shown(entry, real) if entry and depth else ():
            yield from _identity(shown)
            yield from identities(shown, depth - 1)

    def shows_others(folder: bytes) -> bool:
        """Return whether files of a folder may be ones that lie elsewhere, where this process can reach them."""
        entry = mountinfo.table().find(os.path.realpath(folder))
        if entry is None:
            return False
        if entry.kind == b"overlay":
            return any(map(os.path.isdir, _layers(entry)))  # those of a container's root are out of its reach
        return entry.kind == b"fuse.mergerfs" or (_is_fuse(entry) and any(map(os.path.isdir, _sources(entry))))

    def folders(entry: mountinfo.Entry) -> list[bytes]:
        """Return the folders, or files with a file system, that a mount shows, as far as the system tells."""
        if entry.kind == b"overlay":
            return list(_layers(entry))
        if entry.kind == b"fuse.mergerfs":  # the source has but the ends of their names
            with suppress(OSError):
                branches = os.getxattr(os.path.join(entry.point, b".mergerfs"), "user.mergerfs.branches")
                return [branch.rpartition(b"=")[0] or branch for branch in branches.split(b":")]
        # a source that begins otherwise is a server's
        return _sources(entry) if entry.source.startswith(b"/") else []

    def _is_fuse(entry: mountinfo.Entry) -> bool:
        return file_systems.is_fuse(os.fsdecode(entry.kind))

    def _identity(path: bytes) -> Iterator[tuple[int, int]]:
        try:
            seen = os.lstat(path)
        except OSError:  # of this layer there is none, or it is hidden from this process, as in a container
            return
        if stat.S_ISREG(seen.st_mode):
            yield seen.st_dev, seen.st_ino

    def _shown(entry: mountinfo.Entry, path: bytes) -> Iterator[bytes]:
        """Yield where the file may lie that a path leads to."""
        inside = entry.root.strip(b"/"), path[len(entry.point) :].strip(b"/")
        place = b"/".join(filter(None, inside))
        if entry.kind == b"overlay":
            candidates = (os.path.join(layer, place) for layer in _layers(entry))
            yield from islice(filter(os.path.lexists, candidates), 1)  # it hides the others
        elif _is_fuse(entry):
            try:
                yield os.getxattr(path, "user.mergerfs.fullpath")
            except OSError:  # it is another program's
                yield from (os.path.join(folder, place) for folder in _sources(entry))

    def _sources(entry: mountinfo.Entry) -> list[bytes]:
        """Return the folders that are mounted: bindfs and others mount what they show."""
        return [folder for folder in entry.source.split(b":") if folder.startswith(b"/")]

    def _layers(entry: mountinfo.Entry) -> Iterator[bytes]:
        """Yield the folders that an overlay is made of, the topmost first; a backslash stands before `:` in names."""
        for name in _LAYERS:
            for value in re.findall(
                rb"(?:^|(?<!\\),)" + re.escape(name.encode()) + rb"=((?:\\.|[^,\\])*)", entry.options
            ):
                folders = [value] if name != "lowerdir" else re.split(rb"(?<!\\):+", value)
                for folder in folders:
                    yield re.sub(rb"\\([:,\\])", rb"\1", mountinfo.unescaped(folder))

else:

    def identities(path: bytes, depth: int = _DEPTH) -> Iterator[tuple[int, int]]:  # noqa: ARG001
        """Yield nothing: this system does not tell what a file system shows."""
        return iter(())

    def shows_others(folder: bytes) -> bool:  # noqa: ARG001
        """Return False: this system does not tell what a file system shows."""
        return False
