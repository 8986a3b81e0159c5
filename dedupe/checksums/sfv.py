"""The lines of SFV lists: a path and its CRC-32, without escapes, so that not every path can be written.

Opens no file.
"""

from __future__ import annotations

import re

from dedupe.checksums.entry import Entry

ALGORITHM = "crc32"
HEADER = b"; CRC-32, by dedupe\n"  # its first character says what kind of list it is
_LINE = re.compile(rb"(?P<path>.*[^ \t])[ \t]+(?P<digest>[0-9A-Fa-f]{8})[ \t]*", re.DOTALL)


def line(path: bytes, digest: bytes) -> bytes | None:
    """Return the line of a file, with its end; None where the path cannot be written."""
    if b"\n" in path or b"\r" in path or path != path.rstrip(b" \t"):
        return None
    name = b"./" + path if path.startswith(b";") else path  # a comment otherwise
    return b"%b %b\n" % (name, digest.hex().upper().encode())


def entry(text: bytes) -> Entry | None:
    """Return what a line says; None if it is none of these."""
    found = _LINE.fullmatch(text)
    return Entry(found["path"], bytes.fromhex(found["digest"].decode()), (ALGORITHM,)) if found else None
