"""The comparison of answers about two sides: each program is read rightly, and the truth is what sets say."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.benchmarks import asking
from tests.benchmarks.measure import Measurer
from tests.benchmarks.tools import Tool, find_program
from tests.conftest import need

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the benchmarks read /proc")


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> asking.Sides:
    """Return two small sides in a folder with a space in its name."""
    return asking.make_sides(str(tmp_path_factory.mktemp("both sides") / "made"), "small", 0.001)


def test_the_truth_is_what_sets_say(sides: asking.Sides) -> None:
    """Each answer is that of reading everything on both sides."""
    names: dict[bytes, dict[str, list[str]]] = defaultdict(lambda: {"card": [], "archive": []})
    for side in ("card", "archive"):
        for path in asking.files_below(os.path.join(sides.folder, side)):
            names[Path(sides.folder, side, path).read_bytes()][side].append(f"{side}/{path}")
    both = {frozenset(n["card"] + n["archive"]): bool(n["card"] and n["archive"]) for n in names.values()}
    missing = {path for n in names.values() if not n["archive"] for path in n["card"]}
    assert {path for (path,) in sides.truths["missing"]} == missing
    assert set(map(frozenset, sides.truths["across"])) == {paths for paths, across in both.items() if across}
    assert set(map(frozenset, sides.truths["scan"])) == {paths for paths in both if len(paths) > 1}
    assert all(sides.truths.values())


@pytest.mark.parametrize("tool", asking.TOOLS, ids=lambda tool: tool.name)
def test_every_installed_program_is_read_rightly(tool: Tool, sides: asking.Sides, tmp_path: Path) -> None:
    """A real run of each gives the truth and figures."""
    path = find_program(tool.program)
    need(path or not tool.ours, "dedupe is not installed")
    if path is None:
        pytest.skip(f"{tool.program} is not installed")
    measurer = Measurer(str(tmp_path), timeout_s=60, accepted=asking.EXIT_CODES)
    (section,) = asking.ask(sides, [(tool, path)], measurer, rounds=1)
    (row,) = section.rows
    assert row.fault == ""
    assert row.version != "unknown"


def test_a_whole_comparison_prints_its_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A section a question, success where dedupe was right, and nothing left behind."""
    need(find_program("dedupe"), "dedupe is not installed")
    options = ["--folder", str(tmp_path), "--corpora", "flat", "--scale", "0.001", "--rounds", "1"]
    assert asking.main([*options, "--only", "dedupe missing,dedupe across"]) == 0
    printed = capsys.readouterr().out
    assert "### flat, missing: " in printed
    assert "### flat, across: " in printed
    assert list(tmp_path.iterdir()) == []
