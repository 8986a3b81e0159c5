"""Files of folders that were renamed or moved: known by volume and inode number, at the cost of one pass."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import pytest

from dedupe.cache import moved
from dedupe.cache.store import Cache
from dedupe.files.table import FileTable
from dedupe.storage.file_stat import FileStat
from tests.cache_helpers import AT_REST, DISK, NOW, ONE, mounted, one_file, recall, remember, rows

_KNOWN = [(0, b"F" * 16, b"D" * 32)]


def tree(folder: bytes, numbers: Iterable[int], **stat_: int) -> FileTable:
    """Return a table of files of one folder, with inode numbers by their names."""
    table = FileTable()
    at = table.enter(folder, mounted())
    for n in numbers:
        table.add(at, b"%d" % n, AT_REST._replace(inode=n, **stat_))
    return table


def paths(path: Path) -> set[bytes]:
    """Return the paths that have rows."""
    database = sqlite3.connect(path)
    found = {row[0] for row in database.execute("SELECT path FROM files")}
    database.close()
    return found


def test_what_is_found_is_remembered_under_its_new_path(tmp_path: Path) -> None:
    """The next scan finds it by its path, whatever became of the old row."""
    remember(tmp_path / "c.db", tree(b"/old", range(1, 50)))
    new = tree(b"/new/sub", range(1, 50))
    assert len(recall(tmp_path / "c.db", new)) == 49
    assert {b"new/sub/%d" % n for n in range(1, 50)} < paths(tmp_path / "c.db")
    database = sqlite3.connect(tmp_path / "c.db")
    with database:
        database.execute("DELETE FROM files WHERE path < CAST('new/z' AS BLOB) AND 0 OR path >= CAST('old' AS BLOB)")
    database.close()
    assert len(recall(tmp_path / "c.db", new)) == 49


def test_folders_that_swapped_names_keep_what_is_known(tmp_path: Path) -> None:
    """Rows are rewritten only when all were looked for: one of them stands where another goes."""
    table = FileTable()
    for folder, inode in ((b"/a", 1), (b"/b", 2)):
        table.add(table.enter(folder, mounted()), b"f", AT_REST._replace(inode=inode, size=inode))
    remember(tmp_path / "c.db", table)
    swapped = FileTable()
    for folder, inode in ((b"/a", 2), (b"/b", 1)):
        swapped.add(swapped.enter(folder, mounted()), b"f", AT_REST._replace(inode=inode, size=inode))
    for _ in range(2):
        assert len(recall(tmp_path / "c.db", swapped)) == 2
    assert rows(tmp_path / "c.db") == 2


@pytest.mark.parametrize("field", ["size", "modified_ns", "changed_ns", "inode"])
def test_all_that_the_system_says_must_be_equal(tmp_path: Path, field: str) -> None:
    """A file that is merely like the other one, under another path, is not it."""
    remember(tmp_path / "c.db", one_file())
    other = AT_REST._replace(**{field: getattr(AT_REST, field) - 1})
    assert recall(tmp_path / "c.db", one_file(other, b"other")) == []
    assert recall(tmp_path / "c.db", one_file(AT_REST, b"other")) == _KNOWN


@pytest.mark.parametrize(
    ("stat_", "flags"),
    [
        (AT_REST, {"stable_inodes": False}),
        (AT_REST, {"keeps_change_time": False}),
        (AT_REST._replace(inode=0), {}),
        (AT_REST._replace(changed_ns=0), {}),
    ],
    ids=["inodes made up", "times not kept", "no inode", "no change time"],
)
def test_where_numbers_tell_nothing_the_path_is_all(tmp_path: Path, stat_: FileStat, flags: dict[str, bool]) -> None:
    """No file is taken for another one by numbers that do not stay, or without a time that moves with any change."""
    mount = mounted(volume=DISK._replace(**flags))  # type: ignore[arg-type]
    remember(tmp_path / "c.db", one_file(stat_, mount=mount))
    assert recall(tmp_path / "c.db", one_file(stat_, b"other", mount=mount)) == []


def test_another_algorithm_moves_along(tmp_path: Path) -> None:
    """All rows of a file are rewritten, and a digest counts for its own algorithm."""
    remember(tmp_path / "c.db", one_file())
    remember(tmp_path / "c.db", one_file(), algorithm="sha512", digest=b"E" * 64)
    new = one_file(name=b"new")
    assert recall(tmp_path / "c.db", new, "blake2b") == [(0, b"F" * 16, None)]
    assert recall(tmp_path / "c.db", new) == _KNOWN
    assert recall(tmp_path / "c.db", new, "sha512") == [(0, b"F" * 16, b"E" * 64)]
    assert rows(tmp_path / "c.db") == 4


def test_large_inode_numbers_are_found_too(tmp_path: Path) -> None:
    """Beside small ones in the same scan, as text where SQLite knows no such number."""
    numbers = (1, 2**63 - 1, 2**63, 2**64 + 1, 2**128 - 1)
    remember(tmp_path / "c.db", tree(b"/old", numbers))
    assert len(recall(tmp_path / "c.db", tree(b"/new", numbers))) == len(numbers)


def statements(path: Path, table: FileTable) -> list[str]:
    """Return what recalling makes of SQL."""
    cache = Cache(path, "sha256", NOW)
    assert cache._connection is not None
    seen: list[str] = []
    cache._connection.set_trace_callback(seen.append)
    list(cache.recall(table, range(len(table)), ONE))
    cache._connection.set_trace_callback(None)
    cache.close()
    return [statement for statement in seen if "inode" in statement]


def test_a_rerun_makes_no_pass(tmp_path: Path) -> None:
    """Where all files are known by path there is nothing to look for."""
    remember(tmp_path / "c.db", tree(b"/d", range(1, 50)))
    assert statements(tmp_path / "c.db", tree(b"/d", range(1, 50))) == []


def test_new_files_make_no_pass(tmp_path: Path) -> None:
    """What changed after the last scan that remembered something can have no row."""
    remember(tmp_path / "c.db", tree(b"/d", range(1, 50)))
    assert statements(tmp_path / "c.db", tree(b"/new", range(1, 50), changed_ns=NOW + 1)) == []


def test_a_pass_is_made_only_where_reading_takes_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file is rather read than looked for among very many rows."""
    remember(tmp_path / "c.db", tree(b"/old", range(1, 50)))
    monkeypatch.setattr(moved, "_FREE_NS", 0)
    monkeypatch.setattr(moved, "_PASS_NS", 1.0)
    monkeypatch.setattr(moved, "_READ_NS", 0)
    size = os.path.getsize(tmp_path / "c.db")
    monkeypatch.setattr(moved, "_OPEN_NS", size / 40)
    assert statements(tmp_path / "c.db", tree(b"/new", range(1, 40))) == []
    assert len(statements(tmp_path / "c.db", tree(b"/new", range(1, 42)))) > 0


def test_many_files_are_looked_for_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many come together, each is told once."""
    monkeypatch.setattr(moved, "_AT_ONCE", 20)
    monkeypatch.setattr(moved, "_PART", 7)
    remember(tmp_path / "c.db", tree(b"/old", range(1, 100)))
    remember(tmp_path / "c.db", tree(b"/old", range(1, 100)), algorithm="sha512", digest=b"E" * 64)
    found = recall(tmp_path / "c.db", tree(b"/new", range(1, 100)))
    assert found == [(i, b"F" * 16, b"D" * 32) for i in range(99)]
    assert rows(tmp_path / "c.db") == 4 * 99
