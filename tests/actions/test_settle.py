"""What a kill left in the middle, and what could not be put back: settled, once and by whoever comes next."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from dedupe.actions import acting
from dedupe.actions.apply import ActionName, Order
from dedupe.actions.delete import Delete
from dedupe.actions.journal import Journal
from dedupe.actions.move_to import MoveTo
from dedupe.actions.trash import ToTrash
from dedupe.actions.trash_slots import Trash
from dedupe.actions.undoing import Undoing
from dedupe.cli import telling
from dedupe.storage import metadata, rename
from tests import disks
from tests.actions.common import ON_LINUX, act, content, copies, killed_in, reasons, snapshot, take_back, tree
from tests.cases.common import need_root
from tests.conftest import write

pytestmark = ON_LINUX


def trash_files(folder: str) -> list[Path]:
    """Return what lies in a folder of the user's trash."""
    place = Path(os.environ["XDG_DATA_HOME"]) / "Trash" / folder
    return list(place.iterdir()) if place.exists() else []


def test_apply_settles_before_it_plans(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a kill set aside is no victim that is gone: it is put back, told, and acted on."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    killed_in(monkeypatch, Delete, "commit", lambda: act(marks, ActionName.DELETE, journal))
    tally = act(marks, ActionName.DELETE, journal)
    assert (tally.done, tally.already) == (1, [])
    assert "1 name was put back" in tally.notes[0]
    assert [path.name for path in (tmp_path / "top").iterdir()] == ["a"]


@pytest.mark.parametrize(
    "where", [(Journal, "intend"), (ToTrash, "aside"), (Trash, "claim"), (acting.Acting, "_begin")]
)
def test_no_record_of_a_trash_outlives_a_kill(
    tmp_path: Path, journal: Path, where: tuple[type, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A place in a trash is journalled before it is claimed, so that whatever was made of it is found."""
    marks = tree(tmp_path / "top")
    before = snapshot(tmp_path / "top")
    killed_in(monkeypatch, *where, lambda: act(marks, ActionName.TRASH, journal))
    take_back(journal)
    assert snapshot(tmp_path / "top") == before
    assert trash_files("info") == trash_files("files") == []


def test_a_place_that_was_claimed_and_not_filled_is_given_up(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record is ours by the path that it tells; one of another program under the name stays."""
    marks = tree(tmp_path / "top")
    killed_in(monkeypatch, rename, "_rename_with", lambda: act(marks, ActionName.TRASH, journal))
    (info,) = trash_files("info")
    text = info.read_text(encoding="ascii")
    info.write_text(text.replace("Path=", "Path=/elsewhere"), encoding="ascii")
    take_back(journal)
    assert trash_files("info") == [info]


def test_a_place_that_somebody_takes_is_chosen_anew(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between choosing and claiming: another is journalled, and nobody's file is touched."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    before = snapshot(tmp_path / "top")
    usual, taken = Trash.claim, []

    def claim(self: Trash, slot: Any, *rest: Any, **more: Any) -> bool:
        if not taken:
            taken.append(write(Path(os.fsdecode(self.folder)) / "info" / f"{slot.name.decode()}.trashinfo", b"theirs"))
        return usual(self, slot, *rest, **more)

    monkeypatch.setattr(Trash, "claim", claim)
    assert act(marks, ActionName.TRASH, journal).done == 1
    assert taken[0].read_bytes() == b"theirs"
    assert len(trash_files("files")) == 1
    assert take_back(journal).done == 1
    assert snapshot(tmp_path / "top") == before
    assert trash_files("info") == taken


@pytest.mark.parametrize("action", [ActionName.MOVE_TO, ActionName.DELETE, ActionName.TRASH])
@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("call", ["link", "rename", "unlink"])
def test_a_kill_between_the_steps_of_a_rename(
    tmp_path: Path,
    journal: Path,
    action: ActionName,
    links: bool,  # noqa: FBT001 - a parameter of the test
    call: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where a file system has no rename that replaces nothing: both ways round it can be cut off anywhere."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    before = snapshot(tmp_path / "top")

    def no(code: int) -> Any:
        def refuse(*_: object, **__: object) -> None:
            raise OSError(code, os.strerror(code))

        return refuse

    with monkeypatch.context() as patch:
        patch.setattr(rename, "_rename_with", no(errno.EINVAL))
        if not links:
            patch.setattr(rename.os, "link", no(errno.EPERM))
        if links or call == "rename":
            killed_in(monkeypatch, rename.os, call, lambda: act(marks, action, journal))
    take_back(journal)
    assert snapshot(tmp_path / "top") == before
    assert trash_files("info") == trash_files("files") == []
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and ".dedupe-" in path.name]
    assert not list((journal.parent / "target").rglob("b"))


def test_what_is_unclear_is_looked_at_again(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as a file lies aside, undo says so and does not end well; once its name is free it is put back."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    before = snapshot(top)
    killed_in(monkeypatch, Delete, "commit", lambda: act(marks, ActionName.DELETE, journal))
    write(top / "b", b"newer")
    for _ in range(2):
        assert "its name is taken, and it lies beside it" in reasons(take_back(journal))[0]
    (top / "b").unlink()
    assert reasons(take_back(journal)) == []
    assert snapshot(top) == before


@pytest.mark.parametrize("action", [ActionName.MOVE_TO, ActionName.DELETE, ActionName.TRASH])
def test_a_name_that_another_program_takes_away_is_told_as_that(
    tmp_path: Path, journal: Path, action: ActionName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not as lying where nothing lies."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    usual = acting.Acting._begin

    def moved(self: acting.Acting, *rest: Any) -> None:
        (top / "b").rename(top / "elsewhere")
        usual(self, *rest)

    monkeypatch.setattr(acting.Acting, "_begin", moved)
    tally = act(marks, action, journal)
    assert (tally.done, tally.unknown, len(tally.refused)) == (0, [], 1)
    assert "another program moved, removed or changed it" in reasons(tally)[0]
    assert (top / "elsewhere").read_bytes() == content("one")
    assert trash_files("info") == []


def test_a_file_that_could_not_be_put_back_is_not_lost_from_sight(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where even putting back fails the run says where it lies, and the next undo puts it back."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    before = snapshot(top)

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(MoveTo, "commit", fail)
        patch.setattr(MoveTo, "back", fail)
        (told,) = [each.reason for each in act(marks, ActionName.MOVE_TO, journal).unknown]
    assert "lies at" in told
    assert reasons(take_back(journal)) == []
    assert snapshot(top) == before


@pytest.mark.parametrize("old", ['"verb": "delete"', '"unread"', '"size"'])
def test_a_line_that_is_odd_costs_its_own_file_only(tmp_path: Path, journal: Path, old: str) -> None:
    """No traceback, and no silence."""
    act(copies(tmp_path / "top", {"one": (["a"], ["b"]), "two": (["c"], ["d"])}), ActionName.DELETE, journal)
    (path,) = journal.iterdir()
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(old, old.replace('e"', 'eX"').replace("unread", "unreaX"), 1), encoding="utf-8")
    tally = take_back(journal)
    assert tally.done == 1
    assert "damaged in line 2" in reasons(tally)[0]


def test_a_killed_undo_is_gone_on_with(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of one file that it had made again, and those that it had not, are one file in the end."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    os.link(top / "b", top / "c")
    (group,) = marks.groups
    object.__setattr__(group, "redundant", (group.redundant[0]._replace(links=(os.fsencode(top / "c"),)),))
    before = snapshot(top)
    act(marks, ActionName.DELETE, journal)
    usual, asked = Undoing._one, []

    def second(self: Undoing, *rest: Any) -> None:
        asked.append(1)
        if len(asked) == 2:
            raise _Cut
        usual(self, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Undoing, "_one", second)
        patch.setattr(Journal, "end", lambda *_: None)
        with pytest.raises(_Cut):
            take_back(journal)
    take_back(journal)
    assert snapshot(top) == before


class _Cut(BaseException):
    """The end, in the middle."""


def test_shared_blocks_do_not_become_free(tmp_path: Path, journal: Path) -> None:
    """A victim that shares its blocks with its keeper gives nothing back, and that is what is told."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", "btrfs") as made:
        top = made.folder / "top"
        marks = copies(top, {"one": (["a"], ["b"]), "two": (["c"], ["d"])}, size=1 << 20)
        disks.run("cp", "--reflink=always", top / "a", top / "b")
        disks.run("sync")
        tally = act(marks, ActionName.DELETE, journal)
        assert (tally.done, tally.freed) == (2, 1 << 20)


def test_blocks_that_only_victims_shared_are_told_as_maybe_more(tmp_path: Path, journal: Path) -> None:
    """They became free with the last of them, which the system does not tell: no figure is given for exact."""
    order = Order(action=ActionName.DELETE)
    with disks.disk(tmp_path / "image", tmp_path / "disk", "btrfs") as made:
        top = made.folder / "top"
        marks = copies(top, {"one": (["a"], ["b", "c"])}, size=1 << 20)
        disks.run("cp", "--reflink=always", top / "b", top / "c")
        disks.run("sync")
        tally = act(marks, ActionName.DELETE, journal)
        assert (tally.done, tally.freed) == (2, 0)
        told = "How much became free is not known, as blocks were shared."
        assert told in telling.after(tally, order, verbose=False)
        alone = act(copies(top, {"two": (["d"], ["e"])}, size=1 << 20), ActionName.DELETE, journal)
        assert "1.0 MiB became free." in telling.after(alone, order, verbose=False)


def test_a_program_that_runs_as_its_owner_never_runs_as_another(tmp_path: Path) -> None:
    """Where the owner cannot be restored, setuid and setgid stay off, and that is told."""
    need_root()
    path = write(tmp_path / "x", b"x")
    wanted = metadata.of(os.fsencode(path))
    wanted = metadata.from_json(metadata.to_json(wanted) | {"uid": 12345, "mode": 0o6755})
    descriptor = os.open(path, os.O_RDWR)
    usual = os.fchown
    try:
        os.fchown = lambda *_: None  # what an ordinary user's comes to
        left = metadata.restore(descriptor, wanted)
    finally:
        os.fchown = usual
        os.close(descriptor)
    assert path.stat().st_mode & 0o7777 == 0o755
    assert any("owner" in word for word in left)


def test_what_settling_did_is_in_the_journal(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once: a foot ends the run, and nothing looks at it again."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    killed_in(monkeypatch, Delete, "commit", lambda: act(marks, ActionName.DELETE, journal))
    take_back(journal)
    (path,) = journal.iterdir()
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [line["kind"] for line in lines] == ["head", "intent", "outcome", "foot"]
    assert (lines[2]["result"], lines[3]["totals"]["stopped"]) == ("put-back", "killed")
    size = path.stat().st_size
    take_back(journal)
    assert path.stat().st_size == size
