"""What other catalogs may hold too, by size and fingerprint: only that is worth reading in full.  Reads no file."""

from __future__ import annotations

import os
from collections.abc import Sequence

from dedupe.catalog import database
from dedupe.catalog.joining import catalog_at
from dedupe.errors import UsageError
from dedupe.files.columns import Column
from dedupe.files.table import FileTable
from dedupe.storage import display
from dedupe.storage.paths import absolute

_MINE = """
CREATE TEMP TABLE mine (fingerprint BLOB, size INTEGER, file INTEGER, PRIMARY KEY (fingerprint, size, file))
WITHOUT ROWID
"""
_SHARED = """
SELECT DISTINCT mine.file FROM main.files CROSS JOIN temp.mine
ON mine.fingerprint = files.fingerprint AND mine.size = files.size
"""


class OtherCatalogs:
    """Catalogs that a new one is made to be compared with; none is asked until files are known by fingerprints.

    Args:
        paths: of the catalogs.
        path: of the new one, which is none of them.

    Raises:
        UsageError: one is no catalog, or the new one itself.
        NothingUsableError: one cannot be read, or was never finished.
    """

    def __init__(self, paths: Sequence[str], path: str) -> None:
        self._paths = paths
        for other in paths:
            if os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other):
                name = display.text(os.fsencode(other))
                raise UsageError(f"{name} is the catalog itself: name one of another disk with --shared-with.")
            with database.closing(database.opened(other), other):  # refuses what is no catalog at all
                catalog_at(absolute(os.fsencode(other)), 0)

    def __bool__(self) -> bool:
        return bool(self._paths)

    def shared(self, table: FileTable, members: Sequence[int], fingerprints: Column) -> set[int]:
        """Return the files whose size and fingerprint a file of any of the catalogs has, and those that are empty.

        Args:
            table: the files.
            members: those that are asked for.
            fingerprints: of them.
        """
        found = {i for i in members if not table.size[i]}
        for other in self._paths:
            with database.closing(database.opened(other), other) as connection:
                connection.execute(_MINE)
                rows = ((fingerprints.get(i), table.size[i], i) for i in members)
                connection.executemany("INSERT INTO temp.mine VALUES (?, ?, ?)", rows)
                found.update(row[0] for row in connection.execute(_SHARED))
        return found
