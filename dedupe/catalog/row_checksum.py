"""Checksums of what a catalog says: a row that a failing disk changed is told, and never believed.  Reads no database.

Eight bytes a row: a changed one fits by chance once in 2^64.  It is no protection against somebody who forges rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import xxhash

_FILE = b"%a/%a/%a/%a/%a/%b/%b/%b"  # numbers as they are stored, of whatever type; the name, of any length, is last

_COLUMNS = 9  # of a row, its checksum among them


def of_file(row: tuple[Any, ...]) -> bytes:
    """Return the checksum of a file's row.

    Args:
        row: folder, name, size, modified_ns, changed_ns, inode, fingerprint and digest.

    Raises:
        TypeError: a value is none that was ever stored.
    """
    folder, name, size, modified_ns, changed_ns, inode, fingerprint, digest = row
    return xxhash.xxh3_64_digest(
        _FILE % (folder, size, modified_ns, changed_ns, inode, fingerprint or b"", digest or b"", name)
    )


def of_values(*values: object) -> bytes:
    """Return the checksum of anything else: a folder, a volume, or what a catalog says of itself."""
    return xxhash.xxh3_64_digest(repr(values).encode("utf-8", "surrogatepass"))


def whole_files(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the rows of files that are as they were written; whatever stands after their checksums is let be."""
    checksum, form = xxhash.xxh3_64_digest, _FILE
    try:  # `of_file` written out: a catalog may have millions
        return [
            row
            for row in rows
            if checksum(form % (row[0], row[2], row[3], row[4], row[5], row[6] or b"", row[7] or b"", row[1])) == row[8]
        ]
    except TypeError:
        return [row for row in rows if is_file_whole(row[:_COLUMNS])]


def is_file_whole(row: tuple[Any, ...]) -> bool:
    """Return whether a file's row, its checksum at the end, is as it was written."""
    try:
        return bool(of_file(row[:-1]) == row[-1])
    except TypeError:
        return False
