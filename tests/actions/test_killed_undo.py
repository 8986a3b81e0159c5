"""A killed undo, told by whoever comes next: what it did not bring back is not back, and is never said to be."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from dedupe.actions import undoing
from dedupe.actions.apply import ActionName
from tests.actions.common import ON_LINUX, act, copies, killed_in, reasons, snapshot, take_back

pytestmark = ON_LINUX
WHERE = [
    (ActionName.DELETE, undoing, "copy_to"),
    (ActionName.HARDLINK, undoing, "put_over"),
    (ActionName.TRASH, undoing.Undoing, "_rename"),
    (ActionName.MOVE_TO, undoing.Undoing, "_rename"),
]


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("where", WHERE)
def test_what_a_killed_undo_did_not_bring_back_is_told_as_not_back(
    tmp_path: Path,
    journal: Path,
    where: tuple[ActionName, Any, str],
    elsewhere: bool,  # noqa: FBT001 - a parameter of the test
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the command that goes on; an apply of other files never says that it is where it was."""
    action, owner, name = where
    if elsewhere:
        owner, name = (owner, "copy_to") if action is ActionName.DELETE else (undoing.Undoing, "_rename")
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    other = copies(tmp_path / "else", {"two": (["c"], ["d"])})
    before = snapshot(tmp_path / "top")
    run = act(marks, action, journal).run
    wish = {"to": os.fsencode(tmp_path / "out")} if elsewhere else {}
    killed_in(monkeypatch, owner, name, lambda: take_back(journal, **wish))
    command = f"dedupe undo {run} --to DIR" if elsewhere else f"dedupe undo {run}"
    told = f"An undo was killed in the middle; 1 name is not back yet: `{command}` goes on with it."
    assert act(other, ActionName.DELETE, journal).notes == [told]
    tally = take_back(journal, run=run)
    assert (tally.done, tally.notes, reasons(tally)) == (1, [], [])
    assert snapshot(tmp_path / "top") == before


def test_an_undo_that_goes_on_does_not_ask_for_itself(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It brings the names back in the same breath."""
    act(copies(tmp_path / "top", {"one": (["a"], ["b"])}), ActionName.DELETE, journal)
    killed_in(monkeypatch, undoing, "copy_to", lambda: take_back(journal))
    tally = take_back(journal)
    assert (tally.done, tally.notes) == (1, [])
