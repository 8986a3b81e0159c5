"""Writing the files of a folder into a catalog, folder by folder, and finding what it says of them.  Reads no file."""

from __future__ import annotations

import os
import re
import sqlite3
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeGuard

from dedupe.catalog.database import is_checked, number
from dedupe.catalog.row_checksum import of_file, of_values, whole_files
from dedupe.files.table import FileTable

_SEPARATOR = os.fsencode(os.sep)
_NO_NAMES = (b"", b".", b"..")
_NUMBER = re.compile(r"-?[0-9]{1,40}")
_KNOWN = "SELECT * FROM files WHERE folder = ?"
_PUT = "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_PLAIN = 8  # values of a row without its checksum


class CatalogFolder(NamedTuple):
    """What a catalog says of one folder."""

    path: bytes  # below the root, "/" between names and at its end; empty for the root
    volume: int  # number of the one that it lies on
    inside: bytes  # the same folder in that volume


class KnownRow(NamedTuple):
    """What a catalog says of one file."""

    size: int
    modified_ns: int
    changed_ns: int | None  # None where the file was not at rest
    inode: int  # 0 where numbers do not stay with their files
    fingerprint: bytes
    digest: bytes  # empty where there is none


class CatalogFolders:
    """Folders of a table by the numbers that they have in a catalog.

    Args:
        connection: the catalog.
        table: files of one root.
        root: that they lie below, absolute.
    """

    def __init__(self, connection: sqlite3.Connection, table: FileTable, root: bytes) -> None:
        self._connection = connection
        self.table = table
        self._prefix = os.path.join(root, b"")
        self._volumes: dict[int, int] = {}

    def path(self, folder: int) -> bytes:
        """Return the path of a folder below the root, "/" between names and at its end; empty for the root."""
        return self.table.folders[folder][len(self._prefix) :].replace(_SEPARATOR, b"/")

    def below_root(self, path: bytes) -> bytes:
        """Return an absolute path as one below the root, without a separator at its end; empty for the root."""
        return path[len(self._prefix) :].replace(_SEPARATOR, b"/").rstrip(b"/")

    def number(self, folder: int) -> int:
        """Return the number of a folder, which is entered if it is new."""
        path, inside = self.path(folder), self.table.mount_of(folder).relative(self.table.folders[folder])
        volume = self._volume(self.table.volume_of(folder))
        found = self._connection.execute("SELECT number FROM folders WHERE path = ?", (path,)).fetchone()
        at = int(found[0]) if found else self._new_number("folders")
        row = (at, path, volume, inside)
        self._connection.execute(
            "INSERT INTO folders VALUES (?, ?, ?, ?, ?) ON CONFLICT (number) DO UPDATE "
            "SET volume = excluded.volume, inside = excluded.inside, checksum = excluded.checksum",
            (*row, of_values(*row)),
        )
        return at

    def _new_number(self, table: str) -> int:
        return int(self._connection.execute(f"SELECT ifnull(max(number), 0) + 1 FROM {table}").fetchone()[0])  # noqa: S608 - constant

    def _volume(self, volume: int) -> int:
        if volume not in self._volumes:
            told = self.table.volumes[volume]
            row = (told.id, told.label, told.file_system)
            found = self._connection.execute("SELECT number FROM volumes WHERE id = ?", row[:1]).fetchone()
            if not found:
                found = (self._new_number("volumes"),)
                values = (*found, *row)
                self._connection.execute("INSERT INTO volumes VALUES (?, ?, ?, ?, ?)", (*values, of_values(*values)))
            self._volumes[volume] = int(found[0])
        return self._volumes[volume]

    def by_folder(self, members: Iterable[int]) -> Iterator[tuple[int, Sequence[int]]]:
        """Yield files folder by folder, in the order of the paths of the folders."""
        folder = self.table.folder
        ordered = sorted(members, key=lambda i: (self.table.folders[folder[i]], folder[i]))
        for _, same in groupby(ordered, key=lambda i: self.table.folders[folder[i]]):
            some = array("I", same)
            yield folder[some[0]], some

    def known(self, folder: int) -> dict[bytes, KnownRow]:
        """Return what the catalog says of the files of a folder, by their names."""
        row = self._connection.execute("SELECT number FROM folders WHERE path = ?", (self.path(folder),)).fetchone()
        return known_rows(self._connection, row[0]) if row else {}

    def name(self, i: int) -> bytes:
        """Return the name of a file in its folder."""
        table = self.table
        return bytes(table.names[table.ends[i - 1] if i else 0 : table.ends[i]])

    def put(
        self,
        members: Iterable[int],
        values_of: Callable[[int], tuple[bytes | None, bytes | None]],
        is_settled: Callable[[int], bool],
    ) -> None:
        """Write what was learnt of files: fingerprint and digest of each, and whether it was at rest."""
        table = self.table
        for folder, some in self.by_folder(members):
            at = self.number(folder)
            rows = []
            for i in some:
                modified_ns, changed_ns = table.times(i)
                changed = number(changed_ns) if is_settled(i) else None
                stat = (table.size[i], number(modified_ns), changed, number(table.stable_inode_of(i)))
                row = (at, self.name(i), *stat, *values_of(i))
                rows.append((*row, of_file(row)))
            self._connection.executemany(_PUT, rows)


