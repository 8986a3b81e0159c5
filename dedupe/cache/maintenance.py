"""Looking after a cache file: what is in it, what is out of date, emptying it.  Scans nothing."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from dedupe.cache.database import connect, explain
from dedupe.errors import CacheError

_AT_ONCE = 1000  # rows dropped by one statement


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What a cache holds."""

    path: str
    disk_bytes: int
    files: int
    digests: dict[str, int]  # by algorithm
    roots: list[bytes]


@contextlib.contextmanager
def _opened(path: str) -> Iterator[sqlite3.Connection]:
    """Open a cache that is there; its failures become CacheError."""
    if not os.path.exists(path):
        raise CacheError(f"There is no cache at {path}.")
    notes: list[str] = []
    try:
        try:
            connection, _ = connect(path, notes)
        except CacheError as error:
            raise CacheError(f"The cache {path} {error}.") from error
        with contextlib.closing(connection):
            if notes:
                raise CacheError(" ".join(notes))
            yield connection
    except (sqlite3.Error, OSError) as error:
        raise CacheError(f"The cache {path} {explain(error)}.") from error


def info(path: str) -> CacheInfo:
    """Return what a cache holds.

    Raises:
        CacheError: it is not there or cannot be used.
    """
    with _opened(path) as connection:
        files = connection.execute("SELECT count(DISTINCT path) FROM files").fetchone()[0]
        digests = "SELECT algorithm, count(*) FROM files WHERE digest IS NOT NULL GROUP BY algorithm ORDER BY algorithm"
        return CacheInfo(
            path=path,
            disk_bytes=sum(os.path.getsize(path + end) for end in ("", "-wal") if os.path.exists(path + end)),
            files=files,
            digests=dict(connection.execute(digests)),
            roots=[row[0] for row in connection.execute("SELECT CAST(path AS BLOB) FROM roots ORDER BY path")],
        )


def prune(path: str) -> tuple[int, int]:
    """Drop rows of files that are gone, below roots that can be read now; return how many rows went and stayed.

    A root that is another folder than it was (an empty mount point whose disk is away) is not taken for readable, and
    neither is a file gone if the device that it was on is not there any more.

    Raises:
        CacheError: the cache is not there or cannot be used.
    """
    with _opened(path) as connection:
        known = connection.execute("SELECT CAST(path AS BLOB), device, inode FROM roots")
        roots = [row[0] for row in known if _is_readable(*row)]
        gone = []
        rows = connection.execute("SELECT path, algorithm, CAST(path AS BLOB), device FROM files ORDER BY path")
        for path_, algorithm, file, device in rows:
            if any(_is_below(file, root) for root in roots) and _is_gone(file, device):
                gone.append((path_, algorithm))
        with connection:
            for first in range(0, len(gone), _AT_ONCE):
                connection.executemany(
                    "DELETE FROM files WHERE path = ? AND algorithm = ?", gone[first : first + _AT_ONCE]
                )
        _shrink(connection)
        return len(gone), connection.execute("SELECT count(*) FROM files").fetchone()[0]


def clear(path: str) -> int:
    """Forget everything and give the space back; return the bytes that the cache still takes.

    Raises:
        CacheError: the cache is not there or cannot be used.
    """
    with _opened(path) as connection:
        with connection:
            connection.execute("DELETE FROM files")
            connection.execute("DELETE FROM roots")
        _shrink(connection)
    return os.path.getsize(path)


def _shrink(connection: sqlite3.Connection) -> None:
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _is_readable(path: bytes, device: str, inode: str) -> bool:
    try:
        seen = os.stat(path)
        with os.scandir(path):
            return (str(seen.st_dev), str(seen.st_ino)) == (device, inode)
    except OSError:
        return False


def _is_below(file: bytes, root: bytes) -> bool:
    separator = os.fsencode(os.sep)
    return file.startswith(root.rstrip(separator) + separator)


def _is_gone(file: bytes, device: str) -> bool:
    """Return whether a file is gone for good: not there, while the device that held it still is."""
    try:
        os.lstat(file)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # no file can have a NUL in its name
        pass
    except OSError:
        return False
    else:
        return False
    folder = os.path.dirname(file)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return str(os.stat(folder).st_dev) == device
