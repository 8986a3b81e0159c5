"""Kills a run at each line of the code that acts, then has the next one settle it; prints what was not as before.

A program of its own, as it forks: `python -m tests.actions.killed ACTION FOLDER WHAT`, where WHAT is `lines` (kill at
lines of the code), `journal` (at lines of the journal) or `undo` (at lines of the code that undoes).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import dedupe.actions
import dedupe.storage
from dedupe.actions.apply import ActionName
from dedupe.actions.journal import Journal
from tests.actions.common import act, contents, snapshot, take_back, tree

_OURS = tuple(os.path.dirname(str(package.__file__)) for package in (dedupe.actions, dedupe.storage))
_READING = (
    "proof.py",
    "plan.py",
    "marks.py",
    "held_back.py",
    "volumes",
    "mountinfo.py",
    "file_systems.py",
    "display.py",
)
_POINTS = 120  # kills of each kind


def kill_at(number: int, act_once: Callable[[], object]) -> int | None:
    """Run in a child that is killed at a line; return how many lines there were if it came to its end."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        count = 0

        def trace(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal count
            name = frame.f_code.co_filename
            if not name.startswith(_OURS) or any(word in name for word in _READING):
                return None
            if event == "line":
                count += 1
                if count == number:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)
        act_once()
        sys.settrace(None)
        os.write(writer, str(count).encode())
        os._exit(0)
    os.close(writer)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as answer:
        told = answer.read()
    if os.WIFSIGNALED(status):
        return None
    assert os.WEXITSTATUS(status) == 0, "the child failed"
    return int(told)


def kill_at_journal(number: int, act_once: Callable[[], object]) -> int | None:
    """Run in a child that is killed after so many lines of its journal, half of the last one written."""
    count = 0
    usual = Journal.put

    def put(self: Journal, objects: Any) -> None:
        nonlocal count
        for each in objects:
            count += 1
            if count == number:
                from dedupe.actions.journal import write_all

                line = json.dumps(each).encode()
                write_all(self._file, line[: len(line) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            usual(self, [each])

    child = os.fork()
    if not child:
        Journal.put = put  # type: ignore[method-assign]
        act_once()
        os._exit(7)
    _, status = os.waitpid(child, 0)
    return None if os.WIFSIGNALED(status) else number


class Place:
    """A tree that is made anew for each kill, with its journal."""

    def __init__(self, action: ActionName, folder: Path, what: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self.action, self.undoing, self.top = action, what == "undo", folder / "top"
        self.journal, self.target = folder / "journal", folder / "target"
        self.marks = tree(self.top)
        for name in ("keep/a", "go/b", "go/deep/c"):
            (self.top / name).chmod(0o600)
        self.before, self.held = snapshot(self.top), contents(self.top)
        if self.undoing:
            act(self.marks, action, self.journal, target=self.target)

    def once(self) -> object:
        """Do what is killed."""
        if self.undoing:
            return take_back(self.journal)
        return act(self.marks, self.action, self.journal, target=self.target)

    def wrong(self) -> list[str]:
        """Settle and undo, and return what is not as it was."""
        found = []
        places = [self.top, self.target, Path(os.environ["XDG_DATA_HOME"]) / "Trash/files"]
        if not self.held <= contents(*places) and not list(self.top.rglob(".dedupe-*")):
            found.append("a content is gone right after the kill")
        tally = take_back(self.journal)
        after = snapshot(self.top)
        if after != self.before:
            names = sorted(set(after) ^ set(self.before)) or "metadata"
            found.append(f"{names} {tally.unknown} {tally.refused} {tally.failed}")
        return found


def main(action: ActionName, folder: Path, what: str) -> dict[str, Any]:
    """Kill at many points, and return how many there were and what was wrong."""
    kill = kill_at_journal if what == "journal" else kill_at
    lines = _POINTS if what == "journal" else kill(0, Place(action, folder, what).once)
    assert lines
    wrong, kills = [], 0
    for number in range(1, lines + 1, max(1, lines // _POINTS)):
        place = Place(action, folder, what)
        if kill(number, place.once) is not None:
            break
        kills += 1
        wrong += [f"{number}: {each}" for each in place.wrong()]
    return {"kills": kills, "wrong": wrong}


if __name__ == "__main__":
    print(json.dumps(main(ActionName(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])))  # noqa: T201
