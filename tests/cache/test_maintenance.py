"""Looking after a cache: only what is surely gone is dropped, and space comes back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dedupe.cache import maintenance, write_buffer
from dedupe.cache.maintenance import Pruned
from dedupe.cache.write_buffer import RACY_NS
from dedupe.config import ScanConfig
from dedupe.errors import CacheError
from dedupe.find import find_duplicates
from tests.conftest import write


@pytest.fixture(autouse=True)
def at_rest_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have files remembered that were written just before."""
    monkeypatch.setattr(write_buffer, "RACY_NS", -RACY_NS)


def scanned(tmp_path: Path, files: int = 2) -> str:
    """Return a cache that knows some equal files below a root."""
    for n in range(files):
        write(tmp_path / "root" / "sub" / f"{n:04d}{'x' * 100}", b"data")
    find_duplicates(ScanConfig(roots=[tmp_path / "root"], cache=tmp_path / "c.db"))
    return str(tmp_path / "c.db")


def test_a_root_that_is_away_keeps_its_rows(tmp_path: Path) -> None:
    """Where the root cannot be read, or another folder has its name, nothing is known to be gone."""
    kept = scanned(tmp_path)
    os.rename(tmp_path / "root", tmp_path / "away")
    assert maintenance.prune(kept) == Pruned(0, 2)
    (tmp_path / "root").mkdir()
    assert maintenance.prune(kept) == Pruned(0, 2)
    (tmp_path / "root").rmdir()
    os.rename(tmp_path / "away", tmp_path / "root")
    os.rename(tmp_path / "root" / "sub", tmp_path / "elsewhere")
    assert maintenance.prune(kept) == Pruned(2, 0)


def test_clear_gives_the_space_back(tmp_path: Path) -> None:
    """The file is smaller afterwards, and still a cache."""
    kept = scanned(tmp_path, 500)
    before = os.path.getsize(kept)
    assert maintenance.clear(kept) == os.path.getsize(kept) < before / 2
    found = maintenance.info(kept)
    assert (found.files, found.digests, found.roots) == (0, {}, [])


def test_what_is_not_there_is_not_made(tmp_path: Path) -> None:
    """Looking makes no cache."""
    for work in (maintenance.info, maintenance.prune, maintenance.clear):
        with pytest.raises(CacheError, match="There is no cache"):
            work(str(tmp_path / "none.db"))
    assert list(tmp_path.iterdir()) == []
