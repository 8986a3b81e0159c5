"""What is remembered between scans, and when it may be believed.  Never fatal to a scan, never the only truth.

A row is believed only if everything that `status` can say of the file is what it was, and written only if it was at
rest when it was looked at: an edit in the same tick of a clock leaves no other trace.
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
from typing import TYPE_CHECKING

from dedupe.cache import schema
from dedupe.cache.database import IMMUTABLE, connect, explain, files_of, is_broken, set_aside, shown, uri
from dedupe.cache.queries import Query, QueryTask, Recalled, batches, look_up
from dedupe.cache.write_buffer import WriteBuffer
from dedupe.errors import CacheError
from dedupe.files.table import FileTable

if TYPE_CHECKING:
    from dedupe.workers.pool import Pool

_COMMIT = 2.0  # seconds between commits: what a kill may cost
_NAMES = ", ".join(name for name, _ in schema.COLUMNS)
_VALUES = ", ".join("nullif(?, x'')" if name == "digest" else "?" for name, _ in schema.COLUMNS)
_INSERT = f"INSERT OR REPLACE INTO files ({_NAMES}) VALUES ({_VALUES})"  # noqa: S608 - the names are ours


def default_path() -> str:
    """Return where the cache lies unless the user says otherwise."""
    import platformdirs

    return os.path.join(platformdirs.user_cache_dir("dedupe", appauthor=False), "cache.db")


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
        self._write_buffer: WriteBuffer | None = None
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
        """Return whether anything can be recalled."""
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

    def recall(self, table: FileTable, members: Sequence[int], pool: Pool) -> Iterator[Recalled]:
        """Yield what may be believed of the members, batch by batch; quickest where they come as they were listed."""
        if self._is_empty():
            return
        asked = batches(table, members)
        pool.prepare(files=len(members))
        if pool.has_workers:
            assert self._path is not None
            task = QueryTask(uri(self._path, "mode=ro" if self._writable else IMMUTABLE), self._algorithm)
            results: Iterable[tuple[Query, Recalled | None]] = pool.run(task, asked)
        else:
            results = zip(asked, repeat(None))
        for batch, told in results:
            found = told
            with self._guard():
                if found is None and self._connection is not None:  # nobody looked, or failed to: if this fails too,
                    found = look_up(self._connection, self._algorithm, batch)  # it is told
            if self._connection is None:
                return
            if found is not None and found.members:
                yield found

    def _is_empty(self) -> bool:
        """Return whether there is nothing to recall at all."""
        with self._guard():
            if self._connection is not None:
                return self._connection.execute("SELECT 1 FROM files LIMIT 1").fetchone() is None
        return True

    def remember(
        self,
        table: FileTable,
        members: Iterable[int],
        print_of: Callable[[int], bytes | None],
        digests: Mapping[int, bytes] = MappingProxyType({}),
        divergences: Mapping[int, bytes] = MappingProxyType({}),
    ) -> None:
        """Take in what was learnt of some of the files, and commit every second or two.

        Args:
            table: a table of files that grows no more, with the statuses from before their content was read.
            members: those that something was learnt of.
            print_of: tells their fingerprints, now and when the rows are written.
            digests: by member, where they are known.
            divergences: likewise.
        """
        if self._connection is None or not self._writable:
            return
        if self._write_buffer is None or not self._write_buffer.is_of(table):
            self.commit(awaiting=True)
            self._write_buffer = WriteBuffer(self._algorithm, self._read_ns, table, print_of)
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
        for rows in self._write_buffer.parts(awaiting=awaiting) if self._write_buffer is not None else ():
            with self._guard():
                if self._connection is not None:
                    with self._connection:
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
        self.commit(awaiting=True)
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None
