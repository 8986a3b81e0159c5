"""Taking rows from one cache to another by way of a file, such as to the computer that a disk goes to.  Scans nothing.

An export has the tables of a cache and another application id, so that neither is taken for the other.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dedupe.cache import database, places, row_checksum, schema
from dedupe.cache.database import as_text, existing
from dedupe.cache.maintenance import files_in
from dedupe.compare import fingerprint
from dedupe.errors import CacheError
from dedupe.storage import display, sqlite_owner

_PART = 1 << 14  # rows in memory at a time
_COPY_FILES = f"INSERT OR IGNORE INTO files ({schema.NAMES}) SELECT {schema.NAMES} FROM cache.files"  # noqa: S608
_COPY_ROOTS = (
    "INSERT OR IGNORE INTO roots (volume, path, reached, inode, scanned) "
    "SELECT volume, path, reached, inode, scanned FROM cache.roots"
)
_COPY_VOLUMES = (
    "INSERT INTO volumes (number, id, label, file_system, read_ns) "
    "SELECT number, id, label, file_system, read_ns FROM cache.volumes WHERE number IN (SELECT volume FROM files)"
)
_TAKE = (
    f"INSERT INTO files ({schema.NAMES}) VALUES ({', '.join('?' * len(schema.COLUMNS))}) "  # noqa: S608
    "ON CONFLICT (volume, path, algorithm) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name, _ in schema.COLUMNS[3:])
    + " WHERE excluded.read_ns > files.read_ns"
)
_ENTER = (
    "INSERT INTO volumes (id, label, file_system, read_ns) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (id) DO UPDATE SET read_ns = max(read_ns, excluded.read_ns)"
)


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of the rows of an export."""

    taken: int  # new here, or newer than what was known
    known: int  # not newer than what was known
    left_out: int  # whose checksum does not fit


def export(path: str, target: str, folders: Sequence[bytes] = ()) -> int:
    """Write the rows of a cache, or those below some absolute folders, to a new file; return of how many files.

    Raises:
        CacheError: the cache cannot be used, nothing is remembered below a folder, or the target holds something else.
    """
    _refuse_target(target)
    with existing(path) as connection:
        wanted = [place for folder in folders for place in _of_folder(connection, folder)]
    target = os.path.realpath(target)  # a link stays one
    part = f"{target}.part-{os.getpid()}"
    try:
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with contextlib.closing(sqlite3.connect(database.uri(part, "mode=rw"), uri=True)) as copy:
            schema.make(copy, sqlite_owner.EXPORT)
            copy.execute("ATTACH DATABASE ? AS cache", (database.uri(path, database.unchanged(path)),))
            with copy:
                _copy(copy, wanted if folders else [(None, b"")])
            files = files_in(copy)
        os.replace(part, target)
    except (OSError, sqlite3.Error) as error:
        raise CacheError(f"The export {as_text(target)} could not be written: {_why(error)}.") from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(part)
    return files


def _refuse_target(target: str) -> None:
    """Refuse to replace anything but an earlier export.

    Raises:
        CacheError: there is something else.
    """
    if os.path.lexists(target):
        try:
            earlier = os.path.isfile(target) and sqlite_owner.application_of(target) == sqlite_owner.EXPORT
        except OSError:
            earlier = False
        if not earlier:
            raise CacheError(f"{as_text(target)} is there and is no earlier export: name another file.")


def _of_folder(connection: sqlite3.Connection, folder: bytes) -> list[tuple[int, bytes]]:
    """Return volumes and paths of a folder that something is remembered of.

    Raises:
        CacheError: nothing is.
    """
    found = []
    for volume, inside in places.remembered_below(connection, folder):
        condition, values = places.below(inside)
        query = f"SELECT 1 FROM files WHERE volume = ? AND {condition} LIMIT 1"  # noqa: S608
        if connection.execute(query, (volume, *values)).fetchone():
            found.append((volume, inside))
    if not found:
        raise CacheError(f"Nothing is remembered below {display.text(folder)}, so that there is nothing to export.")
    return found


def _copy(copy: sqlite3.Connection, wanted: Sequence[tuple[int | None, bytes]]) -> None:
    """Copy what lies below some folders of volumes; no number stands for any volume."""
    for volume, folder in wanted:
        condition, values = places.below(folder)
        for statement in (_COPY_FILES, _COPY_ROOTS):
            where = f" WHERE volume = ifnull(?, volume) AND {condition}"
            copy.execute(statement + where, (volume, *values))
    copy.execute(_COPY_VOLUMES)
    copy.execute("DELETE FROM roots WHERE volume NOT IN (SELECT number FROM volumes)")


