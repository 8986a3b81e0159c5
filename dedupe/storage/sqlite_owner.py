"""Whose an SQLite file is, by what its head says: whoever would write there asks first.  Opens no database."""

from __future__ import annotations

MAGIC = b"SQLite format 3\0"
_HEAD = 72  # bytes; https://www.sqlite.org/fileformat.html#the_database_header
_APPLICATION = slice(68, 72)


def owner(path: str | bytes) -> int | None:
    """Return the application id of a database, 0 where it has none; None for what is no database.

    Raises:
        OSError: the file is not there or cannot be read.
    """
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    return int.from_bytes(head[_APPLICATION], "big") if head.startswith(MAGIC) else None


def holds_other_data(path: str | bytes) -> bool:
    """Return whether a file holds something, but no database; no for one that cannot be read or is not there."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) not in (b"", MAGIC)
    except OSError:
        return False
