"""The file of a catalog: making and opening it, saying what is wrong with it.  Reads no file's row.

One SQLite database without a log beside it while it is not written, so that it can be copied, and carried on a stick.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from urllib.parse import quote

from dedupe.catalog.head import CatalogVolume, Head
from dedupe.catalog.row_checksum import of_values
from dedupe.compare import fingerprint
from dedupe.errors import NothingUsableError, UsageError
from dedupe.storage import display, sqlite_owner
from dedupe.storage.paths import outside

_ROOT_VOLUME = 1  # the number of that which the root lies on
VERSION = 2  # of the tables, in PRAGMA user_version; 1 had no checksums and did not say what was left out
_TABLES = """
CREATE TABLE catalog (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE volumes (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL, label TEXT NOT NULL, file_system TEXT NOT NULL, checksum BLOB NOT NULL
);
CREATE TABLE folders (
  number INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, volume INTEGER NOT NULL, inside BLOB NOT NULL,
  checksum BLOB NOT NULL
);
CREATE TABLE files (
  folder INTEGER NOT NULL, name BLOB NOT NULL, size INTEGER NOT NULL, modified_ns NOT NULL, changed_ns, inode NOT NULL,
  fingerprint BLOB, digest BLOB, checksum BLOB NOT NULL, PRIMARY KEY (folder, name)
) WITHOUT ROWID;
CREATE TABLE problems (path BLOB NOT NULL, kind TEXT NOT NULL, message TEXT NOT NULL);
"""  # changed_ns is null where the file was not at rest: its row is right, but will not spare reading it again
_TABLES_1 = """
CREATE TABLE catalog (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE volumes (number INTEGER PRIMARY KEY, id TEXT NOT NULL, label TEXT NOT NULL, file_system TEXT NOT NULL);
CREATE TABLE folders (
  number INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, volume INTEGER NOT NULL, inside BLOB NOT NULL
);
CREATE TABLE files (
  folder INTEGER NOT NULL, name BLOB NOT NULL, size INTEGER NOT NULL, modified_ns NOT NULL, changed_ns, inode NOT NULL,
  fingerprint BLOB, digest BLOB, PRIMARY KEY (folder, name)
) WITHOUT ROWID;
"""


def tables(version: int = VERSION) -> dict[str, str]:
    """Return the statements that make the tables of a version, by their names."""
    made = [each.strip() for each in (_TABLES if version > 1 else _TABLES_1).split(";")]
    return {each.split()[2]: each for each in made if each}


def make(path: str, head: Head, volume: CatalogVolume) -> sqlite3.Connection:
    """Return a new catalog without files, open for writing; an empty file, as a kill leaves it, becomes one.

    Args:
        path: of the catalog.
        head: what it says of itself.
        volume: that its root lies on.

    Raises:
        UsageError: there is something already.
        NothingUsableError: it cannot be made.
    """
    is_there = os.path.lexists(path)
    if is_there and (not os.path.isfile(path) or os.path.getsize(path)):
        raise UsageError(f"{_text(path)} is there already: name another file, or `catalog update` it.")
    try:
        os.close(os.open(path, os.O_RDWR | (0 if is_there else os.O_CREAT | os.O_EXCL), 0o666))
    except OSError as error:
        raise NothingUsableError(f"The catalog {_text(path)} cannot be made: {error.strerror}.") from error
    connection = sqlite3.connect(_uri(path, "mode=rw"), uri=True)
    try:  # all at once: after a kill there is a whole catalog, or an empty file
        numbers = f"PRAGMA application_id = {sqlite_owner.CATALOG}; PRAGMA user_version = {VERSION};"
        connection.executescript(f"BEGIN IMMEDIATE; {numbers} {_TABLES}")
        write_head(connection, head)
        connection.execute("INSERT INTO volumes VALUES (?, ?, ?, ?, ?)", (*volume, of_values(*volume)))
        connection.commit()
    except sqlite3.Error as error:
        connection.close()
        discard(path)
        raise damaged(path, error) from error
    return connection


def has_files(path: str) -> bool:
    """Return whether a catalog tells of any file; yes where it cannot be asked."""
    try:
        with contextlib.closing(sqlite3.connect(_uri(path, "mode=ro"), uri=True)) as connection:
            return connection.execute("SELECT 1 FROM files").fetchone() is not None
    except sqlite3.Error:
        return True


def was_never_made(path: str) -> bool:
    """Return whether a catalog was killed while its tables were written: taking that back leaves an empty file."""
    try:
        with contextlib.closing(sqlite3.connect(_uri(path, "mode=rw"), uri=True)) as connection:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        return os.path.getsize(path) == 0
    except (OSError, sqlite3.Error, UnicodeDecodeError):  # the last in words about damage
        return False


def discard(path: str) -> None:
    """Remove a catalog that nothing came of."""
    for file in files_of(path):
        with contextlib.suppress(OSError):
            os.unlink(file)


def opened(path: str, *, change: bool = False) -> sqlite3.Connection:
    """Return a catalog, open for reading, or for writing too.

    Raises:
        UsageError: the file is no catalog, or one of a newer dedupe.
        NothingUsableError: it cannot be read.
    """
    try:
        ours = sqlite_owner.application_of(path) == sqlite_owner.CATALOG
    except OSError as error:
        raise NothingUsableError(f"The catalog {_text(path)} cannot be read: {error.strerror}.") from error
    if not ours:
        raise UsageError(f"{_text(path)} is no catalog: `dedupe catalog create` makes one.")
    try:
        connection = sqlite3.connect(_uri(path, "mode=rw" if change else "mode=ro"), uri=True)
        if version_of(connection) > VERSION:
            connection.close()
            raise UsageError(f"The catalog {_text(path)} was made by a newer dedupe, which this one cannot read.")
    except sqlite3.Error as error:
        raise damaged(path, error) from error
    return connection


def damaged(path: str | bytes, error: Exception) -> NothingUsableError:
    """Return what to raise for a catalog that cannot be read or written as one."""
    return NothingUsableError(f"The catalog {_text(path)} cannot be used: {error}.")


def head_of(connection: sqlite3.Connection, path: str | bytes) -> Head:
    """Return what a catalog says of itself.

    Raises:
        NothingUsableError: it is damaged, or its fingerprints are of another kind than ours.
    """
    try:
        rows = dict(connection.execute("SELECT key, value FROM catalog").fetchall())
        head = Head.of_rows(rows, checked=is_checked(connection))
    except (KeyError, TypeError) as error:
        raise NothingUsableError(f"The catalog {_text(path)} is damaged: it lacks {error}.") from error
    if head.layout != fingerprint.LAYOUT:
        raise NothingUsableError(f"The catalog {_text(path)} was made by another version of dedupe: make it anew.")
    return head


def refuse_unsound(connection: sqlite3.Connection, path: str) -> None:
    """Refuse a catalog whose pages do not fit together: what is written into it might be lost.

    Raises:
        NothingUsableError: it is damaged.
    """
    told = connection.execute("PRAGMA integrity_check(1)").fetchone()
    made = {row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    if told != ("ok",) or made != set(tables(version_of(connection)).values()):
        raise NothingUsableError(f"The catalog {_text(path)} is damaged: remove it, and make it anew.")


def volumes_of(connection: sqlite3.Connection, path: str | bytes) -> dict[int, CatalogVolume]:
    """Return the volumes of a catalog by their numbers.

    Raises:
        NothingUsableError: it is damaged.
    """
    rows = connection.execute("SELECT * FROM volumes").fetchall()
    whole = all(isinstance(value, str) for row in rows for value in row[1:4])
    whole = whole and all(row[4:] in ((), (of_values(*row[:4]),)) for row in rows)
    if not whole or _ROOT_VOLUME not in dict.fromkeys(row[0] for row in rows):
        raise NothingUsableError(f"The catalog {_text(path)} is damaged: what it says of volumes is lost.")
    return {row[0]: CatalogVolume(*row[:4]) for row in rows}


def version_of(connection: sqlite3.Connection) -> int:
    """Return the version of the tables of a catalog."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def is_checked(connection: sqlite3.Connection) -> bool:
    """Return whether a catalog has checksums."""
    return version_of(connection) > 1


def problems_of(connection: sqlite3.Connection) -> list[tuple[bytes, str, str]]:
    """Return path, kind and message of what could not be read when a catalog was last finished."""
    if not is_checked(connection):
        return []
    return connection.execute("SELECT path, kind, message FROM problems ORDER BY path").fetchall()


def write_head(connection: sqlite3.Connection, head: Head) -> None:
    """Store what a catalog says of itself."""
    connection.executemany("INSERT OR REPLACE INTO catalog VALUES (?, ?)", head.as_rows())


def number(value: int) -> int | str:
    """Return a number as it is stored: as text where SQLite has no integer so large."""
    return value if -(1 << 63) <= value < 1 << 63 else str(value)


def _uri(path: str, how: str) -> str:
    return f"file:{quote(os.fsencode(os.path.abspath(path)))}?{how}"


def _text(path: str | bytes) -> str:
    return display.text(outside(os.fsencode(path)))


def files_of(path: str) -> list[bytes]:
    """Return the files that a catalog occupies while it is written."""
    real = os.path.realpath(path)
    return [os.fsencode(real + end) for end in ("", "-journal", "-wal", "-shm")]


@contextlib.contextmanager
def closing(connection: sqlite3.Connection, path: str) -> Iterator[sqlite3.Connection]:
    """Close a catalog in the end, and turn its errors into one sentence."""
    try:
        with contextlib.closing(connection):
            yield connection
    except sqlite3.Error as error:
        raise damaged(path, error) from error
    except UnicodeDecodeError as error:  # in SQLite's own words about what is damaged
        raise NothingUsableError(f"The catalog {_text(path)} is damaged: its text cannot be read.") from error
