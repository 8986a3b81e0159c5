"""Journals that are damaged: no traceback, no content lost, and what can be read is undone."""

from __future__ import annotations

import copy
import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupe.actions import runs
from dedupe.actions.apply import ActionName
from dedupe.actions.records import Intent
from dedupe.cli import journal as cli_journal
from dedupe.errors import DedupeError
from tests.actions.common import ON_LINUX, act, contents, copies, reasons, snapshot, take_back

pytestmark = ON_LINUX
ACTIONS = [ActionName.DELETE, ActionName.HARDLINK, ActionName.MOVE_TO]
WORDS = ["undo", "undo-delete", "delete", "reflink", "move", "hardlink", "foot", "x", "/", "/x/..", "/nonexistent/x"]
TYPES = [None, "", 0, -1, 1e400, [], {}, "a\0b", 10**30, True, "9" * 5000, ["x"], {"to": 1}]
ODD = st.sampled_from([*TYPES, *WORDS, ".dedupe-x", "dedupe-journal/2"])
PARTS = st.tuples(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100), ODD)


def damage(lines: list[dict[str, Any]], where: int, what: int, inner: int, value: object) -> tuple[int, str]:
    """Put an odd value into one line; return which line, and which of its fields."""
    value = copy.deepcopy(value)
    line = lines[where % len(lines)]
    key = sorted(line)[what % len(line)]
    below = line[key]
    if isinstance(below, dict) and below and inner % 4:
        below[sorted(below)[inner % len(below)]] = value
    else:
        line[key] = value
    return where % len(lines), key


@settings(max_examples=60, deadline=None)
@given(action=st.sampled_from(ACTIONS), changes=st.lists(PARTS, min_size=1, max_size=2), killed=st.booleans())
def test_any_damage_costs_what_it_hits(action: ActionName, changes: list[Any], killed: bool) -> None:  # noqa: FBT001
    """Whatever stands in a line: all the names that other lines tell of are undone."""
    with tempfile.TemporaryDirectory() as folder:
        top, journal = Path(folder, "top"), Path(folder, "journal")
        marks = copies(top, {word: ([f"{word}/a"], [f"{word}/b"]) for word in ("one", "two", "three")}, size=50)
        held = contents(top)
        run = act(marks, action, journal).run
        path = journal / f"{run}.jsonl"
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        if killed:
            lines = [line for line in lines if line["kind"] in ("head", "intent")]
        words = {line["n"]: Path(line["shown"]).parent.name for line in lines if line["kind"] == "intent"}
        hit = [damage(lines, *each) for each in changes]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        for name, dry_run in ((run, True), ("", False), (run, False)):
            with suppress(DedupeError):
                take_back(journal, run=name, dry_run=dry_run)
        known = runs.all_runs(str(journal))
        list(cli_journal._list(known))
        for each in (*known.runs, *known.headless):
            list(cli_journal._full(each, known))
        assert held <= contents(top, journal.parent / "target")
        if all(number and key not in ("n", "kind") for number, key in hit):
            numbers = {number if number < 4 else number - 3 for number, _ in hit}  # intents, then outcomes
            for n in words.keys() - numbers:
                assert (top / words[n] / "b").stat().st_nlink == 1


def test_a_name_that_was_undone_before_its_line_was_damaged(tmp_path: Path, journal: Path) -> None:
    """It is told, and the others are undone."""
    top = tmp_path / "top"
    run = act(copies(top, {w: ([f"{w}/a"], [f"{w}/b"]) for w in "xy"}), ActionName.DELETE, journal).run
    take_back(journal, files=[bytes(top / "x/b")])
    path = journal / f"{run}.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"algorithm"', b'"algorithX"', 1))
    tally = take_back(journal)
    assert (tally.done, (top / "y/b").exists()) == (1, True)
    assert "damaged in line 2" in reasons(tally)[0]


@pytest.mark.parametrize("action", ACTIONS)
def test_a_name_whose_outcome_is_damaged_is_tried(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """Its intent says all that it takes, and a name is taken back only while it is as the run left it."""
    top = tmp_path / "top"
    run = act(copies(top, {"one": (["a"], ["b"])}), action, journal).run
    path = journal / f"{run}.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"outcome"', b'"outcomX"', 1))
    assert take_back(journal).done == 1
    assert (top / "b").stat().st_nlink == 1


def test_a_digest_that_is_not_known_here_costs_its_own_file_only(tmp_path: Path, journal: Path) -> None:
    """As a newer version may have written."""
    top = tmp_path / "top"
    run = act(copies(top, {w: ([f"{w}/a"], [f"{w}/b"]) for w in "xy"}), ActionName.DELETE, journal).run
    path = journal / f"{run}.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"sha256"', b'"sha257"', 1))
    tally = take_back(journal)
    assert (tally.done, len(tally.refused)) == (1, 1)


@pytest.mark.parametrize("path", ["relative", "/", "/top/.."])
def test_a_further_copy_that_is_no_file_makes_a_line_damaged(tmp_path: Path, journal: Path, path: str) -> None:
    """Nothing is read of a place that nobody meant."""
    run = act(copies(tmp_path / "top", {"one": (["a", "c"], ["b"])}), ActionName.DELETE, journal).run
    (intent,) = runs.read(str(journal / f"{run}.jsonl")).intents.values()
    assert intent.others == (os.fsencode(tmp_path / "top/c"),)
    assert Intent.from_object(intent.as_object()) == intent
    with pytest.raises(ValueError, match="names no file"):
        Intent.from_object(intent.as_object() | {"others": [{"path": path}]})


@pytest.mark.parametrize("action", [*ACTIONS, ActionName.TRASH])
@pytest.mark.parametrize("kind", ["intent", "outcome"])
def test_a_damaged_undo_is_told_and_what_it_brought_back_is_back(
    tmp_path: Path, journal: Path, action: ActionName, kind: str
) -> None:
    """Its journal does not say any more of which name it was; the name itself does."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"]), "two": (["c"], ["d"])})
    before = snapshot(top)
    run = act(marks, action, journal).run
    undo = take_back(journal).run
    path = journal / f"{undo}.jsonl"
    path.write_bytes(path.read_bytes().replace(f'"kind": "{kind}"'.encode(), b'"kind": "kinX"', 1))
    number = next(n for n, line in enumerate(path.read_bytes().splitlines(), 1) if b"kinX" in line)
    for dry_run in (True, False):
        tally = take_back(journal, run=run, dry_run=dry_run)
        assert (tally.done, len(tally.already)) == (0, 2)
        assert f"damaged in line {number}" in reasons(tally)[0]
        assert len(reasons(tally)) == 1
    assert snapshot(top) == before


def test_what_took_the_name_is_not_back_for_a_damaged_undo(tmp_path: Path, journal: Path) -> None:
    """Another file is no file that came back, nor is a further link to the copy that stayed."""
    top = tmp_path / "top"
    run = act(copies(top, {"one": (["a"], ["b"])}), ActionName.HARDLINK, journal).run
    undo = take_back(journal).run
    path = journal / f"{undo}.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"kind": "intent"', b'"kind": "kinX"', 1))
    (top / "b").write_bytes(b"newer")
    tally = take_back(journal, run=run)
    assert (tally.already, tally.done) == ([], 0)
    assert "its name means another file by now" in reasons(tally)
    assert (top / "b").read_bytes() == b"newer"
