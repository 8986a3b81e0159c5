"""Whose an SQLite file is."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from dedupe.storage import sqlite_owner


def test_a_database_tells_its_owner(tmp_path: Path) -> None:
    """The application id stands in the head; 0 where no program has put one there."""
    for name, number in (("ours.db", 0x64656475), ("plain.db", 0)):
        with contextlib.closing(sqlite3.connect(tmp_path / name)) as database:
            database.execute(f"PRAGMA application_id = {number}")
            database.execute("CREATE TABLE t (x)")
        assert sqlite_owner.owner(tmp_path / name) == number
        assert not sqlite_owner.holds_other_data(tmp_path / name)


@pytest.mark.parametrize("data", [b"", b"x", b"SQLite format 3", b"SQLite format 4\0" * 10])
def test_what_is_no_database_has_no_owner(tmp_path: Path, data: bytes) -> None:
    """Only an empty file could become one without a loss."""
    (tmp_path / "f").write_bytes(data)
    assert sqlite_owner.owner(tmp_path / "f") is None
    assert sqlite_owner.holds_other_data(tmp_path / "f") == bool(data)


def test_what_is_not_there(tmp_path: Path) -> None:
    """It holds nothing, and nobody can say whose it is."""
    assert not sqlite_owner.holds_other_data(tmp_path / "gone")
    with pytest.raises(OSError, match="gone"):
        sqlite_owner.owner(tmp_path / "gone")
