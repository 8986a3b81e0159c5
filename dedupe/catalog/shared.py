"""What catalogs hold more than once, found by SQLite in temporary files: memory does not grow with the rows.

Each catalog gives a key of every row, and SQLite sorts them all.  A row whose key no other has can be in no group: it
is counted, and takes no place in memory.  Keys are the first bytes of digests, so two may meet by chance: such rows are
told apart later, as all others are.  DuckDB counted 20 million keys in a third of the time, but its reader of SQLite's
files is downloaded when it is first asked for, and by another way the keys go through Python, which costs as much more.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dedupe.errors import NothingUsableError
from dedupe.storage import display

_KEY = "substr(coalesce(digest, fingerprint), 1, 8)"
_STEPS = 1_000_000  # of SQLite's machine between two ticks: some 50 ms
_CACHE_KIB = 65_536  # of the file's pages: the keys of some 4 million groups
_ATTACHED = f"""
PRAGMA joined.journal_mode = OFF; PRAGMA joined.synchronous = OFF; PRAGMA joined.cache_size = -{_CACHE_KIB};
"""
_TABLES = """
CREATE TABLE joined.keys (key);
CREATE TABLE joined.shared (key PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE joined.sizes (size INTEGER PRIMARY KEY);
"""
_LINKED = """
CREATE TEMP TABLE linked (inode PRIMARY KEY) WITHOUT ROWID;
INSERT INTO temp.linked SELECT inode FROM main.files WHERE inode <> 0 GROUP BY inode HAVING count(*) > 1;
"""
_ROWS = f"""
SELECT *, {_KEY} IN (SELECT key FROM joined.shared) OR size IN (SELECT size FROM joined.sizes)
  OR inode IN (SELECT inode FROM temp.linked)
FROM main.files ORDER BY folder
"""  # noqa: S608 - constants


class SharedContents:
    """The keys of some catalogs; used as a context manager, so that its file goes.

    Args:
        tick: is called some times a second while SQLite works.
    """

    def __init__(self, tick: Callable[[], None]) -> None:
        self._tick = tick
        try:
            self._folder = tempfile.TemporaryDirectory(prefix="dedupe-")
        except OSError as error:
            raise _unable(error) from error
        self._path = os.path.join(self._folder.name, "keys.db")
        with self._alone() as connection:
            connection.executescript(_TABLES)

    def __enter__(self) -> SharedContents:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def take(self, connection: sqlite3.Connection) -> None:
        """Take the keys of a catalog."""
        with self._working(connection):
            connection.execute(f"INSERT INTO joined.keys SELECT {_KEY} FROM main.files")  # noqa: S608 - constants
            connection.commit()

    def settle(self, sizes: Iterable[int]) -> None:
        """Find out which keys are there more than once, when all catalogs have given theirs.

        Args:
            sizes: of files that are no catalog's: rows of these may be equal to one.
        """
        with self._alone() as connection:
            connection.executemany("INSERT OR IGNORE INTO joined.sizes VALUES (?)", ((size,) for size in sizes))
            connection.execute("INSERT INTO joined.shared SELECT key FROM joined.keys GROUP BY key HAVING count(*) > 1")
            connection.execute("DROP TABLE joined.keys")
            connection.commit()

    def rows(self, connection: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
        """Yield all rows of the files of a catalog, folder by folder.

        The last value of each is whether it may be in a group, or is another name of a file that is.
        """
        with self._working(connection):
            connection.executescript(_LINKED)
            yield from connection.execute(_ROWS)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[sqlite3.Connection]:
        """Open the file without a catalog."""
        try:
            with contextlib.closing(sqlite3.connect(":memory:")) as connection, self._working(connection):
                connection.execute(f"PRAGMA main.cache_size = -{_CACHE_KIB}")  # what a sorter holds before it writes
                yield connection
        except sqlite3.Error as error:
            raise _unable(error) from error

    @contextlib.contextmanager
    def _working(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Have the file attached as `joined`, and tick while SQLite works; its errors are the caller's."""
        raised: list[BaseException] = []

        def tick() -> bool:
            try:
                self._tick()
            except BaseException as error:  # SQLite would swallow it: it is raised below
                raised.append(error)
            return bool(raised)

        try:
            if all(row[1] != "joined" for row in connection.execute("PRAGMA database_list")):
                connection.execute("ATTACH ? AS joined", (self._path,))
                connection.executescript(_ATTACHED)
            connection.set_progress_handler(tick, _STEPS)
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            if code == sqlite3.SQLITE_INTERRUPT:  # by the user, where nothing was caught above
                raise (raised[0] if raised else KeyboardInterrupt) from error
            if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN):
                raise _unable(error) from error
            raise
        finally:
            with contextlib.suppress(sqlite3.Error):
                connection.set_progress_handler(None, 0)


def _unable(error: Exception) -> NothingUsableError:
    """Return what to raise where the file cannot be made or grow."""
    place = display.text(os.fsencode(tempfile.gettempdir()))
    return NothingUsableError(
        f"Catalogs cannot be joined, as the temporary files in {place} cannot be written: {error}. Let TMPDIR name a "
        "folder with more room."
    )
