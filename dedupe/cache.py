"""What is remembered between scans, and when it may be believed.  Never fatal to a scan, never the only truth.

A row is believed only if everything that `status` can say of the file is what it was, and if the file was already at
rest when it was looked at: an edit in the same tick of a clock leaves no other trace.
See git's Documentation/technical/racy-git.txt for the same thought.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import xxhash

from dedupe import fingerprint, schema
from dedupe.cachefile import connect, explain, files_of, is_broken, set_aside, shown
from dedupe.entries import Entries
from dedupe.errors import CacheError

RACY_NS = 2_000_000_000  # FAT keeps times to two seconds, the coarsest of all
_KEYS = 500  # paths looked up by one statement: 1.35 us each, against 4.2 one at a time
_ROWS = 20_000  # rows written by one statement, sorted: neighbours in the index cost one page
_FAR = 1 << 63  # nanoseconds: a file dated beyond the year 2262 has no row, as SQLite could not hold its times
_COMMIT = 1.0  # seconds between commits: what a kill may cost
_NAMES = ", ".join(name for name, _ in schema.COLUMNS)
_INSERT = f"INSERT OR REPLACE INTO files ({_NAMES}) VALUES ({', '.join('?' * len(schema.COLUMNS))})"  # noqa: S608
_SELECT = f"SELECT {_NAMES} FROM files"  # noqa: S608 - the names are ours
_HEAD = struct.Struct("<QqqQQQqqqqqq")  # of a seal: numbers, and lengths, so that no two rows read alike
_WIDE = 1 << 64


class Learnt(NamedTuple):
    """What was learnt of one file."""

    path: bytes
    status: tuple[int, ...]  # `Status`, taken before the content was read
    fingerprint: bytes
    digest: bytes | None
    marks: bytes = b""


class Recalled(NamedTuple):
    """What may be believed of one file, by its index."""

    member: int
    fingerprint: bytes
    digest: bytes | None
    marks: bytes


def default_path() -> str:
    """Return where the cache lies unless the user says otherwise."""
    import platformdirs

    return os.path.join(platformdirs.user_cache_dir("dedupe", appauthor=False), "cache.db")


def is_settled(status: tuple[int, ...], read_ns: int) -> bool:
    """Tell whether a file was at rest when it was looked at: any later edit must then show in its times."""
    return max(status[1:3]) + RACY_NS < read_ns


def _seal(
    path: bytes, status: tuple[int, ...], known: tuple[int, int], print_: bytes, marks: bytes, digest: bytes | None
) -> bytes:
    """Return the seal of a row: it fits only if not a bit of the row, and nothing of the file's status, has changed.

    `known` is the clock before the file was looked at and the version of the sample layout.
    """
    size, modified, changed, device, inode = status
    lengths = (len(path), len(print_), len(marks), -1 if digest is None else len(digest))
    head = _HEAD.pack(size, modified, changed, device, inode % _WIDE, inode // _WIDE, *known, *lengths)
    return xxhash.xxh3_64_digest(b"".join((head, path, print_, marks, digest or b"")))


class Cache:
    """One SQLite file, opened for one scan.  Whatever fails is told once in `notes`, and the scan goes on without.

    Args:
        path: the file; made, with its folder, if it is not there.  None remembers nothing.
        algorithm: whose digests are looked up and stored.
        read_ns: the clock before the first file was looked at.
        scanned: tells whether the path lies inside a scanned folder, where what is no database is a user's file.
    """

    def __init__(
        self, path: str | bytes | None, algorithm: str, read_ns: int, *, scanned: Callable[[], bool] = bool
    ) -> None:
        self.notes: list[str] = []
        self._path = os.path.abspath(os.fsdecode(path)) if path is not None else None
        self._algorithm = str(algorithm)  # an enum's repr would go into the seal, but SQLite returns plain text
        self._read_ns = read_ns
        self._rows: list[tuple[object, ...]] = []
        self._committed = time.monotonic()
        self._writable = True
        self._connection: sqlite3.Connection | None = None
        self._foreign = False
        if self._path is not None:
            with self._guard():
                if not schema.is_database(self._path) and scanned():
                    schema.refuse_data(self._path)
                self._connection, self._writable = connect(self._path, self.notes)

    @property
    def usable(self) -> bool:
        """Tell whether anything can be recalled."""
        return self._connection is not None

    @property
    def files(self) -> list[bytes]:
        """Return the paths that the cache occupies on disk."""
        return [] if self._path is None or self._foreign else [os.fsencode(file) for file in files_of(self._path)]

    @property
    def measurements(self) -> Path | None:
        """Return the file that keeps how fast backends are: only beside a cache that is ours."""
        return Path(files_of(self._path)[-1]) if self._path is not None and self.usable else None

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        """Turn any failure into a note, and go on without."""
        try:
            yield
        except (sqlite3.Error, CacheError, OSError) as error:
            with contextlib.suppress(sqlite3.Error):
                if self._connection is not None:
                    self._connection.close()
            self._connection = None
            self._foreign = isinstance(error, schema.ForeignError)
            assert self._path is not None
            self.notes.append(f"The cache {shown(self._path)} {explain(error)}: this scan goes on without it.")
            if is_broken(error):
                self.notes += set_aside(self._path)

    def recall(self, entries: Entries, members: Sequence[int]) -> Iterator[Recalled]:
        """Yield what may be believed of the members; quickest where they come as they were listed."""
        for first in range(0, len(members), _KEYS):
            part = members[first : first + _KEYS]
            files = zip(part, entries.packed_statuses(part), strict=True)
            by_path = dict(zip(entries.packed_paths(part), files, strict=True))
            found: list[tuple[Any, ...]] = []
            with self._guard():
                if self._connection is None:
                    return
                marks = ",".join("?" * len(by_path))
                found = self._connection.execute(f"{_SELECT} WHERE path IN ({marks})", list(by_path)).fetchall()
            yield from self._believed(by_path, found)

    def _believed(
        self, by_path: dict[bytes, tuple[int, tuple[int, ...]]], rows: list[tuple[Any, ...]]
    ) -> list[Recalled]:
        """Return what may be believed of rows: those whose seal fits the files as they are now."""
        best: dict[int, Recalled] = {}
        for path, algorithm, *stored, read_ns, layout, print_, marks, digest, seal in rows:
            i, now = by_path[path]
            if stored != [*now[:3], str(now[3]), str(now[4])]:
                continue
            try:
                fits = seal == _seal(path + algorithm.encode(), now, (read_ns, layout), print_, marks, digest)
            except (TypeError, AttributeError, struct.error):  # another program wrote into it
                continue
            if fits and layout == fingerprint.LAYOUT and is_settled(now, read_ns):
                wanted = digest if algorithm == self._algorithm else None
                if i not in best or wanted:
                    best[i] = Recalled(i, print_, wanted, marks)
        return list(best.values())

    def remember(self, learnt: Sequence[Learnt]) -> None:
        """Take in what was learnt, and commit every second or so."""
        if self._connection is None or not self._writable:
            return
        for path, status, print_, digest, marks in learnt:
            size, modified, changed, device, inode = status
            if not all(-_FAR <= n < _FAR for n in (modified, changed)):
                continue
            known = (self._read_ns, fingerprint.LAYOUT)
            seal = _seal(path + self._algorithm.encode(), status, known, print_, marks, digest)
            self._rows.append(
                (
                    path,
                    self._algorithm,
                    size,
                    modified,
                    changed,
                    str(device),
                    str(inode),
                    *known,
                    print_,
                    marks,
                    digest,
                    seal,
                )
            )
        if len(self._rows) >= _ROWS or time.monotonic() > self._committed + _COMMIT:
            self.commit()

    def commit(self) -> None:
        """Write what was taken in, so that nothing but a lost disk can take it away; holds no lock afterwards."""
        rows, self._rows = sorted(self._rows, key=itemgetter(0)), []
        if rows and self._connection is not None:
            with self._guard(), self._connection:
                self._connection.executemany(_INSERT, rows)
        self._committed = time.monotonic()

    def remember_roots(self, roots: Sequence[bytes], scanned: str) -> None:
        """Note the roots of a scan: only below them may `prune` ever drop a row."""
        if self._connection is None or not self._writable:
            return
        rows = []
        for root in roots:
            with contextlib.suppress(OSError):
                seen = os.stat(root)
                if stat.S_ISDIR(seen.st_mode):
                    rows.append((root, str(seen.st_dev), str(seen.st_ino), scanned))
        with self._guard(), self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO roots VALUES (?, ?, ?, ?)", rows)

    def close(self) -> None:
        """Commit and let go of the file."""
        self.commit()
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None
