"""Files of catalogs in the table of a scan: known by size, fingerprint and digest, and never opened.

Each stands below the catalog's own path, as if that were a folder: no file can be there, so nothing acts on one.
"""

from __future__ import annotations

import os
import sqlite3
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

from dedupe.catalog import database
from dedupe.catalog.head import CatalogVolume, Head
from dedupe.errors import NothingUsableError
from dedupe.files.columns import Column
from dedupe.files.table import FileTable
from dedupe.storage import display
from dedupe.storage.volume import Mount, Volume

_SEPARATOR = os.fsencode(os.sep)
_AT_ONCE = 1 << 14  # files whose values are handed over together
_ALL = (
    "SELECT folders.path, folders.volume, folders.inside, name, size, modified_ns, inode, fingerprint, digest "
    "FROM files JOIN folders ON files.folder = folders.number "
)

TakesPart = Callable[[bytes, bytes, int], bool]  # of a folder with a separator at its end, a name and a size
_Row = tuple[Any, ...]


@dataclass(slots=True)
class Offline:
    """The files of catalogs in a table, and what is known of them."""

    parts: list[range] = field(default_factory=list)  # files in the table, catalog after catalog
    fingerprints: bytearray = field(default_factory=bytearray)
    digests: bytearray = field(default_factory=bytearray)  # zeros where there is none
    undigested: set[int] = field(default_factory=set)  # files without a digest
    volume_ids: dict[int, str] = field(default_factory=dict)  # by volume in the table: the id that it has where it is
    notes: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return any(self.parts)

    def has(self, i: int) -> bool:
        """Return whether a file is of a catalog."""
        return any(i in part for part in self.parts)

    def tell(self, fingerprints: Column, digests: Column) -> None:
        """Hand over what is known of the files, and keep none of it."""
        self._hand_over(self.fingerprints, fingerprints)
        self._hand_over(self.digests, digests, self.undigested)

    def _hand_over(self, values: bytearray, column: Column, without: Collection[int] = ()) -> None:
        width, at = column.width, 0
        for part in self.parts:
            for first in range(part.start, part.stop, _AT_ONCE):
                members = range(first, min(first + _AT_ONCE, part.stop))
                known = [
                    None if i in without else bytes(values[(k := at + i - first) * width : (k + 1) * width])
                    for i in members
                ]
                column.put_all(members, known)
                at += len(members)
        values.clear()


def add_catalog(
    offline: Offline,
    table: FileTable,
    path: bytes,
    root: int,
    takes_part: TakesPart,
    sizes: Collection[int] | None = None,
) -> None:
    """Append the files of a catalog to a table.

    Args:
        offline: takes what is known of them.
        table: takes the files.
        path: of the catalog, absolute.
        root: that the files are of.
        takes_part: tells which of them do.
        sizes: only files of these are wanted; None for all.

    Raises:
        UsageError: it is of a newer dedupe.
        NothingUsableError: it cannot be read, or was never finished.
    """
    connection, first = database.opened(os.fsdecode(path)), len(table)
    with database.closing(connection, os.fsdecode(path)):
        head = database.head_of(connection, path)
        if not head.complete:
            raise NothingUsableError(
                f"The catalog {display.text(path)} was never finished: `dedupe catalog update` goes on with it."
            )
        mounts = _Mounts(table, offline, head, database.volumes_of(connection, path), path + _SEPARATOR)
        for folder, rows in groupby(_rows(connection, sizes), key=itemgetter(0, 1, 2)):
            _add_folder(offline, table, (mounts, *folder), root, [r for r in rows if _is_whole(r)], takes_part)
    offline.parts.append(range(first, len(table)))
    if head.quick:
        offline.notes.append(f"The catalog {display.text(path)} has no digests: what it holds is only probably equal.")


class _Mounts:
    """Makes the volumes of a catalog, which are no others' in the table, whatever their ids."""

    def __init__(
        self, table: FileTable, offline: Offline, head: Head, volumes: dict[int, CatalogVolume], prefix: bytes
    ) -> None:
        self._head, self.prefix = head, prefix
        self._volumes = {}
        for number, known in volumes.items():
            host = f"catalog:{head.id}:{number}"
            volume = Volume(
                f"{host}:{known.id}", "", host, 0, known.file_system, known.label, stable_inodes=True, offline=True
            )
            self._volumes[number] = volume
            offline.volume_ids[table.enter_volume(volume)] = known.id
        self._mounts = {n: Mount(volume, prefix, head.inside) for n, volume in self._volumes.items()}

    def of(self, volume: int, folder: bytes, inside: bytes, place: bytes) -> Mount:
        """Return the mount of a folder: that of the root, or one of its own where another volume begins."""
        if inside == self._head.inside + folder:
            return self._mounts[volume]
        return Mount(self._volumes[volume], place, inside)


def _rows(connection: sqlite3.Connection, sizes: Collection[int] | None) -> Iterator[_Row]:
    if sizes is None:
        return connection.execute(_ALL + "ORDER BY files.folder")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("CREATE TEMP TABLE wanted (size INTEGER PRIMARY KEY)")
    connection.executemany("INSERT OR IGNORE INTO wanted VALUES (?)", ((size,) for size in sizes))
    return connection.execute(f"{_ALL} WHERE size IN (SELECT size FROM temp.wanted) ORDER BY files.folder")  # noqa: S608 - constant


def _is_whole(row: _Row) -> bool:
    """Return whether a row can be taken: another program, or a failing disk, may have written into it."""
    path, _, inside, name, size, _, _, fingerprint, digest = row
    return (
        isinstance(path, bytes)
        and isinstance(inside, bytes)
        and isinstance(name, bytes)
        and isinstance(size, int)
        and (not size or (isinstance(fingerprint, bytes) and len(fingerprint) == 16))
        and (not digest or (isinstance(digest, bytes) and len(digest) == 32))
    )


def _add_folder(
    offline: Offline,
    table: FileTable,
    where: tuple[_Mounts, bytes, int, bytes],
    root: int,
    rows: Sequence[_Row],
    takes_part: TakesPart,
) -> None:
    """Append the files of one folder."""
    mounts, folder, volume, inside = where
    place = mounts.prefix + folder.replace(b"/", _SEPARATOR)
    taken = [row for row in rows if takes_part(place, row[3], row[4])]
    if not taken:
        return
    number = table.enter(place, mounts.of(volume, folder, inside, place), root)
    first = len(table)
    inodes = [int(row[6]) for row in taken]
    # names of one file must look alike, or somebody would open them to tell whether they are
    stats = [[row[4] for row in taken], [int(row[5]) for row in taken], array("q", bytes(8 * len(taken))), inodes]
    table.add_all(number, [row[3] for row in taken], stats)
    offline.fingerprints += b"".join([row[7] or bytes(16) for row in taken])
    offline.digests += b"".join([row[8] or bytes(32) for row in taken])
    offline.undigested.update(first + n for n, row in enumerate(taken) if not row[8])
