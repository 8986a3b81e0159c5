"""The cache's file: opening it, telling what its failures mean, setting one aside that is of no use.  Reads no row."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from urllib.parse import quote_from_bytes

from dedupe.cache import schema
from dedupe.errors import CacheError
from dedupe.storage import display, sqlite_owner

_ENDINGS = (".db", ".sqlite", ".sqlite3")  # of files that are databases even if they do not look like one any more
IMMUTABLE = "immutable=1"  # how a database in WAL mode can be opened where nothing may be written
_WAIT = 5.0  # seconds to wait for another process's write before going on without


def files_of(path: str) -> list[str]:
    """Return the files that a cache at `path` consists of; SQLite follows a link before it names its logs."""
    real = os.path.realpath(path)
    return [real + end for end in ("", "-wal", "-shm", "-journal", "-backends")]


def as_text(path: str) -> str:
    """Return a path for a sentence: sentences go into reports, which hold no lone surrogates."""
    return display.text(os.fsencode(path))


def refuse_data(path: str) -> None:
    """Refuse a file that holds something, but no database.

    Raises:
        ForeignError: it does.
    """
    if sqlite_owner.holds_other_data(path):
        raise schema.ForeignError("is no cache, but a file that holds something else (name another with --cache)")


def connect(path: str, notes: list[str]) -> tuple[sqlite3.Connection, bool]:
    """Open a cache, made if need be; return the connection and whether it can be written.

    One that is damaged, or too old, is set aside, told in `notes`, and a new one made.

    Raises:
        CacheError, sqlite3.Error, OSError: it cannot be used.
    """
    if os.path.isdir(path):
        raise CacheError("is a folder (name a file with --cache)")
    if os.path.exists(path) and not os.path.isfile(path):
        raise CacheError("is not a regular file (name another with --cache)")
    if not path.endswith(_ENDINGS):
        refuse_data(path)
    before = _identity(path)
    try:
        return _open(path)
    except (sqlite3.DatabaseError, CacheError) as error:
        if not is_replaceable(error):
            raise
        if before == _identity(path):  # else another process was faster
            set_aside(path, error, notes)
        return _open(path)


@contextlib.contextmanager
def existing(
    path: str, *, ours: tuple[int, ...] = (sqlite_owner.CACHE,), change: bool = False, what: str = "cache"
) -> Iterator[sqlite3.Connection]:
    """Open a cache that is there, and close it at the end; unless `change`, nothing is written, renamed or made.

    Raises:
        CacheError: it is not there, is not ours, or cannot be used; or it turns out so while it is used.
    """
    name = as_text(path)
    if not os.path.exists(path):
        raise CacheError(f"There is no {what} at {name}.")
    try:
        connection = _open_existing(path, ours, change=change)
    except CacheError as error:
        may_go = change or sqlite_owner.EXPORT not in ours
        advice = ": the next scan sets it aside" if may_go and isinstance(error, schema.ReplaceableError) else ""
        raise CacheError(f"The {what} {name} {error}{advice}.") from error
    except (sqlite3.Error, OSError) as error:
        raise CacheError(f"The {what} {name} {explain(error)}.") from error
    try:
        with contextlib.closing(connection):
            yield connection
    except (sqlite3.Error, OSError) as error:
        raise CacheError(f"The {what} {name} {explain(error)}.") from error


def _open_existing(path: str, ours: tuple[int, ...], *, change: bool) -> sqlite3.Connection:
    if os.path.isdir(path):
        raise CacheError("is a folder")
    if sqlite_owner.holds_other_data(path):
        raise CacheError("is no database, but a file that holds something else")
    if change:
        return _open(path)[0]
    if not os.access(path, os.R_OK):
        raise CacheError("may not be read by you (its owner can change that)")
    connection = sqlite3.connect(uri(path, unchanged(path)), uri=True, timeout=_WAIT)
    try:
        if not schema.check(connection, ours):
            raise CacheError("is empty: no scan has filled it")
    except BaseException:
        connection.close()
        raise
    return connection


def unchanged(path: str) -> str:
    """Return how to read a database without leaving a trace: with its log where it has one, else as it stands."""
    log = os.path.realpath(path) + "-wal"
    return "mode=ro" if os.path.exists(log) and os.path.getsize(log) else IMMUTABLE


def uri(path: str, how: str) -> str:
    """Return the address by which SQLite opens a file in a certain way."""
    address = "file:" + quote_from_bytes(os.fsencode(path), safe="/:\\")  # also a name that is no text
    if sys.platform == "win32":
        address = address.replace("\\", "/").replace("file:", "file:///", 1)
    return f"{address}?{how}"


def _open(path: str) -> tuple[sqlite3.Connection, bool]:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    if not os.path.exists(path):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # before SQLite does, which would ask the umask alone
    writable = os.access(path, os.W_OK) and os.access(os.path.dirname(os.path.realpath(path)), os.W_OK)
    if not writable and not os.access(path, os.R_OK):
        raise CacheError("may not be read by you (its owner can change that)")
    connection = sqlite3.connect(uri(path, "mode=rwc" if writable else IMMUTABLE), uri=True, timeout=_WAIT)
    try:
        schema.prepare(connection, path, writable=writable, wait=_WAIT)
    except BaseException:
        connection.close()
        raise
    return connection, writable


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_replaceable(error: Exception) -> bool:
    """Return whether an error means that the file is of no use, not merely locked, full or someone else's."""
    if isinstance(error, schema.ReplaceableError):
        return True
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def explain(error: Exception) -> str:
    """Return what an error means, to follow the words "The cache PATH"."""
    if isinstance(error, CacheError):
        return str(error)
    if is_replaceable(error):
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


def set_aside(path: str, reason: Exception, notes: list[str]) -> None:
    """Rename a cache that is of no use, so that nothing is lost, and say so in one sentence.

    It is the file itself that gets another name, not a link that leads to it.

    Raises:
        CacheError: it cannot be renamed.
    """
    real = os.path.realpath(path)
    why = "version-1" if isinstance(reason, schema.OldError) else "damaged"
    aside = f"{real}.{why}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    try:
        for end in ("-wal", "-shm", "-journal"):
            with contextlib.suppress(FileNotFoundError):
                os.replace(real + end, aside + end)
        os.replace(real, aside)
    except OSError as error:
        raise CacheError(f"{explain(reason)} and could not be set aside ({error.strerror})") from error
    notes.append(
        f"The cache {as_text(path)} {explain(reason)}: it was set aside as {as_text(aside)}, and a new one begun."
    )
