"""Files that are edited in place while they are acted on, size and date kept: no content is lost, lease or none."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dedupe.actions import engine, holding, keepers
from dedupe.actions.acting import Acting
from dedupe.actions.action import Action
from dedupe.actions.apply import ActionName
from dedupe.actions.delete import Delete
from dedupe.actions.hardlink import Hardlink
from dedupe.actions.journal import Journal
from dedupe.actions.marks import MarkedFile
from dedupe.actions.move_to import MoveTo
from dedupe.actions.trash import ToTrash
from dedupe.errors import NothingUsableError
from tests.actions.common import ON_LINUX, act, content, contents, copies, edit, no_lease, reasons
from tests.cases.common import need_root
from tests.conftest import need

pytestmark = ON_LINUX
CLASSES: dict[ActionName, type[Action]] = {
    ActionName.MOVE_TO: MoveTo,
    ActionName.DELETE: Delete,
    ActionName.HARDLINK: Hardlink,
    ActionName.TRASH: ToTrash,
}


def after_first(usual: Callable[..., None], then: Callable[[], None]) -> Callable[..., None]:
    """Return a step that is followed by something else the first time."""
    times = []

    def step(self: Action, item: object) -> None:
        usual(self, item)
        times.append(item)
        if len(times) == 1:
            then()

    return step


@pytest.fixture(params=CLASSES)
def action(request: pytest.FixtureRequest) -> ActionName:
    """Return each action that makes names go or mean something else, in turn."""
    found: ActionName = request.param
    return found


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("also", [[], ["b0"]])
def test_a_keeper_that_was_edited_costs_no_content(
    tmp_path: Path, journal: Path, action: ActionName, count: int, also: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither for the first of its group nor for the others, though the first was refused already."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], [f"b{n}" for n in range(count)])})
    usual = engine.Engine._flush
    monkeypatch.setattr(holding.lease, "read_lease", no_lease)
    monkeypatch.setattr(engine.Engine, "_flush", lambda self: ([edit(top / n) for n in ("a", *also)], usual(self)))
    tally = act(marks, action, journal, target=tmp_path / "target")
    assert (tally.done, len(reasons(tally))) == (0, count)
    assert (top / f"b{count - 1}").read_bytes() == content("one")


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("also", [[], ["b0"]])
def test_a_keeper_that_is_edited_in_the_act_costs_no_content(
    tmp_path: Path, journal: Path, action: ActionName, count: int, also: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right after our own link moved its time of change, which says nothing any more then."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], [f"b{n}" for n in range(count)])})
    held = {(top / f"b{n}").stat().st_ino for n in range(count) if f"b{n}" not in also}
    monkeypatch.setattr(holding.lease, "read_lease", no_lease)

    def edit_all() -> None:
        edit(top / "a")
        for path in [
            *top.iterdir(),
            *tmp_path.rglob("target/**/*"),
            *Path(os.environ["XDG_DATA_HOME"]).rglob("Trash/files/*"),
        ]:
            if also and path.is_file() and path.stat().st_ino not in held and path.name != "a":
                edit(path)

    each = CLASSES[action]
    monkeypatch.setattr(each, "aside", after_first(each.aside, edit_all))
    tally = act(marks, action, journal, target=tmp_path / "target")
    assert (tally.done, len(reasons(tally))) == (0, count)
    assert [n for n in range(count) if (top / f"b{n}").read_bytes() != content("one")] == [0] * len(also)


def test_a_victim_that_is_edited_in_the_act_stays(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What somebody wrote into it while the copy that stays was read again is not removed."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    monkeypatch.setattr(holding.lease, "read_lease", no_lease)
    usual = keepers.Keepers.prove_again

    def prove_again(self: keepers.Keepers, *of: Any) -> None:
        usual(self, *of)
        for path in top.glob(".dedupe-*"):
            edit(path)

    monkeypatch.setattr(keepers.Keepers, "prove_again", prove_again)
    tally = act(marks, ActionName.HARDLINK, journal)
    assert (tally.done, len(reasons(tally))) == (0, 1)
    assert (top / "b").read_bytes()[:6] == b"edited"
    assert (top / "a").read_bytes() == content("one")


def test_a_victim_that_is_edited_between_its_names_stays(
    tmp_path: Path, journal: Path, action: ActionName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our own act moved its time of change when the first name went: another change is seen all the same."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    os.link(top / "b", top / "c")
    (group,) = marks.groups
    marks = replace(
        marks, groups=[replace(group, redundant=(MarkedFile(os.fsencode(top / "b"), (os.fsencode(top / "c"),)),))]
    )
    monkeypatch.setattr(holding.lease, "read_lease", no_lease)
    usual = Acting._committed

    def committed(self: Acting, *of: Any) -> Any:
        outcome = usual(self, *of)
        for path in top.glob(".dedupe-*") if action is ActionName.HARDLINK else [top / "c"]:
            edit(path)
        return outcome

    monkeypatch.setattr(Acting, "_committed", committed)
    tally = act(marks, action, journal, target=tmp_path / "target")
    assert (tally.done, len(reasons(tally))) == (1, 1)
    assert (top / "c").read_bytes()[:6] == b"edited"


WRITER = """
import os, sys
kept = os.stat(sys.argv[1])
with open(sys.argv[1], "r+b") as file:
    file.write(b"edited")
