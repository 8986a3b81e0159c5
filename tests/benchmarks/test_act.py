"""The benchmark of acting: that it measures what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.actions.common import ON_LINUX
from tests.benchmarks import act

pytestmark = ON_LINUX


def test_every_way_of_ours_acts_on_all_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A try-out with a few pairs: dedupe has figures in every row, and the table has a row a way."""
    assert act.main(["--pairs", "60", "--rounds", "1", "--folder", str(tmp_path)]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| dedupe")]
    assert [row.split("|")[1].strip() for row in rows] == [way.name for way in act.ways() if way.program == "dedupe"]
    assert all("failed" not in row and "acted on" not in row for row in rows)
    assert not list(tmp_path.iterdir())


def test_a_way_that_leaves_pairs_is_told(tmp_path: Path) -> None:
    """What is counted are links that are there, or names that are gone."""
    act.make(str(tmp_path / "tree"), 60, 64)
    assert act.acted_on(str(tmp_path / "tree"), removes=False) == 0
    assert act.acted_on(str(tmp_path / "tree"), removes=True) == 120
