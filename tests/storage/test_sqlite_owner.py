"""Whose a database is: the number that SQLite itself tells."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from dedupe.storage import sqlite_owner


@pytest.mark.parametrize("number", [0, 1, sqlite_owner.CACHE, sqlite_owner.REPORT, 2**31 - 1])
@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_the_number_is_the_one_that_was_given(tmp_path: Path, number: int, mode: str) -> None:
    """What stands in the file is what the pragma set, also where changes go to a log of their own first."""
    path = tmp_path / "some.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA journal_mode = {mode}")
        database.execute(f"PRAGMA application_id = {number}")
        database.execute("CREATE TABLE t (x)")
        database.commit()
    assert sqlite_owner.is_database(path)
    assert sqlite_owner.application_of(path) == number


@pytest.mark.parametrize("content", [b"", b"SQLite", b"SQLite format 3", b"x" * 100, sqlite_owner.MAGIC + b"short"])
def test_what_is_no_database_has_no_number(tmp_path: Path, content: bytes) -> None:
    """Other files, empty ones and the beginning of a database alone belong to no program."""
    path = tmp_path / "some.db"
    path.write_bytes(content)
    assert sqlite_owner.application_of(path) is None
    assert sqlite_owner.is_database(path) == content.startswith(sqlite_owner.MAGIC)


def test_reports_and_caches_have_numbers_of_their_own() -> None:
    """The numbers are four letters each, and what a hex dump shows."""
    assert [each.to_bytes(4, "big") for each in (sqlite_owner.CACHE, sqlite_owner.REPORT)] == [b"dedu", b"dedr"]


@pytest.mark.parametrize("data", [b"", b"x", b"SQLite format 3", b"SQLite format 4\0" * 10])
def test_only_an_empty_file_could_become_a_database_without_a_loss(tmp_path: Path, data: bytes) -> None:
    """What holds something is never taken for a place where a database may be made; what is not there holds nothing."""
    (tmp_path / "f").write_bytes(data)
    assert sqlite_owner.holds_other_data(tmp_path / "f") == bool(data)
    assert not sqlite_owner.holds_other_data(tmp_path / "gone")