os.utime(sys.argv[1], ns=(kept.st_atime_ns, kept.st_mtime_ns))
"""


@pytest.mark.parametrize("is_lent", [True, False])
@pytest.mark.parametrize(("step", "done"), [("_set_aside", 0), ("_committed", 1)])
def test_a_program_that_edits_a_keeper_between_two_names_costs_no_content(
    tmp_path: Path,
    journal: Path,
    action: ActionName,
    monkeypatch: pytest.MonkeyPatch,
    *,
    step: str,
    done: int,
    is_lent: bool,
) -> None:
    """It has to wait where the file is lent, and is seen by that; where not, by the time of change, date put back."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b0", "b1", "b2", "b3"])})
    usual, writers = getattr(Acting, step), list[subprocess.Popen[bytes]]()
    if not is_lent:
        monkeypatch.setattr(holding.lease, "read_lease", no_lease)

    def then(self: Acting, proven: Any, *of: Any) -> Any:
        outcome = usual(self, proven, *of)
        if not writers:
            writers.append(subprocess.Popen([sys.executable, "-c", WRITER, top / "a"]))
            while writers[0].poll() is None and proven.keepers[0].keeps_writers_away():
                time.sleep(0.01)
        return outcome

    monkeypatch.setattr(Acting, step, then)
    tally = act(marks, action, journal, target=tmp_path / "target")
    assert (tally.done, len(reasons(tally))) == (done, 4 - done)
    assert writers[0].wait(60) == 0
    assert (top / "a").read_bytes()[:6] == b"edited"
    assert all((top / f"b{n}").read_bytes() == content("one") for n in range(done, 4))


