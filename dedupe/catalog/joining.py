"""Puts the files of catalogs into the table of a scan: known by size, fingerprint and digest, and never opened.

Each stands below the catalog's own path, as if that were a folder: no file can be there, so nothing acts on one.
"""

from __future__ import annotations

import os
import sqlite3
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from dedupe.catalog import database
from dedupe.catalog.covered import Covered
from dedupe.catalog.head import CatalogVolume, Head, shown_time
from dedupe.catalog.offline import Offline
from dedupe.catalog.rows import folder_at, whole_rows
from dedupe.errors import NothingUsableError
from dedupe.files.table import FileTable
from dedupe.result import Problem, ProblemKind
from dedupe.storage import display
from dedupe.storage.paths import outside
from dedupe.storage.volume import Mount, Volume

_SEPARATOR = os.fsencode(os.sep)
_Row = tuple[Any, ...]
TakePart = Callable[[bytes, Sequence[_Row]], Sequence[_Row]]  # of a folder with a separator at its end, and its rows


class Wanted(NamedTuple):
    """Which files of a catalog are asked for."""

    rows: Callable[[sqlite3.Connection], Iterable[_Row]]
    """Returns them folder by folder; the last value of each is whether it joins the table, or is only counted."""
    some: bool = False  # those alone whose size something else has


class Catalog(NamedTuple):
    """A catalog that stands for a root."""

    path: bytes  # absolute
    root: int  # that its files are of
    head: Head
    volumes: dict[int, CatalogVolume]


def catalog_at(path: bytes, root: int) -> Catalog:
    """Return a catalog with what it says of itself.

    Raises:
        UsageError: it is of a newer dedupe.
        NothingUsableError: it cannot be read, or was never finished.
    """
    with database.closing(database.opened(os.fsdecode(path)), os.fsdecode(path)) as connection:
        head = database.head_of(connection, path)
        if not head.complete:
            name = display.text(outside(path))
            raise NothingUsableError(f"The catalog {name} was never finished: `dedupe catalog update` goes on with it.")
        return Catalog(path, root, head, database.volumes_of(connection, path))


def add_catalog(
    offline: Offline,
    table: FileTable,
    catalog: Catalog,
    take_part: TakePart,
    covered: Covered,
    wanted: Wanted,
) -> None:
    """Append files of a catalog to a table, and count those that need not join it.

    Args:
        offline: takes what is known of them.
        table: takes the files.
        catalog: that they are of.
        take_part: returns those of them that do; name and size are the values 1 and 2 of a row.
        covered: tells which of them are known better, and takes what this one tells.
        wanted: which files are asked for.

    Raises:
        NothingUsableError: it cannot be read.
    """
    path, first = os.fsdecode(catalog.path), len(table)
    left_out = damaged = 0
    bases: set[tuple[bytes, str]] = set()  # of the mounts of what this catalog tells, and the ids of their volumes
    with database.closing(database.opened(path), path) as connection:
        checked, mounts = database.is_checked(connection), _Mounts(table, offline, catalog)
        for number, group in groupby(wanted.rows(connection), key=itemgetter(0)):
            rows = list(group)
            place = folder_at(connection, number, catalog.volumes)
            if place is None:
                damaged += len(rows)
                continue
            folder, volume, inside = place
            whole = whole_rows(rows, checked=checked)
            damaged += len(rows) - len(whole)
            own = part = take_part(mounts.place(folder), whole)
            known = catalog.volumes[volume].id
            if covered.knows(known):
                own = [row for row in part if not covered.has(known, inside + row[1], int(row[5]), row[2])]
                left_out += len(part) - len(own)
            if own:
                mount = mounts.mount(folder, volume, inside)
                bases.add((mount.base, known))
                joining = [row for row in own if row[-1]]
                if len(joining) < len(own):
                    offline.alone_files += len(own) - len(joining)
                    offline.alone_bytes += sum(row[2] for row in own if not row[-1])
                if joining:
                    _add_folder(offline, table, table.enter(mounts.place(folder), mount, catalog.root), joining)
        if catalog.head.files >= 0:
            files, size = connection.execute("SELECT count(*), ifnull(sum(size), 0) FROM files").fetchone()
            damaged += max(catalog.head.files - files, 0)
            if size != catalog.head.size:  # a row whose size is lost may be none of those that were asked for
                damaged = damaged or 1
    offline.parts.append(range(first, len(table)))
    for base, known in sorted(bases):
        covered.take_base(known, base)
    offline.notes += _notes(catalog, left_out, some=wanted.some)
    if damaged:
        told = f"is damaged: {damaged:,} of its rows told of nothing; `dedupe catalog update` mends it"
        offline.problems.append(Problem(catalog.path, ProblemKind.IO, told))
    if catalog.head.unread > 0:
        offline.unread[catalog.path] = catalog.head.unread
    offline.skipped.update(catalog.head.skipped)


