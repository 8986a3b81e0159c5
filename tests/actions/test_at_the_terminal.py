"""What undo and journal say to a user, and what apply says before it asks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from dedupe.actions.apply import ActionName, Order
from dedupe.actions.delete import Delete
from dedupe.actions.journal import default_folder
from dedupe.actions.tally import Tally
from dedupe.cli import telling
from tests.actions.common import ON_LINUX, act, copies, killed_in

pytestmark = ON_LINUX


def dedupe(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run the program in a folder; return its exit code and all that it said."""
    command = [sys.executable, "-m", "dedupe", *arguments]
    done = subprocess.run(command, capture_output=True, check=False, cwd=folder, text=True)
    return done.returncode, done.stdout + done.stderr


def at_terminal(folder: Path, answer: bytes, *arguments: str) -> tuple[int, str]:
    """Run the program at a terminal, and answer when it asks."""
    return answered_once(folder, answer, [sys.executable, "-m", "dedupe", *arguments])


def answered_once(folder: Path, answer: bytes, command: Sequence[str], **environment: str) -> tuple[int, str]:
    """Run a command at a terminal, and answer when it asks; return its exit code and all that it said."""
    import pty  # Windows has none

    ours, theirs = pty.openpty()
    env = os.environ | environment
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=env) as running:
        os.close(theirs)
        said, answered = b"", False
        try:
            while piece := os.read(ours, 4096):
                said += piece
                if b"Type yes" in said and not answered:
                    answered = bool(os.write(ours, answer))
        except OSError:  # its end has been closed
            pass
    os.close(ours)
    return running.returncode, said.decode()


def test_what_settling_put_back_is_told_before_the_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is done whatever the answer is; told once."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a/x"], ["b/x"])})
    assert dedupe(tmp_path, "scan", "top", "--output", "report.json")[0] == 0
    killed_in(monkeypatch, Delete, "commit", lambda: act(marks, ActionName.DELETE, Path(default_folder())))
    code, said = at_terminal(tmp_path, b"no\n", "apply", "report.json", "--prefer", "top/a", "--delete")
    assert code == 1
    assert said.index("1 name was put back") < said.index("Type yes") < said.index("nothing more was done")
    assert (top / "b/x").exists()


def test_words_of_one_and_of_many(tmp_path: Path) -> None:
    """Numbers agree with their words, the run is named, and exit codes are those of the design."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["img00123", "c"])})
    run = act(marks, ActionName.DELETE, Path(default_folder())).run
    assert dedupe(tmp_path, "journal")[1].endswith("delete, 2 names\n")
    code, said = dedupe(tmp_path / "top", "undo", "img00123")  # could be the name of a run, and is that of none
    assert (code, said.splitlines()[1:]) == (0, ["1 name is as before."])
    assert "1 name\n" in dedupe(tmp_path, "journal")[1]
    code, said = dedupe(tmp_path, "undo", "--to", "out")
    assert (code, said.splitlines()[1:3]) == (0, ["1 name is in another folder.", f"It lies in {tmp_path}/out."])
    undone = dedupe(tmp_path, "journal")[1].splitlines()[-1].split()[0]
    assert f"    to: {tmp_path}/out{tmp_path}/top/" in dedupe(tmp_path, "journal", undone)[1]
    assert dedupe(tmp_path, "undo", run)[1].splitlines()[1:] == ["1 name is as before.", "Already done: 1 name."]
    code, said = dedupe(tmp_path, "undo")
    assert (code, said.splitlines()[1:]) == (0, ["Already done: 2 names."])
    code, said = dedupe(tmp_path, "undo", "nosuch12")
    assert (code, "No run did anything about" in said) == (2, True)


def test_root_by_sudo_is_told_how_root_undoes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own `dedupe undo` would not find the run."""
    tally, order = Tally(run="abcdefgh", done=1), Order(action=ActionName.DELETE)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert list(telling.after(tally, order, verbose=False))[-1] == "`dedupe undo abcdefgh` takes it back."
    monkeypatch.setenv("SUDO_USER", "somebody")
    assert list(telling.after(tally, order, verbose=False))[-1] == "`sudo -H dedupe undo abcdefgh` takes it back."
