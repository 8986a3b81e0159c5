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
import sys
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import xxhash

from dedupe import fingerprint, names, schema
from dedupe.entries import Entries
from dedupe.errors import CacheError
from dedupe.status import Status

RACY_NS = 2_000_000_000  # FAT keeps times to two seconds, the coarsest of all
_WAIT = 5.0  # seconds to wait for another process's write before going on without
_KEYS = 500  # paths looked up by one statement: 1.35 us each, against 4.2 one at a time
_ROWS = 2000  # rows written by one statement
_FAR = 1 << 63  # nanoseconds: a file dated beyond the year 2262 has no row, as SQLite could not hold its times
_COMMIT = 1.0  # seconds between commits: what a kill may cost
_NAMES = ", ".join(name for name, _ in schema.COLUMNS)
_INSERT = f"INSERT OR REPLACE INTO files ({_NAMES}) VALUES ({', '.join('?' * len(schema.COLUMNS))})"  # noqa: S608
_SELECT = f"SELECT {_NAMES} FROM files"  # noqa: S608 - the names are ours


class Learnt(NamedTuple):
    """What was learnt of one file."""

    path: bytes
    status: Status  # taken before the content was read
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


def files_of(path: str) -> list[str]:
    """Return the files that a cache at `path` consists of; SQLite follows a link before it names its logs."""
    real = os.path.realpath(path)
    return [real + end for end in ("", "-wal", "-shm", "-journal")]


def is_settled(status: Status, read_ns: int) -> bool:
    """Tell whether a file was at rest when it was looked at: any later edit must then show in its times."""
    return status.modified_ns + RACY_NS < read_ns and status.changed_ns + RACY_NS < read_ns


def _shown(path: str) -> str:
    return names.text(os.fsencode(path))  # notes go into reports, which hold no lone surrogates


def _seal(row: Sequence[object]) -> bytes:
    return xxhash.xxh3_64_digest(repr(row).encode())


class Cache:
    """One SQLite file, opened for one scan.  Whatever fails is told once in `notes`, and the scan goes on without.

    Args:
        path: the file; made, with its folder, if it is not there.  None remembers nothing.
        algorithm: whose digests are looked up and stored.
        read_ns: the clock before the first file was looked at.
        scanned: the path lies inside a scanned folder, where a file that is no database is a user's, not a damaged one.
    """

    def __init__(self, path: str | bytes | None, algorithm: str, read_ns: int, *, scanned: bool = False) -> None:
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
                if scanned:
                    schema.refuse_data(self._path)
                self._connection, self._writable = connect(self._path, self.notes)

    @property
    def usable(self) -> bool:
        """Tell whether anything can be recalled."""
        return self._connection is not None

    @property
    def files(self) -> list[bytes]:
        """Return the paths that the cache occupies on disk."""
        if self._path is None or self._foreign:
            return []
        return [os.fsencode(file) for file in files_of(self._path)]

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
            self.notes.append(f"The cache {_shown(self._path)} {explain(error)}: this scan goes on without it.")
            if is_broken(error):
                self.notes += set_aside(self._path)

    def recall(self, entries: Entries, members: Sequence[int]) -> Iterator[Recalled]:
        """Yield what may be believed of the members."""
        for first in range(0, len(members), _KEYS):
            part = members[first : first + _KEYS]
            by_path = dict(zip(entries.paths(part), part, strict=True))
            found: list[tuple[object, ...]] = []
            with self._guard():
                if self._connection is None:
                    return
                marks = ",".join("?" * len(by_path))
                found = self._connection.execute(f"{_SELECT} WHERE path IN ({marks})", list(by_path)).fetchall()
            yield from self._believed(entries, by_path, found)

    def _believed(
        self, entries: Entries, by_path: dict[bytes, int], rows: list[tuple[object, ...]]
    ) -> Iterator[Recalled]:
        best: dict[int, Recalled] = {}
        for row in rows:
            path, algorithm, size, modified, changed, device, inode, read_ns, layout, print_, marks, digest, seal = row
            i = by_path[path]  # type: ignore[index]
            now = entries.status(i)
            if (
                (size, modified, changed) != now[:3]
                or (device, inode) != (str(now.device), str(now.inode))
                or layout != fingerprint.LAYOUT
                or seal != _seal(row[:-1])
                or not is_settled(now, read_ns)  # type: ignore[arg-type]
            ):
                continue
            wanted = digest if algorithm == self._algorithm else None
            if i not in best or wanted:
                best[i] = Recalled(i, print_, wanted, marks)  # type: ignore[arg-type]
        yield from best.values()

    def remember(self, learnt: Sequence[Learnt]) -> None:
        """Take in what was learnt, and commit every second or so."""
        if self._connection is None or not self._writable:
            return
        for path, status, print_, digest, marks in learnt:
            size, modified, changed, device, inode = status
            if not all(-_FAR <= n < _FAR for n in (modified, changed)):
                continue
            row = (
                path, self._algorithm, size, modified, changed, str(device), str(inode),
                self._read_ns, fingerprint.LAYOUT, print_, marks, digest,
            )  # fmt: skip
            self._rows.append((*row, _seal(row)))
        if len(self._rows) >= _ROWS or time.monotonic() > self._committed + _COMMIT:
            self.commit()

    def commit(self) -> None:
        """Write what was taken in, so that nothing but a lost disk can take it away."""
        rows, self._rows = self._rows, []
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
    try:
        return _open(path)
    except (sqlite3.DatabaseError, CacheError) as error:
        if not is_broken(error):
            raise
        notes.append(f"The cache {_shown(path)} {explain(error)}.")
        notes += set_aside(path)
        return _open(path)


def _open(path: str) -> tuple[sqlite3.Connection, bool]:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    if not os.path.exists(path):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # before SQLite does, which would ask the umask alone
    writable = os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK)
    if not writable and not os.access(path, os.R_OK):
        raise CacheError("may not be read by you (its owner can change that)")
    name = os.fsencode(path).replace(b"%", b"%25").replace(b"?", b"%3f").replace(b"#", b"%23")
    # a database in WAL mode cannot be opened where nothing may be written, except as immutable
    target = f"file:{os.fsdecode(name)}" + ("" if writable else "?immutable=1")
    if sys.platform == "win32":
        target = target.replace("\\", "/").replace("file:", "file:///", 1)
    connection = sqlite3.connect(target, uri=True, timeout=_WAIT)
    try:
        schema.prepare(connection, path, writable=writable, wait=_WAIT)
    except BaseException:
        connection.close()
        raise
    return connection, writable


def is_broken(error: Exception) -> bool:
    """Tell whether an error means that the file itself is damaged, not merely locked, full or someone else's."""
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
    return [f"It was set aside as {_shown(aside)}."]
