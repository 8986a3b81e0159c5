"""Every action by the same steps: act, undo, and whatever can happen in between."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dedupe.actions import acting, afterwards, holding, runs
from dedupe.actions.action import Item
from dedupe.actions.apply import ActionName
from dedupe.actions.delete import Delete
from dedupe.actions.hardlink import Hardlink
from dedupe.actions.holding import Held
from dedupe.actions.looks import Look
from dedupe.actions.move_to import MoveTo
from dedupe.actions.trash import ToTrash
from tests.actions.common import LARGE, ON_LINUX, act, contents, copies, reasons, snapshot, take_back, tree
from tests.cases.common import not_on_windows

pytestmark = ON_LINUX
LINUX = sys.platform == "linux"
ACTIONS = [ActionName.MOVE_TO, ActionName.DELETE, ActionName.HARDLINK, *([ActionName.TRASH] if LINUX else [])]
CLASSES = {
    ActionName.MOVE_TO: MoveTo,
    ActionName.DELETE: Delete,
    ActionName.HARDLINK: Hardlink,
    ActionName.TRASH: ToTrash,
}


@pytest.fixture(params=ACTIONS)
def action(request: pytest.FixtureRequest) -> ActionName:
    """Return each action in turn."""
    found: ActionName = request.param
    return found


def beside(top: Path) -> Path:
    """Return a target on the same volume as the tree."""
    return top.parent / "target"


def test_act_then_undo_is_as_before(top: Path, journal: Path, action: ActionName) -> None:
    """All redundant names are acted on, every content stays, and undo gives all back with its metadata."""
    marks = tree(top)
    (top / "go/b").chmod(0o640)
    (top / "keep/a").chmod(0o640)
    (top / "go/deep/c").chmod(0o640)
    before, held = snapshot(top), contents(top)
    tally = act(marks, action, journal, target=beside(top))
    assert (tally.done, reasons(tally)) == (3, [])
    assert contents(top) == held
    assert snapshot(top) != before
    assert not list(top.rglob(".dedupe-*"))
    back = take_back(journal)
    assert (back.done, reasons(back), back.notes) == (3, [], [])
    assert snapshot(top) == before
    again = take_back(journal)
    assert (again.done, len(again.already)) == (0, 3)


def test_a_second_run_does_nothing(top: Path, journal: Path, action: ActionName) -> None:
    """The same marks again find all done already, and never other victims."""
    marks = tree(top)
    act(marks, action, journal, target=beside(top))
    after = snapshot(top)
    again = act(marks, action, journal, target=beside(top))
    assert (again.done, len(again.already), reasons(again)) == (0, 3, [])
    assert snapshot(top) == after


def test_a_dry_run_proves_and_changes_nothing(top: Path, journal: Path, action: ActionName) -> None:
    """It counts what would be done, refuses what differs, and leaves neither a journal nor a target."""
    marks = tree(top)
    data = bytearray((top / "go/e").read_bytes())
    data[17] ^= 1
    (top / "go/e").write_bytes(data)
    before = snapshot(top.parent)
    tally = act(marks, action, journal, target=beside(top), dry_run=True)
    assert (tally.done, reasons(tally)) == (2, ["differs from the copy that stays"])
    assert snapshot(top.parent) == before
    assert not journal.exists()


@pytest.mark.parametrize("size", [1, 5000, LARGE, 20 << 20])
@pytest.mark.parametrize("where", [0, -1])
def test_one_bit_is_enough(tmp_path: Path, journal: Path, size: int, where: int) -> None:
    """A victim that differs in one bit, whatever its size and dates, stays."""
    marks = copies(tmp_path / "top", {"w": (["a"], ["b", "c"])}, size=size)
    path = tmp_path / "top/b"
    kept = path.stat()
    data = bytearray(path.read_bytes())
    data[where] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    tally = act(marks, ActionName.DELETE, journal)
    assert (tally.done, reasons(tally)) == (1, ["differs from the copy that stays"])
    assert path.read_bytes() == bytes(data)


def test_a_keeper_that_changed_makes_way_for_the_next(tmp_path: Path, journal: Path) -> None:
    """Of several copies to keep, one that has the digest still serves; with none, nothing goes."""
    marks = copies(tmp_path / "top", {"w": (["a", "b"], ["c"])})
    (tmp_path / "top/a").write_bytes(b"x" * 5000)
    assert act(marks, ActionName.DELETE, journal).done == 1
    take_back(journal)
    (tmp_path / "top/b").write_bytes(b"y" * 5000)
    tally = act(marks, ActionName.DELETE, journal)
    assert tally.done == 0
    assert reasons(tally) == ["a copy that was to stay cannot be counted on: it is not what the report says any more"]


def test_both_sides_changed_alike_is_not_what_was_marked(tmp_path: Path, journal: Path) -> None:
    """Copies that are equal to each other, but not to the digest of the marks, are left alone."""
    marks = copies(tmp_path / "top", {"w": (["a"], ["b"])})
    for name in "ab":
        (tmp_path / "top" / name).write_bytes(b"z" * 5000)
    assert act(marks, ActionName.DELETE, journal).done == 0


def test_so_many_copies_stay(tmp_path: Path, journal: Path) -> None:
    """--copies counts files that are proven: one that differs is none."""
    marks = copies(tmp_path / "top", {"w": (["a", "b"], ["c"])})
    assert reasons(act(marks, ActionName.DELETE, journal, copies=3)) == ["only 2 of 3 copies would stay"]
    assert act(marks, ActionName.DELETE, journal, copies=2).done == 1
    take_back(journal)
    (tmp_path / "top/b").write_bytes(b"y" * 5000)
    assert act(marks, ActionName.DELETE, journal, copies=2).done == 0
    assert (tmp_path / "top/c").exists()


@not_on_windows("there the deny mode of opening does it, which Wine does not show for writers of this process")
def test_a_victim_that_is_being_written_is_refused(top: Path, journal: Path, action: ActionName) -> None:
    """Whoever has a victim open for writing may change it after any comparison."""
    marks = tree(top)
    with (top / "go/b").open("r+b"):
        tally = act(marks, action, journal, target=beside(top))
    assert tally.done == 2
    assert reasons(tally) == ["is open for writing by another program"]
    assert (top / "go/b").exists()


def _replace(path: Path, data: bytes) -> None:
    other = path.with_name("other")
    other.write_bytes(data)
    other.replace(path)


DISTURBANCES: dict[str, Callable[[Path], object]] = {
    "keeper gone": lambda top: (top / "keep/a").unlink(missing_ok=True),
    "keeper renamed": lambda top: (top / "keep/a").rename(top / "keep/elsewhere"),
    "keeper replaced": lambda top: _replace(top / "keep/a", b"k" * 5000),
    "keeper truncated": lambda top: os.truncate(top / "keep/a", 10),
    "keeper a link": lambda top: ((top / "keep/a").unlink(), (top / "keep/a").symlink_to(top / "go/deep/c")),
    "keepers folder gone": lambda top: (top / "keep").rename(top / "moved"),
    "victim gone": lambda top: (top / "go/b").unlink(missing_ok=True),
    "victim replaced": lambda top: _replace(top / "go/b", b"new and only here"),
    "victim written": lambda top: (top / "go/b").exists() and (top / "go/b").write_bytes(b"written and only here"),
    "victims folder swapped": lambda top: ((top / "go").rename(top / "old"), (top / "go").symlink_to(top / "keep")),
}
STEPS = ["prove", "prepare", "aside", "aside after", "commit"]


@contextmanager
def disturbed(
    step: str, action: ActionName, happen: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Have something happen once, before or after a step of the first name."""
    name, _, after = step.partition(" ")
    owner: type = acting.Acting if name == "prove" else CLASSES[action]
    method = "act" if name == "prove" else name
    usual = getattr(owner, method)
    happened: list[bool] = []

    def hooked(self: object, *args: object) -> object:
        first = not happened and (name == "prove" or (isinstance(args[0], Item) and args[0].name.name == b"b"))
        if first and not after:
            happened.append(True)
            happen()
        answer = usual(self, *args)
        if first and after:
            happened.append(True)
            happen()
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(owner, method, hooked)
        yield
    assert happened


