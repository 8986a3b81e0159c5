"""The database report: one SQLite file for questions that no other format foresees; opens in Datasette.

Paths are text as in the other reports, with the exact bytes in base64 beside them where the text is not exact.
`device` and `inode` are text, as they may pass 2^63; another number that 64 bits do not hold is null.  The file is
built in a temporary folder of its own, as a million groups need not fit in memory, and handed over piece by piece.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from dedupe.folders.compare import compare_folders
from dedupe.folders.tree import parent
from dedupe.report import jsontext
from dedupe.report.base import Style
from dedupe.report.csv_report import kind_of
from dedupe.report.units import utc_time
from dedupe.result import File, NameKind, ScanResult, VolumeInfo
from dedupe.storage import display, sqlite_owner

if TYPE_CHECKING:
    from sqlite_utils import Database

_PIECE = 1 << 20

_TABLES: dict[str, dict[str, type]] = {
    "scan": {
        "schema": str,
        "version": str,
        "started": str,
        "seconds": float,
        "confirm": str,
        "backend": str,
        "reason": str,
    },
    "totals": dict.fromkeys(
        ("files", "bytes", "groups", "redundant_files", "reclaimable_bytes", "bytes_read", "cache_hits", "problems"),
        int,
    ),
    "skipped": {"reason": str, "entries": int},
    "roots": {"id": int, "path": str, "path_base64": str},
    "volumes": {"id": int, "volume": str, "label": str, "file_system": str}
    | {"mount_point": str, "mount_point_base64": str},
    "notes": {"id": int, "note": str},
    "folders": {"id": int, "path": str, "path_base64": str, "files": int, "bytes": int, "left_out": int},
    "groups": {"id": int, "size": int, "algorithm": str, "digest": str, "proof": str}
    | {"files": int, "reclaimable_bytes": int},
    "files": {
        "id": int,
        "group_id": int,
        "file": int,  # physical file of the group, from 1: its names share it, and the first of them is a real one
        "kind": str,  # "file" for the first name, then what the further one is
        "root_id": int,
        "volume_id": int,
        "folder_id": int,
        "path": str,
        "path_base64": str,
        "modified": str,
        "modified_ns": int,
        "device": str,
        "inode": str,
        "proof": str,
    },
    "problems": {"id": int, "path": str, "path_base64": str, "kind": str, "message": str},
    "identical_folders": {"id": int, "set_id": int, "path": str, "path_base64": str, "files": int, "bytes": int}
    | {"reclaimable_bytes": int, "left_out": int},
    "contained_folders": {"id": int, "folder": str, "folder_base64": str, "holder": str, "holder_base64": str}
    | dict.fromkeys(("files", "bytes", "held_files", "held_bytes", "linked_files", "left_out"), int),
}
_KEYS = {"skipped": "reason"}
_FOREIGN_KEYS = {
    "files": tuple((f"{table[:-1]}_id", table, "id") for table in ("groups", "roots", "volumes", "folders")),
}
_INDEXES = (("groups", "reclaimable_bytes"), ("files", "group_id"), ("files", "folder_id"), ("files", "path"))

# A group wastes all its files but one; each physical file bears an equal share, counted where its first name lies.
_WORST_FOLDERS = """
select folders.path as folder, count(*) as files,
       cast(round(sum(groups.reclaimable_bytes * 1.0 / groups.files)) as integer) as wasted_bytes
