"""Looking after a cache file: what is in it, what is out of date, emptying it.  Scans nothing, and begins no cache."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dedupe.cache import places
from dedupe.cache.database import existing

_PART = 1000  # files dropped by one statement

# another program may have written there: what is nothing names nothing
_REACHED = "SELECT DISTINCT CAST(reached AS BLOB) FROM roots WHERE reached IS NOT NULL ORDER BY 1"
_ROOTS = "SELECT CAST(path AS BLOB), inode FROM roots WHERE volume = ? AND path IS NOT NULL"


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What a cache holds."""

    path: str
    disk_bytes: int
    files: int
    digests: dict[str, int]  # by algorithm
    roots: list[bytes]  # as they were reached


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many files were dropped and kept."""

    dropped: int
    kept: int


def info(path: str) -> CacheInfo:
    """Return what a cache holds, and change nothing.

    Raises:
        CacheError: it is not there or cannot be used.
    """
    with existing(path) as connection:
        real = os.path.realpath(path)
        digests = "SELECT algorithm, count(*) FROM files WHERE digest IS NOT NULL GROUP BY algorithm ORDER BY algorithm"
        return CacheInfo(
            path=path,
            disk_bytes=sum(os.path.getsize(real + end) for end in ("", "-wal") if os.path.exists(real + end)),
            files=files_in(connection),
            digests=dict(connection.execute(digests)),
            roots=[
                row[0]
                for row in connection.execute(
                    "SELECT DISTINCT CAST(reached AS BLOB) FROM roots WHERE reached IS NOT NULL ORDER BY 1"
                )
            ],
        )


def files_in(connection: sqlite3.Connection) -> int:
    """Return how many files a database has rows of: one by several algorithms has several rows."""
    count: int = connection.execute("SELECT count(*) FROM (SELECT DISTINCT volume, path FROM files)").fetchone()[0]
    return count


def prune(path: str) -> Pruned:
    """Drop the rows of files that are gone, and return how many files went and stayed.

    A file is gone if it is at none of the places where its volume is mounted now.  Only files are asked for that lie
    below a scanned folder that can be listed now and is the folder that it was: a disk that is away loses nothing.

    Raises:
        CacheError: the cache is not there or cannot be used.
    """
    with existing(path, change=True) as connection:
        before = files_in(connection)
        for number, volume_id in connection.execute("SELECT number, id FROM volumes").fetchall():
            mounts = places.mounts_of(str(volume_id))
            if mounts:
                known = connection.execute(_ROOTS, (number,))
                roots = [root for root, inode in known if places.is_readable(mounts, root, inode)]
                files = _below_any(connection, number, roots)
                _drop(connection, number, [file for file in files if places.is_gone(mounts, bytes(file))])
            elif str(volume_id).startswith(places.BOOT):  # will never be mounted again
                _drop_below(connection, number, b"")
        return _pruned(connection, before)


def prune_root(path: str, folders: Iterable[bytes]) -> Pruned:
    """Drop the rows of all files below absolute folders, whether they are there or not; return what went and stayed.

    Raises:
        CacheError: the cache is not there or cannot be used.
    """
    with existing(path, change=True) as connection:
        before = files_in(connection)
        for folder in folders:
            for volume, inside in places.remembered_below(connection, folder):
                _drop_below(connection, volume, inside)
        return _pruned(connection, before)


def _below_any(connection: sqlite3.Connection, volume: int, roots: list[bytes]) -> Iterator[bytes]:
    """Yield the paths that a volume's rows have below some folders, each once."""
    roots.sort()
    last = None
    for root in roots:
        if last is not None and root.startswith(last):
            continue
        last = root
        condition, values = places.below(root)
        query = f"SELECT DISTINCT CAST(path AS BLOB) FROM files WHERE volume = ? AND {condition}"  # noqa: S608
        for (file,) in connection.execute(query, (volume, *values)):
            yield file


def _drop(connection: sqlite3.Connection, volume: int, files: list[bytes]) -> None:
    for first in range(0, len(files), _PART):
        rows = [(volume, bytearray(file)) for file in files[first : first + _PART]]
        with connection:
            connection.executemany("DELETE FROM files WHERE volume = ? AND path = ?", rows)


def _drop_below(connection: sqlite3.Connection, volume: int, folder: bytes) -> None:
    condition, values = places.below(folder)
    with connection:
        for table in ("files", "roots"):
            connection.execute(f"DELETE FROM {table} WHERE volume = ? AND {condition}", (volume, *values))  # noqa: S608


def _pruned(connection: sqlite3.Connection, before: int) -> Pruned:
    """Return what a database has lost since it had so many files; volumes without any go too, and the space."""
    with connection:
        connection.execute(
            "DELETE FROM volumes WHERE number NOT IN (SELECT volume FROM roots UNION SELECT volume FROM files)"
        )
    _shrink(connection)
    kept = files_in(connection)
    return Pruned(before - kept, kept)


def clear(path: str) -> int:
    """Forget everything and give the space back; return the bytes that the cache still takes.

    Raises:
        CacheError: the cache is not there or cannot be used.
    """
    with existing(path, change=True) as connection:
        with connection:
            for table in ("files", "roots", "volumes"):
                connection.execute(f"DELETE FROM {table}")  # noqa: S608 - the names are ours
        _shrink(connection)
    return os.path.getsize(path)


def _shrink(connection: sqlite3.Connection) -> None:
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
