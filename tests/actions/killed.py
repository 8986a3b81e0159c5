"""Kills a run at each line of the code that acts, then has the next one settle it; prints what was not as before.

A program of its own, as it forks: `python -m tests.actions.killed ACTION FOLDER WHAT`, where WHAT is `lines` (kill at
lines of the code), `journal` (at lines of the journal), `undo` (at lines of the code that undoes), `elsewhere` (of an
undo into a folder of another volume, FOLDER/disk), `settle` (of the code that settles a run killed before), `claims`
(at each line of the renames, on a file system that knows neither one that replaces nothing nor links) or `steps` (at
lines of the code that undoes, on a file system that knows links only), `settle-steps` (of the code that settles there).
"""

from __future__ import annotations

import errno
import functools
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
from dedupe.actions import runs, settle
from dedupe.actions.apply import ActionName
from dedupe.actions.journal import Journal
from dedupe.storage import rename
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


def kill_at(number: int, act_once: Callable[[], object], where: tuple[str, ...] = _OURS) -> int | None:
    """Run in a child that is killed at a line; return how many lines there were if it came to its end."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        count = 0

        def trace(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal count
            name = frame.f_code.co_filename
            if not name.startswith(where) or any(word in name for word in _READING):
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
        os.environ["XDG_DATA_HOME"] = str(folder / "data")
        self.trash = folder / "data/Trash"
        self.action, self.top = action, folder / "top"
        self.undoing, self.out = (
            what in ("undo", "elsewhere", "steps"),
            folder.parent / "disk/out" if what == "elsewhere" else None,
        )
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
            return take_back(self.journal, to=None if self.out is None else os.fsencode(self.out))
        return act(self.marks, self.action, self.journal, target=self.target)

    def wrong(self) -> list[str]:
        """Settle and undo, and return what is not as it was."""
        found = []
        places = [self.top, self.target, self.trash / "files"]
        if self.out is not None:
            found += self.wrong_elsewhere(self.out)
        if not self.held <= contents(*places) and not list(self.top.rglob(".dedupe-*")):
            found.append("a content is gone right after the kill")
        tally = take_back(self.journal)
        if left := [path for place in (self.target, self.trash) for path in place.rglob("*") if path.is_file()]:
            found.append(f"left behind: {left}")
        after = snapshot(self.top)
        if after != self.before:
            names = sorted(set(after) ^ set(self.before)) or "metadata"
            found.append(f"{names} {tally.unknown} {tally.refused} {tally.failed}")
        return found

    def settle(self) -> object:
        """Settle what a kill left."""
        return settle.settle_all(runs.all_runs(str(self.journal)).runs)

    def wrong_elsewhere(self, out: Path) -> list[str]:
        """Undo into another folder once more, and return what is not there as it was; the folder goes."""
        take_back(self.journal, to=os.fsencode(out))
        names = sorted(path.name for path in out.rglob("*") if path.is_file())
        wrong = [f"elsewhere: {names}"] if names != ["b", "c", "e"] or not contents(out) <= self.held else []
        shutil.rmtree(out, ignore_errors=True)
        return wrong


def settled(action: ActionName, folder: Path) -> dict[str, Any]:
    """Kill runs in the middle, then kill what settles them at many points."""
    lines = kill_at(0, Place(action, folder, "lines").once)
    assert lines
    wrong, kills = [], 0
    for start in range(lines // 3, lines, max(1, lines // 12)):
        place = Place(action, folder, "lines")
        kill_at(start, place.once)
        within = kill_at(0, place.settle) or 0
        for number in range(1, within + 1, max(1, within // (_POINTS // 8))):
            place = Place(action, folder, "lines")
            if kill_at(start, place.once) is None and kill_at(number, place.settle) is None:
                kills += 1
                wrong += [f"{start}, {number}: {each}" for each in place.wrong()]
    return {"kills": kills, "wrong": wrong}


def without_renames(*, links: bool = False) -> None:
    """Have the system refuse links, unless it knows them, and renames that replace nothing or exchange."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    def unknown(*_: object) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    rename._rename_with = unknown  # type: ignore[assignment]
    if not links:
        os.link = refuse  # type: ignore[assignment]


def main(action: ActionName, folder: Path, what: str) -> dict[str, Any]:
    """Kill at many points, and return how many there were and what was wrong."""
    if what.endswith("steps"):
        without_renames(links=True)
    if what.startswith("settle"):
        return settled(action, folder)
    kill: Callable[[int, Callable[[], object]], int | None] = kill_at_journal if what == "journal" else kill_at
    if what == "claims":
        without_renames()
        kill = functools.partial(kill_at, where=(str(rename.__file__),))
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
