"""Whose an SQLite database is, told from the first bytes of its file.  Opens none as a database, and changes none."""

from __future__ import annotations

MAGIC = b"SQLite format 3\0"
CACHE = 0x64656475  # "dedu" in PRAGMA application_id
REPORT = 0x64656472  # "dedr"
CATALOG = 0x64656463  # "dedc": what a disk holds
EXPORT = 0x64656478  # "dedx": rows of a cache on their way to another

_AT = 68  # where the number stands: https://www.sqlite.org/fileformat.html#the_database_header


def is_database(path: str | bytes) -> bool:
    """Return whether a file is an SQLite database.

    Raises:
        OSError: it cannot be read.
    """
    return _begin(path).startswith(MAGIC)


def application_of(path: str | bytes) -> int | None:
    """Return the number that the program has which made a database: 0 if it gave none, None for no database.

    Raises:
        OSError: it cannot be read.
    """
    begin = _begin(path)
    return int.from_bytes(begin[_AT:], "big") if begin.startswith(MAGIC) and len(begin) == _AT + 4 else None


def holds_other_data(path: str | bytes) -> bool:
    """Return whether a file holds something, but no database; no for one that cannot be read or is not there."""
    try:
        begin = _begin(path)
    except OSError:
        return False
    return bool(begin) and not begin.startswith(MAGIC)


def _begin(path: str | bytes) -> bytes:
    with open(path, "rb") as file:
        return file.read(_AT + 4)