def known_rows(connection: sqlite3.Connection, folder: int) -> dict[bytes, KnownRow]:
    """Return what a catalog says of the files of a folder, by their names, without rows that are damaged."""
    found = {}
    rows = connection.execute(_KNOWN, (folder,)).fetchall()
    for row in whole_rows(rows, checked=is_checked(connection)):
        _, name, size, modified_ns, changed_ns, inode, fingerprint, digest = row[:_PLAIN]
        changed = None if changed_ns is None else int(changed_ns)
        found[name] = KnownRow(size, int(modified_ns), changed, int(inode), fingerprint or b"", digest or b"")
    return found


def whole_folders(connection: sqlite3.Connection) -> list[tuple[int, bytes]]:
    """Return numbers and paths of the folders of a catalog, without those that are damaged."""
    rows = connection.execute("SELECT * FROM folders").fetchall()
    return [row[:2] for row in rows if row[4:] in ((), (of_values(*row[:4]),)) and isinstance(row[1], bytes)]


def folder_at(connection: sqlite3.Connection, number: int, volumes: Container[int]) -> CatalogFolder | None:
    """Return a folder by its number; None where there is none, or a failing disk has written into its row.

    Args:
        connection: the catalog.
        number: of the folder.
        volumes: numbers of those that there are.
    """
    row = connection.execute("SELECT * FROM folders WHERE number = ?", (number,)).fetchone()
    if row is None or row[4:] not in ((), (of_values(*row[:4]),)):
        return None
    _, path, volume, inside, *_ = row
    whole = isinstance(path, bytes) and isinstance(inside, bytes) and volume in volumes
    return CatalogFolder(path, volume, inside) if whole and b".." not in path.split(b"/") else None


def whole_rows(rows: Sequence[tuple[Any, ...]], *, checked: bool) -> Sequence[tuple[Any, ...]]:
    """Return the files' rows that are as they were written.

    Args:
        rows: of a catalog, with whatever else was asked for after its columns.
        checked: whether it has checksums; else rows are taken for whole as far as it shows.
    """
    return whole_files(rows) if checked else [row for row in rows if may_be_whole(row[:_PLAIN])]


def may_be_whole(row: tuple[Any, ...]) -> bool:
    """Return whether the values of a row without checksum can be what was written."""
    _, name, size, modified_ns, changed_ns, inode, fingerprint, digest = row
    return (
        isinstance(name, bytes)
        and b"/" not in name
        and name not in _NO_NAMES
        and isinstance(size, int)
        and size >= 0
        and _is_number(modified_ns)
        and _is_number(changed_ns or 0)
        and _is_number(inode)
        and int(inode) >= 0
        and (not fingerprint or (isinstance(fingerprint, bytes) and len(fingerprint) == 16))
        and (not digest or (isinstance(digest, bytes) and len(digest) == 32))
        and (not size or bool(fingerprint))
    )


def _is_number(value: object) -> TypeGuard[int | str]:
    """Return whether a value is a number as one is stored: as text where it is large."""
    return isinstance(value, int) or (isinstance(value, str) and _NUMBER.fullmatch(value) is not None)
