"""The cache's tables: making them, changing them from version to version, telling ours from others'.  Reads no row.

sqlite_utils is imported only where something is to be made: it takes longer to start than a small scan.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time

from dedupe.errors import CacheError

VERSION = 1  # of the tables below, in PRAGMA user_version; raise it with a step in `make`
APPLICATION = 0x64656475  # "dedu" in PRAGMA application_id: a database without it is not ours to touch
COLUMNS = (
    ("path", bytes),
    ("algorithm", str),  # of the digest, or what a scan without one confirmed by
    ("size", int),
    ("modified_ns", int),
    ("changed_ns", int),
    ("device", str),  # as text, like inode: both may pass 2^63
    ("inode", str),
    ("read_ns", int),  # the clock before the file was looked at
    ("layout", int),  # version of the sample layout
    ("fingerprint", bytes),
    ("marks", bytes),  # of places where files of the same fingerprint were different
    ("digest", bytes),
    ("seal", bytes),  # see `seals`: a row that rotted, or is not of the file as it is now, is not believed
)

_KINDS = {bytes: "BLOB", str: "TEXT", int: "INTEGER"}
# Without a row number the key stands in one tree, not in two: half the time to write and to look up.  That is all for
# which sqlite_utils has no words of its own.
_FILES = (
    f"CREATE TABLE files ({', '.join(f'{name} {_KINDS[kind]}' for name, kind in COLUMNS)}, "
    "PRIMARY KEY (path, algorithm)) WITHOUT ROWID"
)
_MAGIC = b"SQLite format 3\0"
_ROOTS = {"path": bytes, "device": str, "inode": str, "scanned": str}


class ForeignError(CacheError):
    """The database is another program's, or a newer dedupe's: it must stay as it is."""


class BrokenError(CacheError):
    """The database is ours but cannot be used: it is set aside."""


def is_database(path: str) -> bool:
    """Return whether a file is an SQLite database, or could become one: it is empty, or not there."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) in (b"", _MAGIC)
    except OSError:  # opening it as a database tells the reason
        return True


def refuse_data(path: str) -> None:
    """Refuse a file that holds something, but no database.

    Raises:
        ForeignError: it does.
    """
    if not is_database(path):
        raise ForeignError("is no cache, but a file that holds something else (name another with --cache)")


def check(connection: sqlite3.Connection) -> bool:
    """Return whether the tables are there and right; False means that they are still to be made.

    Raises:
        ForeignError: the file is not ours to change.
        BrokenError: it is ours and lacks something.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if not tables and not application:
        return False
    if application != APPLICATION:
        raise ForeignError("belongs to another program")
    if version > VERSION:
        raise ForeignError(f"was made by a newer dedupe (version {version} of its tables, this one knows {VERSION})")
    there = {row[1] for row in connection.execute("PRAGMA table_info(files)")}
    roots = {row[1] for row in connection.execute("PRAGMA table_info(roots)")}
    if version < 1 or not (there.issuperset(name for name, _ in COLUMNS) and roots.issuperset(_ROOTS)):
        raise BrokenError("has not the tables that its version says")
    return True


def make(connection: sqlite3.Connection) -> None:
    """Make the tables in one transaction; harmless where another process was faster."""
    from sqlite_utils import Database

    database = Database(connection)
    with database.atomic():
        if check(connection):
            return
        database.execute(_FILES)
        database.table("roots").create(_ROOTS, pk="path")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")


def prepare(connection: sqlite3.Connection, path: str, *, writable: bool, wait: float) -> None:
    """Make an open database ready.

    Tries again for `wait` seconds while others do so too: SQLite itself does not wait for a change of mode.
    """
    end = time.monotonic() + wait
    while True:
        try:
            made = check(connection)  # first of all: another program's database is not changed in any way
            if writable:
                if sys.platform != "win32" and os.stat(path).st_uid == os.geteuid():
                    os.chmod(path, 0o600)
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute("PRAGMA wal_autocheckpoint = 16384")  # pages: a checkpoint waits for the disk
            connection.execute("PRAGMA cache_size = -16384")  # KiB: look-ups and writes go all over the index
            if not made:
                make(connection)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.02)
        else:
            return