from (select group_id, file, min(id) as id from files group by group_id, file) as firsts
join files using (id) join groups on groups.id = files.group_id join folders on folders.id = files.folder_id
group by folders.id order by wasted_bytes desc, folder
"""

_Row: TypeAlias = tuple[object, ...]


def render(result: ScanResult, _style: Style) -> Iterator[bytes]:
    """Yield the bytes of the database."""
    from sqlite_utils import Database

    with tempfile.TemporaryDirectory(prefix="dedupe-") as folder:
        place = os.path.join(folder, "report.db")
        database = Database(place)
        try:
            _fill(database, result)
        finally:
            database.close()
        with open(place, "rb") as file:
            while piece := file.read(_PIECE):
                yield piece


def _fill(database: Database, result: ScanResult) -> None:
    database.execute("pragma synchronous = off")  # nobody else sees this file before it is whole
    database.execute(f"pragma application_id = {sqlite_owner.REPORT}")
    for table, columns in _TABLES.items():
        key = _KEYS.get(table, "id" if "id" in columns else None)
        database.table(table).create(columns, pk=key, foreign_keys=_FOREIGN_KEYS.get(table, ()))
    _insert(database, "scan", [_scan_row(result)])
    totals = result.totals
    _insert(database, "totals", [tuple(_numbers(totals, _TABLES["totals"], 0))])
    _insert(database, "skipped", ((str(reason), count) for reason, count in totals.skipped.items()))
    _insert(database, "roots", ((i, *_path(root)) for i, root in enumerate(result.roots, 1)))
    volumes = enumerate(result.volumes, 1)
    _insert(database, "volumes", ((i, *_volume_row(volume)) for i, volume in volumes))
    _insert(database, "notes", ((i, _words(note)) for i, note in enumerate(result.notes, 1)))
    folders: dict[bytes, int] = {}
    groups: list[_Row] = []
    _insert(database, "files", _file_rows(result, folders, groups))
    _insert(database, "groups", groups)
    _insert(database, "folders", _folder_rows(result, folders))
    problems = enumerate(result.problems, 1)
    _insert(database, "problems", ((i, *_path(p.path), str(p.kind), _words(p.message)) for i, p in problems))
    _insert_compared(database, result)
    for table, column in _INDEXES:
        database.table(table).create_index([column])
    database.create_view("worst_folders", _WORST_FOLDERS)


def _insert(database: Database, table: str, rows: Iterable[_Row]) -> None:
    marks = ", ".join("?" * len(_TABLES[table]))
    with database.atomic():
        database.conn.executemany(f"insert into [{table}] values ({marks})", rows)  # noqa: S608 - names are ours


def _scan_row(result: ScanResult) -> _Row:
    choice = result.backend
    scan = (jsontext.SCHEMA, result.version, result.started, result.seconds, result.confirm)
    return (*scan, choice.name, choice.reason)


def _file_rows(result: ScanResult, folders: dict[bytes, int], groups: list[_Row]) -> Iterator[_Row]:
    """Yield a row for each name; number the folders and collect the rows of groups on the way."""
    number = 0
    for group in result.groups:
        count = 0
        digest = None if group.digest is None else group.digest.hex()
        for count, file in enumerate(group.files, 1):
            places = [None if at is None else at + 1 for at in (file.root, file.volume)]
            times = (utc_time(file.modified_ns), _number(file.modified_ns), str(file.device), str(file.inode))
            for kind, path in _named(file):
                number += 1
                folder = folders.setdefault(parent(path) or path, len(folders) + 1)
                yield (number, group.id, count, kind, *places, folder, *_path(path), *times, file.proof)
        sizes = (count, _number(group.reclaimable_bytes))
        groups.append((group.id, _number(group.size), group.algorithm, digest, group.proof, *sizes))


def _named(file: File) -> Iterator[tuple[str, bytes]]:
    """Yield each name of a file with what it is, as in the CSV report."""
    yield kind_of(file.proof), file.path
    for kind, names in zip(NameKind, (file.links, file.symlinks, file.mounted), strict=True):
        yield from [(kind, name) for name in names]


def _volume_row(volume: VolumeInfo) -> _Row:
    point = _path(volume.mount_point) if volume.mount_point else (None, None)
    return (*map(_words, (volume.id, volume.label, volume.file_system)), *point)


def _folder_rows(result: ScanResult, folders: dict[bytes, int]) -> Iterator[_Row]:
    """Yield the folders of all names, with what lies below them where that is known."""
    for folder, number in folders.items():
        count = result.folders.get(folder)
        numbers = map(_number, (count.files, count.bytes, count.left_out)) if count else (None, None, None)
        yield (number, *_path(folder), *numbers)


def _insert_compared(database: Database, result: ScanResult) -> None:
    found = compare_folders(result)
    members = ((number, path, each) for number, each in enumerate(found.identical, 1) for path in each.folders)
    _insert(
        database,
        "identical_folders",
        (
            (i, number, *_path(path), *_numbers(each, _TABLES["identical_folders"], 4))
            for i, (number, path, each) in enumerate(members, 1)
        ),
    )
    _insert(
        database,
        "contained_folders",
        (
            (i, *_path(each.folder), *_path(each.holder), *_numbers(each, _TABLES["contained_folders"], 5))
            for i, each in enumerate(found.contained, 1)
        ),
    )


def _number(number: int) -> int | None:
    """Return what SQLite can hold as it is."""
    return number if -(2**63) <= number < 2**63 else None


def _numbers(holder: object, columns: Iterable[str], first: int) -> Iterator[int | None]:
    """Yield the numbers that a table's columns from `first` on are named after."""
    return (_number(getattr(holder, column)) for column in islice(columns, first, None))


def _path(path: bytes) -> tuple[str, str | None]:
    return display.text(path), display.base64_if_needed(path)


def _words(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
