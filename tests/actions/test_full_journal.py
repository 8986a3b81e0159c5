"""A journal that cannot be written for a moment: what it does not say how it ended is settled by the next run."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from dedupe.actions import journal as journals
from dedupe.actions import runs
from dedupe.actions.apply import ActionName
from tests.actions.common import ON_LINUX, act, copies, reasons, snapshot, take_back

pytestmark = ON_LINUX
NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
EVERY = [ActionName.MOVE_TO, ActionName.TRASH, ActionName.DELETE, ActionName.HARDLINK]


def full_at(monkeypatch: pytest.MonkeyPatch, number: int, *, torn: int = 0) -> None:
    """Have one line of a journal not be written, or only so many bytes of it; those after it are."""
    usual, calls = journals.write_all, []

    def write_all(descriptor: int, data: bytes) -> None:
        calls.append(1)
        if len(calls) == number:
            usual(descriptor, data[:torn])
            raise NO_SPACE
        usual(descriptor, data)

    monkeypatch.setattr(journals, "write_all", write_all)


@pytest.mark.parametrize("action", EVERY)
@pytest.mark.parametrize("torn", [0, 50])
@pytest.mark.parametrize("number", [5, 6, 7])  # 1 is the head, 2 to 4 the intents
def test_what_was_done_and_not_written_down_is_undone_too(
    tmp_path: Path, journal: Path, action: ActionName, torn: int, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run has no foot, so that the next one looks how each of its files ended."""
    top = tmp_path / "top"
    marks = copies(top, {word: ([f"{word}/a"], [f"{word}/b"]) for word in ("one", "two", "three")})
    before = snapshot(top)
    with monkeypatch.context() as patch:
        full_at(patch, number, torn=torn)
        assert "cannot be written" in act(marks, action, journal).stopped
    (run,) = runs.all_runs(str(journal)).runs
    assert (run.is_settled, run.broken) == (False, [])
    settled = action in (ActionName.MOVE_TO, ActionName.TRASH)  # before the undo, what it does not say is put back
    tally = take_back(journal)
    assert (tally.done, reasons(tally)) == (number - 4 - settled, [])
    assert snapshot(top) == before


@pytest.mark.parametrize("action", EVERY)
@pytest.mark.parametrize("torn", [0, 50])
def test_an_undo_that_was_not_written_down_is_known_to_the_next(
    tmp_path: Path, journal: Path, action: ActionName, torn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is back already is not looked for where it was."""
    top = tmp_path / "top"
    marks = copies(top, {word: ([f"{word}/a"], [f"{word}/b"]) for word in ("one", "two")})
    before = snapshot(top)
    run = act(marks, action, journal).run
    with monkeypatch.context() as patch:
        full_at(patch, 4, torn=torn)  # 1 is the head, 2 and 3 the intents
        assert "cannot be written" in take_back(journal).stopped
    tally = take_back(journal, run=run)
    assert (tally.done, len(tally.already), reasons(tally)) == (1, 1, [])
    assert snapshot(top) == before


def test_a_line_that_was_torn_within_an_object_damages_nothing(tmp_path: Path, journal: Path) -> None:
    """It may look like a whole line, once the next one has been put on a line of its own."""
    act(copies(tmp_path / "top", {"one": (["a"], ["b"])}), ActionName.DELETE, journal)
    (path,) = journal.iterdir()
    with path.open("ab") as file:
        file.write(b'{"kind": "intent", "metadata": {}')
    with journals.taken(str(path)) as descriptor:
        assert descriptor is not None
        journals.append(descriptor, [journals.foot({})])
    (run,) = runs.all_runs(str(journal)).runs
    assert (run.broken, run.is_settled) == ([], True)
