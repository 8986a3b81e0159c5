"""What is remembered between scans, and when it may be believed.  Never fatal to a scan, never the only truth.

A row is believed only if everything that `stat` can say of the file is what it was, and written only if it was at rest
when it was looked at: an edit in the same tick of a clock leaves no other trace.
See git's Documentation/technical/racy-git.txt for the same thought.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from dedupe.cache import database, schema
from dedupe.cache.moved import MovedFiles
from dedupe.cache.queries import Query, QueryTask, Recalled, batches, look_up
from dedupe.cache.write_buffer import WriteBuffer
from dedupe.errors import CacheError
from dedupe.files.table import FileTable
from dedupe.storage import file_stat, volumes
from dedupe.storage.volume import Volume

if TYPE_CHECKING:
    from dedupe.workers.pool import Pool

_COMMIT = 2.0  # seconds between commits: what a kill may cost
_VALUES = ", ".join("nullif(?, x'')" if name == "digest" else "?" for name, _ in schema.COLUMNS)
_INSERT = f"INSERT OR REPLACE INTO files ({schema.NAMES}) VALUES ({_VALUES})"  # noqa: S608 - the names are ours
_ENTER = (
    "INSERT INTO volumes (id, label, file_system, read_ns) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE "
    "SET label = excluded.label, file_system = excluded.file_system, read_ns = max(read_ns, excluded.read_ns)"
)


def default_path() -> str:
    """Return where the cache lies unless the user says otherwise."""
    import platformdirs

    return os.path.join(platformdirs.user_cache_dir("dedupe", appauthor=False), "cache.db")


class NoCache:
    """Remembers nothing: stands where a scan has no cache."""

    usable = False
    notes: Sequence[str] = ()
    files: Sequence[bytes] = ()
    measurements: Path | None = None

    def recall(self, table: FileTable, members: Sequence[int], pool: Pool) -> Iterator[Recalled]:  # noqa: ARG002
        """Yield nothing."""
        return iter(())

    def remember(
        self,
        table: FileTable,
        members: Iterable[int],
        fingerprint_of: Callable[[int], bytes | None],
        digests: Mapping[int, bytes] = MappingProxyType({}),
        divergences: Mapping[int, bytes] = MappingProxyType({}),
    ) -> None:
        """Forget what was learnt."""

    def await_digests(self, members: Iterable[int]) -> None:
        """Wait for nothing."""

    def commit_if_due(self) -> None:
        """Write nothing."""

    def commit(self, *, awaiting: bool = False) -> None:
        """Write nothing."""

    def remember_roots(self, roots: Sequence[bytes], scanned: str) -> None:
        """Note nothing."""

    def close(self) -> None:
        """Have nothing to let go of."""


class Cache:
    """One SQLite file, opened for one scan.  Whatever fails is told once in `notes`, and the scan goes on without.

    Args:
        path: the file; made, with its folder, if it is not there.
        algorithm: whose digests are looked up and stored.
        read_ns: the clock before the first file was looked at.
        scanned: tells whether the path lies inside a scanned folder, where what is no database is a user's file.
    """

    def __init__(self, path: str | bytes, algorithm: str, read_ns: int, *, scanned: Callable[[], bool] = bool) -> None:
        self.notes: list[str] = []
        self._path = os.path.abspath(os.fsdecode(path))
        self._algorithm = str(algorithm)  # an enum's repr would go into the checksum, but SQLite returns plain text
        self._read_ns = read_ns
        self._write_buffer: WriteBuffer | None = None
        self._committed = time.monotonic()
        self._writable = True
        self._connection: sqlite3.Connection | None = None
        self._may_replace = False  # a damaged one: at most once, as it may be the disk that is damaged
        self._foreign = False
        with self._guard():
            if scanned():
                database.refuse_data(self._path)
            self._connection, self._writable = database.connect(self._path, self.notes)
        self._may_replace = not self.notes

    @property
    def usable(self) -> bool:
        """Return whether anything can be recalled."""
        return self._connection is not None

    @property
    def files(self) -> list[bytes]:
        """Return the paths that the cache occupies on disk."""
        return [] if self._foreign else [os.fsencode(file) for file in database.files_of(self._path)]

    @property
    def measurements(self) -> Path | None:
        """Return the file that keeps how fast backends are: only beside a cache that is ours."""
        return Path(database.files_of(self._path)[-1]) if self.usable else None

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        """Turn any failure into a note, and go on: with a new cache where the old one is damaged, else without."""
        try:
            yield
        except (sqlite3.Error, CacheError, OSError) as error:
            self._release()
            if self._may_replace and database.is_replaceable(error):
                self._may_replace = False
                with self._guard():
                    database.set_aside(self._path, error, self.notes)
                    self._connection, self._writable = database.connect(self._path, self.notes)
                return
            self._foreign = isinstance(error, schema.ForeignError)
            name, why = database.as_text(self._path), database.explain(error)
            self.notes.append(f"The cache {name} {why}: this scan goes on without it.")

    def _release(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def recall(self, table: FileTable, members: Sequence[int], pool: Pool) -> Iterator[Recalled]:
        """Yield what is remembered of the members, batch by batch; quickest where they come as they were listed."""
        connection, known = self._connection, self._volumes()
        if connection is None or not known:
            return
        moved = MovedFiles(table, self._algorithm, known)
        asked = batches(table, members, {volume: number for volume, (number, _) in known.items()})
        pool.prepare(files=len(members))
        if pool.has_workers:
            how = "mode=ro" if self._writable else database.IMMUTABLE
            task = QueryTask(database.uri(self._path, how), self._algorithm)
            results: Iterable[tuple[Query, Recalled | None]] = pool.run(task, asked)
        else:
            results = zip(asked, repeat(None))
        for batch, told in results:
            found = told or self._look_up(batch)  # nobody looked, or failed to: if this fails too, it is told
            if found is None or self._connection is not connection:
                return
            moved.add(batch.members, found)
            if found.members or found.unverified:
                yield found
        with self._guard(), contextlib.suppress(sqlite3.OperationalError):  # no room, or a lock: the files are read
            yield from moved.recall(connection, keep=self._writable)

    def _look_up(self, batch: Query) -> Recalled | None:
        with self._guard():
            if self._connection is not None:
                return look_up(self._connection, self._algorithm, batch)
        return None

    def _volumes(self) -> dict[str, tuple[int, int]]:
        """Return of each volume that the cache knows files of its number, and the newest clock of a row."""
        with self._guard():
            if self._connection is not None:
                rows = self._connection.execute("SELECT id, number, read_ns FROM volumes")
                return {volume: (number, newest) for volume, number, newest in rows if isinstance(newest, int)}
        return {}

    def remember(
        self,
        table: FileTable,
        members: Iterable[int],
        fingerprint_of: Callable[[int], bytes | None],
        digests: Mapping[int, bytes] = MappingProxyType({}),
        divergences: Mapping[int, bytes] = MappingProxyType({}),
    ) -> None:
        """Take in what was learnt of some of the files, and commit every second or two.

        Args:
            table: a table of files that grows no more, with the stats from before their content was read.
            members: those that something was learnt of.
            fingerprint_of: tells their fingerprints, now and when the rows are written.
            digests: by member, where they are known.
            divergences: likewise.
        """
        if self._connection is None or not self._writable:
            return
        if self._write_buffer is None or not self._write_buffer.is_of(table):
            self.commit(awaiting=True)
            self._write_buffer = WriteBuffer(self._algorithm, self._read_ns, table, fingerprint_of)
        self._write_buffer.take(members, digests, divergences)
        self.commit_if_due()

    def commit_if_due(self) -> None:
        """Commit if the last time was a second or two ago."""
        if time.monotonic() > self._committed + _COMMIT:
            self.commit()

    def await_digests(self, members: Iterable[int]) -> None:
        """Have the rows of files wait for their digests, which are to follow soon: each is then written but once.

        What waits was learnt since the last commit, so that a kill costs no more for it.
        """
        if self._write_buffer is not None:
            self._write_buffer.await_digests(members)

    def commit(self, *, awaiting: bool = False) -> None:
        """Write what was taken in, so that nothing but a lost disk can take it away; holds no lock afterwards.

        Args:
            awaiting: also what still waits for a digest.
        """
        if self._write_buffer is not None:
            for volume, members in self._write_buffer.parts(awaiting=awaiting):
                connection = self._connection
                self._write(self._write_buffer, volume, members)
                if self._connection is not connection:  # that one was damaged: this is a new one, or none
                    self._write(self._write_buffer, volume, members)
        self._committed = time.monotonic()

    def _write(self, learnt: WriteBuffer, volume: Volume, members: Sequence[int]) -> None:
        with self._guard():
            if self._connection is not None and self._writable:
                with self._connection:
                    number = self._enter(self._connection, volume)
                    self._connection.executemany(_INSERT, learnt.rows(volume, number, members))

    def _enter(self, connection: sqlite3.Connection, volume: Volume) -> int:
        """Return the number of a volume that rows are written of."""
        connection.execute(_ENTER, (volume.id, volume.label, volume.file_system, self._read_ns))
        number: int = connection.execute("SELECT number FROM volumes WHERE id = ?", (volume.id,)).fetchone()[0]
        return number

    def remember_roots(self, roots: Sequence[bytes], scanned: str) -> None:
        """Note the roots of a scan: only below them may `prune` ever drop a row."""
        found = []
        for root in roots:
            with contextlib.suppress(OSError):
                device, inode = file_stat.identity(root, follow=True)
                if stat.S_ISDIR(os.stat(root).st_mode):
                    found.append((root, inode, volumes.locate(root, device)))
        with self._guard():
            if self._connection is not None and self._writable:
                with self._connection:
                    for root, inode, mount in found:
                        if mount.volume.id:
                            self._connection.execute(
                                "INSERT OR REPLACE INTO roots (volume, path, reached, inode, scanned) "
                                "VALUES (?, ?, ?, ?, ?)",
                                (
                                    self._enter(self._connection, mount.volume),
                                    bytearray(mount.relative(os.path.join(root, b""))),
                                    bytearray(root),
                                    str(inode) if mount.volume.stable_inodes else "0",
                                    scanned,
                                ),
                            )

    def close(self) -> None:
        """Commit and let go of the file."""
        self.commit(awaiting=True)
        self._release()


AnyCache: TypeAlias = Cache | NoCache


def open_cache(
    path: str | bytes | None, algorithm: str, read_ns: int, *, scanned: Callable[[], bool] = bool
) -> AnyCache:
    """Return the cache at a path, or what remembers nothing where there is none; see `Cache`."""
    return NoCache() if path is None else Cache(path, algorithm, read_ns, scanned=scanned)