@not_on_windows("an open file cannot be renamed, replaced or truncated there")
@pytest.mark.parametrize("what", DISTURBANCES)
@pytest.mark.parametrize("step", STEPS)
def test_no_content_is_lost_whatever_happens_in_between(
    tmp_path: Path, journal: Path, action: ActionName, step: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each content that was there once something had happened is there in the end, in a file that counts."""
    top, held = tmp_path / "top", set()
    places = [top, tmp_path / "target", Path(os.environ["XDG_DATA_HOME"]) / "Trash/files"]
    marks = tree(top)
    monkeypatch.setattr(holding.lease, "read_lease", lambda _: _nothing())  # else writers would wait for us

    def happen() -> None:
        DISTURBANCES[what](top)
        held.update(contents(*places))
        held.update(_aside(top))

    with disturbed(step, action, happen, monkeypatch):
        act(marks, action, journal, target=tmp_path / "target")
    assert held <= contents(*places)
    assert not _aside(top)


@contextmanager
def _nothing() -> Iterator[bool]:
    yield False


def _aside(top: Path) -> set[bytes]:
    import hashlib

    return {hashlib.sha256(path.read_bytes()).digest() for path in top.rglob(".dedupe-*") if path.is_file()}


def test_what_cannot_be_told_after_an_act_ends_nothing(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that forgets an open file once its last name has gone: done all the same, and so the journal says."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"]), "two": (["c"], ["d"])})
    usual = Held.look

    def look(self: Held) -> Look:
        seen = usual(self)
        if not seen.nlink:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return seen

    monkeypatch.setattr(Held, "look", look)
    tally = act(marks, ActionName.DELETE, journal)
    assert (tally.done, reasons(tally)) == (2, [])
    (run,) = runs.all_runs(str(journal)).runs
    assert run.count() == 2
    assert not run.open_intents


def test_nothing_is_measured_between_the_last_look_and_the_removal(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extents of a fragmented file take a while to be told: they are asked for before it is set aside."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    usual, there = afterwards.own_bytes, list[bool]()

    def own_bytes(*of: Any) -> int:
        there.append((tmp_path / "top/b").exists())
        return usual(*of)

    monkeypatch.setattr(afterwards, "own_bytes", own_bytes)
    assert act(marks, ActionName.DELETE, journal).done == 1
    assert there == [True]
