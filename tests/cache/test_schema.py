"""The cache's tables: made once, told from others', and left alone where they are not ours."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from dedupe.cache import schema
from dedupe.cache.store import Cache


def made(path: Path) -> sqlite3.Connection:
    """Return a database with the tables of a cache."""
    connection = sqlite3.connect(path)
    assert not schema.check(connection)
    schema.make(connection)
    assert schema.check(connection)
    return connection


def test_making_twice_changes_nothing(tmp_path: Path) -> None:
    """Two processes may start at once."""
    with contextlib.closing(made(tmp_path / "c.db")) as connection:
        connection.execute("INSERT INTO roots VALUES (1, x'', x'2f', '2', 'now')")
        connection.commit()
        schema.make(connection)
        assert connection.execute("SELECT count(*) FROM roots").fetchone() == (1,)


@pytest.mark.parametrize("change", ["PRAGMA user_version = 99", "PRAGMA application_id = 7"])
def test_newer_and_foreign_databases_stay_as_they_are(tmp_path: Path, change: str) -> None:
    """A scan goes on without them, and not a byte of them changes."""
    path = tmp_path / "c.db"
    with contextlib.closing(made(path)) as connection:
        connection.execute(change)
    before = path.read_bytes()
    cache = Cache(path, "sha256", 1)
    assert not cache.usable
    assert len(cache.notes) == 1
    cache.close()
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["c.db"]
