"""Taking rows from one cache to another: whole ones only, the newest of a file, and nothing by halves."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from dedupe.cache import maintenance, transfer
from dedupe.cache.transfer import Imported
from dedupe.errors import CacheError
from dedupe.files.table import FileTable
from tests.cache_helpers import AT_REST, DISK, NOW, mounted, one_file, recall, remember, rows

_M, _A, _AB, _B = (os.fsencode(name.replace("/", os.sep)) for name in ("/m", "/m/a", "/m/ab", "/m/b"))


def change(path: Path, *statements: str) -> None:
    """Change a database by SQL."""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        for statement in statements:
            database.execute(statement)


def tree() -> FileTable:
    """Return files in two folders of a disk that is mounted at /m."""
    table = FileTable()
    for folder in (_A, _AB):
        at = table.enter(folder, mounted(_M))
        for n in (1, 2):
            table.add(at, b"%d" % n, AT_REST._replace(inode=n if folder == _A else n + 10))
    return table


@pytest.fixture
def kept(tmp_path: Path) -> str:
    """Return a cache of four files by one algorithm, and of one of them by another."""
    remember(tmp_path / "c.db", tree())
    remember(tmp_path / "c.db", one_file(AT_REST._replace(inode=1), b"1", _A, mounted(_M)), algorithm="sha512")
    change(tmp_path / "c.db", f"INSERT INTO roots VALUES (1, x'', x'{_M.hex()}', '2', 'now')")
    return str(tmp_path / "c.db")


def test_all_rows_arrive(kept: str, tmp_path: Path) -> None:
    """Another cache, made by it, knows what the first one did."""
    target, other = str(tmp_path / "e.db"), str(tmp_path / "new" / "other.db")
    assert transfer.export(kept, target) == 4
    assert transfer.import_(other, target) == Imported(5, 0, 0)
    assert maintenance.info(other).files == 4
    assert maintenance.info(other).roots == [_M]
    assert recall(Path(other), tree()) == recall(Path(kept), tree())
    assert transfer.import_(other, target) == Imported(0, 5, 0)
    assert rows(Path(other)) == 5


def test_an_export_is_private_and_whole(kept: str, tmp_path: Path) -> None:
    """It is one file, readable by its owner alone, and replaces an earlier one."""
    for _ in range(2):
        transfer.export(kept, str(tmp_path / "e.db"))
        assert sorted(p.name for p in tmp_path.iterdir()) == ["c.db", "e.db"]
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "e.db").stat().st_mode) == 0o600


def test_only_what_lies_below_a_folder(kept: str, tmp_path: Path) -> None:
    """By the name that the root had when it was scanned; what begins alike is another folder."""
    target = str(tmp_path / "e.db")
    assert transfer.export(kept, target, [_A]) == 2
    assert transfer.import_(str(tmp_path / "o.db"), target) == Imported(3, 0, 0)
    assert transfer.export(kept, target, [_A, _M]) == 4
    with pytest.raises(CacheError, match="Nothing is remembered below"):
        transfer.export(kept, target, [_B])


@pytest.mark.parametrize("what", ["data", "cache", "database", "folder"])
def test_nothing_but_an_earlier_export_is_replaced(kept: str, tmp_path: Path, what: str) -> None:
    """Neither data nor another database, and least of all a cache."""
    target = tmp_path / "t.db"
    {
        "data": lambda: target.write_bytes(b"data"),
        "cache": lambda: shutil.copy(kept, target),
        "database": lambda: change(target, "CREATE TABLE t (x)"),
        "folder": target.mkdir,
    }[what]()
    before = target.read_bytes() if target.is_file() else b""
    with pytest.raises(CacheError, match="no earlier export"):
        transfer.export(kept, str(target))
    assert (target.read_bytes() if target.is_file() else b"") == before


def test_a_target_that_cannot_be_written_is_told(kept: str, tmp_path: Path) -> None:
    """One sentence, and nothing is left behind."""
    with pytest.raises(CacheError, match="could not be written: No such file"):
        transfer.export(kept, str(tmp_path / "none" / "e.db"))
    assert [p.name for p in tmp_path.iterdir()] == ["c.db"]


def test_what_was_read_last_counts(tmp_path: Path) -> None:
    """Newer rows replace older ones, and older ones do not replace newer ones."""
    for name, digest, read_ns in (("old", b"O" * 32, NOW), ("new", b"N" * 32, NOW + 1)):
        remember(tmp_path / name, one_file(), digest=digest, read_ns=read_ns)
    shutil.copy(tmp_path / "old", tmp_path / "c.db")
    assert transfer.import_(str(tmp_path / "c.db"), str(tmp_path / "new")) == Imported(1, 0, 0)
    assert recall(tmp_path / "c.db", one_file()) == [(0, b"F" * 16, b"N" * 32)]
    assert transfer.import_(str(tmp_path / "c.db"), str(tmp_path / "old")) == Imported(0, 1, 0)
    assert recall(tmp_path / "c.db", one_file()) == [(0, b"F" * 16, b"N" * 32)]


def test_volumes_have_numbers_of_their_own_in_each_cache(kept: str, tmp_path: Path) -> None:
    """Rows come to the volume of the same identity, whatever its number."""
    other = tmp_path / "o.db"
    remember(other, one_file(mount=mounted(volume=DISK._replace(id="uuid:first"))))
    transfer.import_(str(other), kept)
    assert recall(other, tree()) == recall(Path(kept), tree())
    assert len(recall(other, one_file(mount=mounted(volume=DISK._replace(id="uuid:first"))))) == 1


@pytest.mark.parametrize(
    "edit",
    [
        "digest = x'00'",
        "path = CAST('x' || path AS BLOB)",
        "size = size + 1",
        "size = 'x'",
        "size = NULL",
        "size = -1",
        "inode = '7'",
        "inode = NULL",
        "read_ns = NULL",
        "fingerprint = NULL",
        "checksum = 5",
        "algorithm = x'00'",
        "volume = 77",
    ],
)
def test_rows_that_are_not_whole_are_left_out(kept: str, tmp_path: Path, edit: str) -> None:
    """They are counted, and the others come."""
    change(Path(kept), f"UPDATE files SET {edit} WHERE path = CAST('ab/2' AS BLOB)")
    assert transfer.import_(str(tmp_path / "o.db"), kept) == Imported(4, 0, 1)
    assert rows(tmp_path / "o.db") == 4


@pytest.mark.parametrize("what", ["gone", "data", "empty", "folder", "foreign", "newer", "older", "cut", "overwritten"])
def test_what_is_no_export_changes_nothing(kept: str, tmp_path: Path, what: str) -> None:
    """One sentence that names it, and the cache is as it was."""
    source, own = tmp_path / "e.db", tmp_path / "own.db"
    remember(own, one_file())
    remember(source, tree())
    transfer.export(kept, str(tmp_path / "big.db"))
    data = source.read_bytes()
    source.unlink()
    if what in ("foreign", "newer", "older"):
        source.write_bytes(data)
        change(
            source,
            {"foreign": "PRAGMA application_id = 7"}.get(what, f"PRAGMA user_version = {1 + 9 * (what == 'newer')}"),
        )
    elif what == "folder":
        source.mkdir()
    elif what != "gone":
        made = {"data": b"x", "empty": b"", "cut": data[: len(data) // 2]}
        source.write_bytes(made.get(what, data[:8192] + b"\xff" * (len(data) - 8192)))
    before = own.read_bytes()
    with pytest.raises(CacheError) as told:
        transfer.import_(str(own), str(source))
    assert str(source) in str(told.value)
    assert str(told.value).count(".\n") == 0
    assert "--cache" not in str(told.value)
    assert own.read_bytes() == before
    with pytest.raises(CacheError):
        transfer.import_(str(tmp_path / "made.db"), str(source))
    assert not (tmp_path / "made.db").exists()


def test_a_cache_is_not_taken_into_itself(kept: str, tmp_path: Path) -> None:
    """Nor by another name."""
    os.link(kept, tmp_path / "same.db")
    with pytest.raises(CacheError, match="the cache itself"):
        transfer.import_(kept, str(tmp_path / "same.db"))


def test_an_export_is_no_cache(kept: str, tmp_path: Path) -> None:
    """A command that expects a cache says how its rows get into one."""
    transfer.export(kept, str(tmp_path / "e.db"))
    for work in (maintenance.info, maintenance.prune, maintenance.clear):
        with pytest.raises(CacheError, match="dedupe cache import"):
            work(str(tmp_path / "e.db"))