@pytest.mark.parametrize("is_lent", [True, False])
def test_a_new_date_alone_is_doubt(
    tmp_path: Path, journal: Path, action: ActionName, monkeypatch: pytest.MonkeyPatch, *, is_lent: bool
) -> None:
    """Whoever sets the date that a keeper has already moved its time of change: it takes no further names."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b0", "b1", "b2"])})
    usual, kept = Acting._committed, (top / "a").stat()
    if not is_lent:
        monkeypatch.setattr(holding.lease, "read_lease", no_lease)

    def committed(self: Acting, *of: Any) -> Any:
        outcome = usual(self, *of)
        time.sleep(0.02)  # a tick of the clock
        os.utime(top / "a", ns=(kept.st_atime_ns, kept.st_mtime_ns))
        return outcome

    monkeypatch.setattr(Acting, "_committed", committed)
    tally = act(marks, action, journal, target=tmp_path / "target")
    assert (tally.done, len(reasons(tally))) == (1, 2)
    assert content("one") == (top / "a").read_bytes() == (top / "b2").read_bytes()


def test_a_keeper_that_failed_once_serves_none_of_its_group(
    tmp_path: Path, journal: Path, action: ActionName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it is there again a moment later, and looks as it did: its folder went away and came back."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["keep/a"], ["b0", "b1", "b2"])})
    usual, times = Acting._committed, list[int]()

    def committed(self: Acting, *of: Any) -> Any:
        times.append(1)
        if len(times) == 2:
            (top / "keep").rename(top / "away")
        try:
            return usual(self, *of)
        finally:
            if len(times) == 2:
                (top / "away").rename(top / "keep")

    monkeypatch.setattr(Acting, "_committed", committed)
    tally = act(marks, action, journal, target=tmp_path / "target")
    assert (tally.done, len(reasons(tally))) == (1, 2)


ORDINARY = """
import json, sys
from pathlib import Path
from dedupe.actions import engine
from dedupe.actions.apply import ActionName
from dedupe.errors import NothingUsableError
from tests.actions.common import act, copies, edit, reasons
from tests.actions.test_edited_keepers import make_anothers

top, edited = Path(sys.argv[1]), sys.argv[2:]
marks = copies(top, {"one": (["a"], ["b0", "b1", "b2"])})
make_anothers(top)
usual = engine.Engine._flush
engine.Engine._flush = lambda self: ([edit(top / name) for name in edited], usual(self))
tally = act(marks, ActionName.HARDLINK, top.parent / "journal")
print(json.dumps([tally.done, reasons(tally)]))
"""


def make_anothers(top: Path) -> None:
    """Give a tree to another user, so that a user without rights over leases gets none."""
    for path in (*top.iterdir(), top):
        os.chown(path, 1000, 1000)


@pytest.mark.parametrize("edited", [[], ["a"], ["a", "b0"]])
def test_who_gets_no_lease_loses_nothing(tmp_path: Path, edited: list[str]) -> None:
    """A real user who does not own the files: what nobody edited is linked, and an edited keeper takes no names."""
    need_root()
    need(shutil.which("setpriv"), "setpriv of util-linux")
    command = ["setpriv", "--bounding-set=-lease", "--inh-caps=-lease", sys.executable, "-c", ORDINARY]
    answer = subprocess.run(
        [*command, tmp_path / "top", *edited], capture_output=True, text=True, check=False, timeout=60
    )
    assert answer.returncode == 0, answer.stderr
    done, told = json.loads(answer.stdout)
    assert (done, len(told)) == ((0, 3) if edited else (3, 0)), told
    assert hashlib.sha256(content("one")).digest() in contents(tmp_path / "top")


def test_a_keeper_without_a_lease_is_read_again_once_for_all_of_its_names(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not once a name, which of large files with many copies would be twice the reading."""
    marks = copies(tmp_path / "top", {"one": (["a"], [f"b{n}" for n in range(9)])})
    usual, again = keepers.digest_of, list[str]()

    def digest_of(descriptor: int, *of: Any) -> bytes:
        again.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        return usual(descriptor, *of)

    monkeypatch.setattr(holding.lease, "read_lease", no_lease)
    monkeypatch.setattr(keepers, "digest_of", digest_of)
    tally = act(marks, ActionName.HARDLINK, journal)
    assert (tally.done, reasons(tally), again) == (9, [], ["a"])


def test_names_that_wait_are_put_back_where_the_journal_fails(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing more is given up once that cannot be written down any more, and nothing stays aside."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b0", "b1", "b2"])})
    monkeypatch.setattr(Journal, "tell", _full)
    tally = act(marks, ActionName.HARDLINK, journal)
    assert "No space left" in tally.stopped
    assert {path.name for path in top.iterdir()} == {"a", "b0", "b1", "b2"}
    assert (top / "a").stat().st_nlink == 2


def _full(*_: object) -> None:
    raise NothingUsableError(os.strerror(errno.ENOSPC))