def import_(path: str, source: str) -> Imported:
    """Take the rows of an export, or of another cache, into a cache, which is made if need be; newer rows win.

    Raises:
        CacheError: either cannot be used; then nothing has changed.
    """
    if os.path.exists(path) and os.path.exists(source) and os.path.samefile(path, source):
        raise CacheError(f"{as_text(source)} is the cache itself.")
    with existing(source, ours=(sqlite_owner.CACHE, sqlite_owner.EXPORT), what="export") as rows:
        if rows.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise CacheError(f"The export {as_text(source)} is damaged.")
        with _destination(path) as connection:
            return _take(connection, rows, source)


@contextlib.contextmanager
def _destination(path: str) -> Iterator[sqlite3.Connection]:
    """Open the cache that takes rows in, made if need be.

    Raises:
        CacheError: it cannot be used.
    """
    if os.path.exists(path):
        with existing(path, change=True) as connection:
            yield connection
        return
    try:
        connection, _ = database.connect(path, [])
    except (CacheError, sqlite3.Error, OSError) as error:
        raise CacheError(f"The cache {as_text(path)} {database.explain(error)}.") from error
    with contextlib.closing(connection):
        yield connection


def _take(connection: sqlite3.Connection, rows: sqlite3.Connection, source: str) -> Imported:
    """Take all rows in by one transaction, so that a damaged source changes nothing."""
    taken = known = left_out = 0
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        numbers = _enter_volumes(connection, rows)
        for part in _parts(rows, source):
            good = [(numbers[row[0]][0], *row[1:]) for row in part if _fits(row, numbers)]
            before = connection.total_changes
            connection.executemany(_TAKE, good)
            taken += connection.total_changes - before
            known += len(good) - (connection.total_changes - before)
            left_out += len(part) - len(good)
    return Imported(taken, known, left_out)


def _enter_volumes(connection: sqlite3.Connection, rows: sqlite3.Connection) -> dict[object, tuple[int, str]]:
    """Enter volumes and roots of an export; return number here and id of each volume by its number there."""
    numbers: dict[object, tuple[int, str]] = {}
    for number, *values in rows.execute("SELECT number, id, label, file_system, read_ns FROM volumes"):
        if isinstance(values[0], str) and isinstance(values[3], int):
            connection.execute(_ENTER, values)
            known = connection.execute("SELECT number FROM volumes WHERE id = ?", values[:1]).fetchone()
            numbers[number] = known[0], values[0]
    for volume, *root in rows.execute("SELECT volume, path, reached, inode, scanned FROM roots"):
        if volume in numbers and isinstance(root[0], bytes) and isinstance(root[1], bytes):
            connection.execute("INSERT OR IGNORE INTO roots VALUES (?, ?, ?, ?, ?)", (numbers[volume][0], *root))
    return numbers


def _parts(rows: sqlite3.Connection, source: str) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of an export.

    Raises:
        CacheError: it is damaged.
    """
    try:
        found = rows.execute(f"SELECT {schema.NAMES} FROM files")  # noqa: S608 - the names are ours
        while part := found.fetchmany(_PART):
            yield part
    except sqlite3.Error as error:
        raise CacheError(f"The export {as_text(source)} {database.explain(error)}.") from error


def _fits(row: tuple[Any, ...], numbers: dict[object, tuple[int, str]]) -> bool:
    """Return whether a row is whole: its checksum fits what it says itself."""
    values = dict(zip((name for name, _ in schema.COLUMNS), row, strict=True))
    if values["volume"] not in numbers or not isinstance(values["read_ns"], int):
        return False
    try:
        packed = row_checksum.pack(values["size"], values["modified_ns"], values["changed_ns"], int(values["inode"]))
        parts = (packed, values["fingerprint"], values["digest"] or b"", values["divergence"], values["path"])
        salt = row_checksum.salt(numbers[values["volume"]][1], values["algorithm"])
        return bool(
            row_checksum.checksum(salt.join(parts)) == values["checksum"]
            and len(values["fingerprint"]) == fingerprint.WIDTH
        )
    except (struct.error, TypeError, ValueError):  # another program wrote into it
        return False


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
