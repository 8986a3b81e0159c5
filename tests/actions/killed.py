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


def main(action: ActionName, folder: Path, what: str) -> dict[str, Any]:
    """Kill at many points, and return how many there were and what was wrong."""
    wrong: list[str] = []
    lines, number, kills = 0, 0, 0
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        marks = tree(folder / "top")
        (folder / "top/go/b").chmod(0o600)
        (folder / "top/keep/a").chmod(0o600)
        (folder / "top/go/deep/c").chmod(0o600)
        top, journal, target = folder / "top", folder / "journal", folder / "target"
        before, held = snapshot(top), contents(top)

        def once() -> object:
            if what == "undo":
                return take_back(journal)
            return act(marks, action, journal, target=target)

        if what == "undo":
            act(marks, action, journal, target=target)
        if what == "journal":
            number += 1
            ended = kill_at_journal(number, once)
        else:
            ended = kill_at(number, once)
            lines = lines or ended or 0
            number += max(1, lines // _POINTS)
        if ended is not None and number > 1 and lines != ended:
            break
        kills += ended is None
        if not held <= contents(top, target, Path(os.environ["XDG_DATA_HOME"]) / "Trash/files"):
            aside = {path for path in top.rglob(".dedupe-*")}
            if not aside:
                wrong.append(f"{number}: a content is gone right after the kill")
        tally = take_back(journal)
        tally = take_back(journal) if tally.unknown else tally
        after = snapshot(top)
        if after != before:
            wrong.append(
                f"{number}: {sorted(set(after) ^ set(before)) or 'metadata'} {tally.unknown} {tally.refused} {tally.failed}"
            )
        if what != "journal" and number > lines:
            break
    return {"kills": kills, "wrong": wrong}


if __name__ == "__main__":
    print(json.dumps(main(ActionName(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])))  # noqa: T201