def _notes(catalog: Catalog, left_out: int, *, some: bool) -> Iterator[str]:
    """Yield what a user should know of a catalog that takes part: above all how old it is."""
    name, head = display.text(outside(catalog.path)), catalog.head
    unread = f"; of its files and folders {head.unread:,} could not be read then" if head.unread > 0 else ""
    counted = "; its files count as far as something of their size is looked for" if some else ""
    yield f"The catalog {name} was last updated {shown_time(head.updated)}{unread}{counted}."
    if head.files < 0:
        yield (
            f"The catalog {name} is of an earlier version, without checksums: damage to it may stay unseen until "
            "`dedupe catalog update` adds them."
        )
    if left_out:
        yield (
            f"The catalog {name} tells of {left_out:,} files that are looked at themselves, or were there, or that "
            "another catalog tells of: they are not counted twice."
        )
    if head.quick:
        yield f"The catalog {name} has no digests: what it holds is only probably equal."
    elif head.undigested:
        yield (
            f"The catalog {name} has no digests of {head.undigested:,} of its files, which it shared with no other "
            "catalog when it was updated: they are only probably equal to what they are like."
        )


class _Mounts:
    """Makes the volumes of a catalog, which are no others' in the table, whatever their ids."""

    def __init__(self, table: FileTable, offline: Offline, catalog: Catalog) -> None:
        self._head = head = catalog.head
        self._prefix = prefix = catalog.path + _SEPARATOR
        self._volumes = {}
        for number, known in catalog.volumes.items():
            host = f"catalog:{head.id}:{number}"
            volume = Volume(
                f"{host}:{known.id}", "", host, 0, known.file_system, known.label, stable_inodes=True, offline=True
            )
            self._volumes[number] = volume
            offline.volume_ids[table.enter_volume(volume)] = known.id
        self._mounts = {n: Mount(volume, prefix, head.inside) for n, volume in self._volumes.items()}

    def place(self, folder: bytes) -> bytes:
        """Return the path that a folder has in the table, a separator at its end."""
        return self._prefix + folder.replace(b"/", _SEPARATOR)

    def mount(self, folder: bytes, volume: int, inside: bytes) -> Mount:
        """Return the mount that a folder lies on: that of the root, or its own where another volume begins."""
        if inside == self._head.inside + folder:
            return self._mounts[volume]
        return Mount(self._volumes[volume], self.place(folder), inside)


def all_rows(connection: sqlite3.Connection) -> Iterable[_Row]:
    """Return the rows of all files, each of which joins the table."""
    return connection.execute("SELECT *, 1 FROM files ORDER BY folder")


def of_sizes(sizes: Collection[int]) -> Wanted:
    """Return that files of some sizes are asked for."""

    def rows(connection: sqlite3.Connection) -> Iterable[_Row]:
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("CREATE TEMP TABLE wanted (size INTEGER PRIMARY KEY)")
        connection.executemany("INSERT OR IGNORE INTO wanted VALUES (?)", ((size,) for size in sizes))
        chosen = "size IN (SELECT size FROM temp.wanted)"
        return connection.execute(f"SELECT *, 1 FROM files WHERE {chosen} ORDER BY folder")  # noqa: S608 - constants

    return Wanted(rows, some=True)


def _add_folder(offline: Offline, table: FileTable, folder: int, rows: Sequence[_Row]) -> None:
    """Append the files of one folder."""
    first, inodes = len(table), [int(row[5]) for row in rows]
    # names of one file must look alike, or somebody would open them to tell whether they are
    stats = [[row[2] for row in rows], [int(row[3]) for row in rows], array("q", bytes(8 * len(rows))), inodes]
    table.add_all(folder, [row[1] for row in rows], stats)
    offline.fingerprints += b"".join([row[6] or bytes(16) for row in rows])
    offline.digests += b"".join([row[7] or bytes(32) for row in rows])
    offline.undigested.update(first + n for n, row in enumerate(rows) if not row[7])
