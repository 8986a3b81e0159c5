"""The cache's file: opening it, telling what its failures mean, setting a damaged one aside.  Reads no row."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import time

from dedupe.cache import schema
from dedupe.errors import CacheError
from dedupe.storage import display

_ENDINGS = (".db", ".sqlite", ".sqlite3")  # of files that are databases even if they do not look like one any more
IMMUTABLE = "immutable=1"  # how a database in WAL mode can be opened where nothing may be written
_WAIT = 5.0  # seconds to wait for another process's write before going on without


def files_of(path: str) -> list[str]:
    """Return the files that a cache at `path` consists of; SQLite follows a link before it names its logs."""
    real = os.path.realpath(path)
    return [real + end for end in ("", "-wal", "-shm", "-journal", "-backends")]


def shown(path: str) -> str:
    """Return a path for a note: notes go into reports, which hold no lone surrogates."""
    return display.text(os.fsencode(path))


def connect(path: str, notes: list[str]) -> tuple[sqlite3.Connection, bool]:
    """Open a cache, made if need be; return the connection and whether it can be written.

    A broken one is set aside, told in `notes`, and a new one made.

    Raises:
        CacheError, sqlite3.Error, OSError: it cannot be used.
    """
    if os.path.isdir(path):
        raise CacheError("is a folder (name a file with --cache)")
    if os.path.exists(path) and not os.path.isfile(path):
        raise CacheError("is not a regular file (name another with --cache)")
    if not path.endswith(_ENDINGS):
        schema.refuse_data(path)
    try:
        return _open(path)
    except (sqlite3.DatabaseError, CacheError) as error:
        if not is_broken(error):
            raise
        notes.append(f"The cache {shown(path)} {explain(error)}.")
        notes += set_aside(path)
        return _open(path)


def uri(path: str, how: str) -> str:
    """Return the address by which SQLite opens a file in a certain way."""
    name = os.fsencode(path).replace(b"%", b"%25").replace(b"?", b"%3f").replace(b"#", b"%23")
    address = f"file:{os.fsdecode(name)}"
    if sys.platform == "win32":
        address = address.replace("\\", "/").replace("file:", "file:///", 1)
    return f"{address}?{how}"


def _open(path: str) -> tuple[sqlite3.Connection, bool]:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    if not os.path.exists(path):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # before SQLite does, which would ask the umask alone
    writable = os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK)
    if not writable and not os.access(path, os.R_OK):
        raise CacheError("may not be read by you (its owner can change that)")
    connection = sqlite3.connect(uri(path, "mode=rwc" if writable else IMMUTABLE), uri=True, timeout=_WAIT)
    try:
        schema.prepare(connection, path, writable=writable, wait=_WAIT)
    except BaseException:
        connection.close()
        raise
    return connection, writable


def is_broken(error: Exception) -> bool:
    """Return whether an error means that the file itself is damaged, not merely locked, full or someone else's."""
    if isinstance(error, schema.BrokenError):
        return True
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def explain(error: Exception) -> str:
    """Return what an error means, to follow the words "The cache PATH"."""
    if isinstance(error, CacheError):
        return str(error)
    if is_broken(error):
        return "is damaged"
    words = {
        sqlite3.SQLITE_BUSY: "is in use by another program that does not let go of it",
        sqlite3.SQLITE_LOCKED: "is in use by another program that does not let go of it",
        sqlite3.SQLITE_FULL: "cannot grow, since its disk is full",
        sqlite3.SQLITE_READONLY: "cannot be written",
        sqlite3.SQLITE_CANTOPEN: "cannot be opened (check who owns it and its folder)",
    }
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None and code & 0xFF in words:
        return words[code & 0xFF]
    return f"cannot be used ({getattr(error, 'strerror', None) or error})"


def set_aside(path: str) -> list[str]:
    """Rename a damaged cache so that nothing is lost; return notes for the user."""
    aside = f"{path}.damaged-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    try:
        for end in ("-wal", "-shm", "-journal"):
            with contextlib.suppress(FileNotFoundError):
                os.replace(path + end, aside + end)
        os.replace(path, aside)
    except OSError as error:
        return [f"It could not be set aside: {error.strerror}."]
    return [f"It was set aside as {shown(aside)}."]
