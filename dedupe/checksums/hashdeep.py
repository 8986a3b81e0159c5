"""The lists of hashdeep: a size, one or several digests and a path a line.  Opens no file.

See https://github.com/jessek/hashdeep and its manual; there are no escapes, so that not every path can be written.
"""

from __future__ import annotations

import re

from dedupe.checksums import algorithms
from dedupe.checksums.entry import Entry

_MARK = b"%%%% "
MAGIC = b"%%%% HASHDEEP-1.0"
WRITTEN = ("md5", "sha1", "sha256")  # what hashdeep knows of what is computed here
_STRONGEST_FIRST = ("sha256", "sha1", "md5")
_HEX = re.compile(rb"[0-9A-Fa-f]+")


def header(algorithm: str) -> bytes:
    """Return what a list of one algorithm begins with."""
    return b"%b\n%bsize,%b,filename\n" % (MAGIC, _MARK, algorithm.encode())


def line(path: bytes, digest: bytes, size: int) -> bytes | None:
    """Return the line of a file, with its end; None where the path cannot be written."""
    if b"\n" in path or b"\r" in path or path.startswith((b"%%%%", b"##")):
        return None
    return b"%d,%b,%b\n" % (size, digest.hex().encode(), path)


class Reader:
    """Reads lines one after the other: the header says which columns follow."""

    def __init__(self, algorithm: str | None) -> None:
        self._named = algorithm
        self._columns: list[str] = []

    def is_comment(self, text: bytes) -> bool:
        """Return whether a line holds no file; one that names the columns is remembered."""
        if text.startswith(_MARK):
            columns = text[len(_MARK) :].decode("ascii", "replace").split(",")
            if columns[0] == "size" and columns[-1] == "filename":
                self._columns = columns[1:-1]
            return True
        return text.startswith(b"##")

    def entry(self, text: bytes) -> Entry | None:
        """Return the file of a line with one digest: that which proves most, or was asked for; None without one."""
        size, *digests = text.split(b",", len(self._columns) + 1)
        if len(digests) != len(self._columns) + 1 or not size.isdigit():
            return None
        path = digests.pop()
        for name in _STRONGEST_FIRST if self._named is None else (self._named,):
            if name in self._columns:
                digest = digests[self._columns.index(name)]
                if not _HEX.fullmatch(digest) or len(digest) != 2 * algorithms.size(name) or not path:
                    return None
                return Entry(path, bytes.fromhex(digest.decode()), (name,), size=int(size))
        return None
