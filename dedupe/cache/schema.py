"""The cache's tables: making them, telling the present version from others and ours from others'.  Reads no row.

sqlite_utils is imported only where something is to be made: it takes longer to start than a small scan.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time

from dedupe.errors import CacheError
from dedupe.storage.sqlite_owner import CACHE, EXPORT  # in PRAGMA application_id: what lacks it is not ours to touch

VERSION = 2  # of the tables below, in PRAGMA user_version.  Version 1 knew files by device number and whole path
COLUMNS = (
    ("volume", int),  # number in the table of volumes
    ("path", bytes),  # relative to the volume, with "/" between names on every system
    ("algorithm", str),  # of the digest, or what a scan without one confirmed by
    ("size", int),
    ("modified_ns", int),
    ("changed_ns", int),
    ("inode", None),  # a number, or text where it passes 2^63; 0 where numbers do not stay with their files
    ("read_ns", int),  # the clock before the file was looked at
    ("layout", int),  # version of the sample layout
    ("fingerprint", bytes),
    ("divergence", bytes),  # hash of where and how files of the same fingerprint were different
    ("digest", bytes),
    ("checksum", bytes),  # see `row_checksum`: a row that rotted, or is not of the file as it is now, is not believed
)
NAMES = ", ".join(name for name, _ in COLUMNS)

_KINDS = {bytes: " BLOB", str: " TEXT", int: " INTEGER", None: ""}
# Without a row number the key stands in one tree, not in two: half the time to write and to look up.  That is all for
# which sqlite_utils has no words of its own.
_FILES = (
    f"CREATE TABLE files ({', '.join(f'{name}{_KINDS[kind]}' for name, kind in COLUMNS)}, "
    "PRIMARY KEY (volume, path, algorithm)) WITHOUT ROWID"
)
_VOLUMES = {"number": int, "id": str, "label": str, "file_system": str, "read_ns": int}  # the newest of its files
_ROOTS = {"volume": int, "path": bytes, "reached": bytes, "inode": str, "scanned": str}
_TABLES = {"volumes": frozenset(_VOLUMES), "roots": frozenset(_ROOTS), "files": frozenset(name for name, _ in COLUMNS)}


class ForeignError(CacheError):
    """The database is another program's, or a newer dedupe's: it must stay as it is."""


class ReplaceableError(CacheError):
    """The database is ours but of no use: a scan sets it aside and begins a new one."""


class BrokenError(ReplaceableError):
    """The database is damaged."""


class OldError(ReplaceableError):
    """The database has the tables of an earlier version, which know no volumes."""


def check(connection: sqlite3.Connection, ours: tuple[int, ...] = (CACHE,)) -> bool:
    """Return whether the tables are there and right; False means that they are still to be made.

    Args:
        connection: the database.
        ours: application ids that are expected.

    Raises:
        ForeignError: the file is not ours to change.
        ReplaceableError: it is ours, and of no use.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if not tables and not application:
        return False
    if application == EXPORT and EXPORT not in ours:
        raise ForeignError("is an export: `dedupe cache import` takes its rows into a cache")
    if application not in ours:
        raise ForeignError("belongs to another program")
    if version > VERSION:
        raise ForeignError(f"was made by a newer dedupe (version {version} of its tables, this one knows {VERSION})")
    if version == 1:
        raise OldError("was made by an earlier dedupe, which did not know on which disk a file lies")
    for table, names in _TABLES.items():
        if not names <= {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}:
            raise BrokenError("is damaged: it lacks tables or columns")
    if version != VERSION:
        raise BrokenError(f"is damaged: its tables have no version {version}")
    return True


def make(connection: sqlite3.Connection, application: int = CACHE) -> None:
    """Make the tables in one transaction; harmless where another process was faster."""
    from sqlite_utils import Database

    database = Database(connection)
    with database.atomic():
        if check(connection, (application,)):
            return
        database.execute(_FILES)
        database.table("volumes").create(_VOLUMES, pk="number").create_index(["id"], unique=True)
        database.table("roots").create(_ROOTS, pk=("volume", "path", "reached"))
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute(f"PRAGMA application_id = {application}")


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
