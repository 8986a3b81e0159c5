"""The files of one catalog, one after the other, for programs that ask their own questions.  Compares none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from dedupe.catalog import database
from dedupe.catalog.joining import Catalog, catalog_at
from dedupe.catalog.rows import folder_at, whole_rows
from dedupe.progress import Progress
from dedupe.storage.paths import absolute


class CatalogFile(NamedTuple):
    """What a catalog says of one file."""

    path: bytes  # as it was reached when the catalog was updated
    volume: str  # id of the volume that it lies on; empty where that has none
    size: int
    modified_ns: int
    changed_ns: int | None  # None where the file was not at rest, or there is no such time
    inode: int  # 0 where numbers do not stay with their files
    fingerprint: bytes | None
    digest: bytes | None  # None in a catalog without digests, and for files that it lacks one of


class CatalogFiles:
    """The files of a catalog; counts the rows that are damaged, and are left out.

    Args:
        path: of the catalog.
        progress: is told how many files are done.

    Raises:
        UsageError: the file is no catalog, or one of a newer dedupe.
        NothingUsableError: it cannot be read, or was never finished.
    """

    def __init__(self, path: str, progress: Progress) -> None:
        with database.closing(database.opened(path), path):  # refuses what is no catalog at all
            self.catalog: Catalog = catalog_at(absolute(os.fsencode(path)), 0)
        self.told = self.damaged = 0  # files, and rows that are left out, when all have been asked for
        self._path, self._progress = path, progress

    def __iter__(self) -> Iterator[CatalogFile]:
        done = told = 0
        head = self.catalog.head
        separator = b"/" if head.root[:1] == b"/" else b"\\"
        top = head.root if head.root.endswith(separator) else head.root + separator
        self._progress.begin("export", head.files if head.files >= 0 else None)
        with database.closing(database.opened(self._path), self._path) as connection:
            checked = database.is_checked(connection)
            rows = connection.execute("SELECT * FROM files ORDER BY folder")
            for number, group in groupby(rows, key=itemgetter(0)):
                every = list(group)
                done += len(every)
                self._progress.reach(done)
                folder = folder_at(connection, number, self.catalog.volumes)
                if folder is None:
                    continue
                above, volume = top + folder.path.replace(b"/", separator), self.catalog.volumes[folder.volume].id
                for _, name, size, modified_ns, changed_ns, inode, fingerprint, digest, *_ in whole_rows(
                    every, checked=checked
                ):
                    told += 1
                    changed = None if changed_ns is None else int(changed_ns)
                    values = (size, int(modified_ns), changed, int(inode), fingerprint or None, digest or None)
                    yield CatalogFile(above + name, volume, *values)
        self.told, self.damaged = told, max(done, head.files) - told
        self._progress.end()
