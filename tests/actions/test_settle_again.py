"""Settling an undo that was killed, and what is not ours: no file that somebody put there meanwhile is touched."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from dedupe.actions import restoring
from dedupe.actions.apply import ActionName
from dedupe.actions.delete import Delete
from dedupe.actions.journal import Journal
from dedupe.actions.move_to import MoveTo
from dedupe.actions.trash import ToTrash
from dedupe.actions.undoing import Undoing
from dedupe.storage import rename
from tests import disks
from tests.actions.common import ON_LINUX, act, content, copies, killed_in, reasons, snapshot, take_back
from tests.conftest import write

pytestmark = ON_LINUX
AGAIN = [ActionName.DELETE, ActionName.HARDLINK]


def no(code: int) -> Any:
    """Return a call that the system refuses."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    return refuse


def temporaries(top: Path) -> list[Path]:
    """Return the names below a folder that are ours for the time being."""
    return list(top.rglob(".dedupe-*"))


def test_another_file_is_not_the_one_made_again(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An undo was killed before it made a file, and something else has the name: that one is still to be undone."""
    top = tmp_path / "top"
    act(copies(top, {"one": (["a"], ["b"])}), ActionName.DELETE, journal)
    killed_in(monkeypatch, Undoing, "_one", lambda: take_back(journal))
    write(top / "b", b"foreign")
    for _ in range(2):
        assert "its name is taken" in reasons(take_back(journal))[0]
    assert take_back(journal, to=os.fsencode(tmp_path / "out")).done == 1
    assert next((tmp_path / "out").rglob("b")).read_bytes() == content("one")
    (top / "b").unlink()
    assert take_back(journal).done == 1
    assert (top / "b").read_bytes() == content("one")


@pytest.mark.parametrize("action", AGAIN)
@pytest.mark.parametrize("call", ["_rename", "_made_aside"])
def test_a_killed_undo_to_another_volume_is_settled_there(
    tmp_path: Path, journal: Path, action: ActionName, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of --to is on a volume of its own: what lies there is found, and nothing of it stays."""
    act(copies(tmp_path / "top", {"one": (["a"], ["b"])}), action, journal)
    with disks.disk(tmp_path / "image", tmp_path / "disk", "ext4") as disk:
        out = os.fsencode(disk.folder / "out")
        killed_in(monkeypatch, Undoing, call, lambda: take_back(journal, to=out))
        assert bool(temporaries(disk.folder)) == (call == "_rename")
        tally = take_back(journal, to=out)
        assert (tally.done, reasons(tally)) == (1, [])
        assert temporaries(disk.folder) == []
        assert next((disk.folder / "out").rglob("b")).read_bytes() == content("one")


def test_a_killed_undo_waits_for_the_volume_it_went_to(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While that is away nothing is written down; what was made there is settled when it is back."""
    act(copies(tmp_path / "top", {"one": (["a"], ["b"])}), ActionName.DELETE, journal)
    disks.run("truncate", "-s", "32M", tmp_path / "image")
    disks.run("mkfs.ext4", "-q", "-F", tmp_path / "image")
    stick = tmp_path / "stick"
    with disks.mounted(stick, "-o", "loop", tmp_path / "image"):
        killed_in(monkeypatch, Undoing, "_rename", lambda: take_back(journal, to=os.fsencode(stick / "out")))
    tally = take_back(journal, dry_run=True)
    assert any("come first: 1" in note for note in tally.notes)
    assert "its volume is not there" in "".join(take_back(journal).notes)
    with disks.mounted(stick, "-o", "loop", tmp_path / "image"):
        take_back(journal)
        assert temporaries(stick) == []


def test_inode_numbers_of_two_volumes_are_not_compared(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy that was made elsewhere is done, whatever number its volume gave it."""
    act(copies(tmp_path / "top", {"one": (["a"], ["b"])}), ActionName.HARDLINK, journal)
    out = os.fsencode(tmp_path / "out")
    usual = Journal.tell
    killed_in(monkeypatch, Journal, "tell", lambda: take_back(journal, to=out))
    assert Journal.tell is usual
    (path,) = [path for path in journal.iterdir() if b'"undo-hardlink"' in path.read_bytes()]
    assert b'"keeper_inode": "0"' in path.read_bytes()


@pytest.mark.parametrize("where", ["target", "name"])
def test_an_empty_file_of_somebody_else_stays(
    tmp_path: Path, journal: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that holds a name for a rename is told from it by a note beside the file that is renamed."""
    top, target = tmp_path / "top", tmp_path / "state/target/top"
    marks = copies(top, {"one": (["a"], ["b"])})
    if where == "name":  # it was moved, and its name is taken
        killed_in(monkeypatch, MoveTo, "commit", lambda: act(marks, ActionName.MOVE_TO, journal))
        theirs = write(top / "b", b"")
    else:  # it was not moved yet, and its new name is taken
        killed_in(monkeypatch, MoveTo, "aside", lambda: act(marks, ActionName.MOVE_TO, journal))
        theirs = write(target / "b", b"")
    tally = take_back(journal)
    assert theirs.exists()
    assert theirs.stat().st_size == 0
    assert bool(reasons(tally)) == (where == "name")
    theirs.unlink()
    take_back(journal)
    assert (top / "b").read_bytes() == content("one")


@pytest.mark.parametrize("call", ["rename", "unlink"])
def test_a_kill_while_an_undo_claims_a_name(
    tmp_path: Path, journal: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a file system has neither such renames nor links: the empty file is known by its note, and both go."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    before = snapshot(top)
    act(marks, ActionName.MOVE_TO, journal)
    with monkeypatch.context() as patch:
        patch.setattr(rename, "_rename_with", no(errno.EINVAL))
        patch.setattr(rename.os, "link", no(errno.EPERM))
        killed_in(monkeypatch, rename.os, call, lambda: take_back(journal))
    assert take_back(journal).done == (1 if call == "rename" else 0)
    assert snapshot(top) == before
    assert [path for path in tmp_path.rglob("*") if ".dedupe-" in path.name] == []


def test_what_takes_a_name_while_it_is_exchanged_is_not_lost(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The undo of a link is killed just when it sees that it exchanged another file away: that one gets its name."""
    top = tmp_path / "top"
    act(copies(top, {"one": (["a"], ["b"])}), ActionName.HARDLINK, journal)
    usual = restoring.exchange

    def swapped(*names: Any, **folders: Any) -> None:
        (top / "b").unlink()
        write(top / "b", b"foreign")
        usual(*names, **folders)

    monkeypatch.setattr(restoring, "exchange", swapped)
    killed_in(monkeypatch, restoring, "look_at", lambda: take_back(journal))
    monkeypatch.undo()
    take_back(journal)
    assert (top / "b").read_bytes() == b"foreign"
    assert temporaries(top) == []


def test_further_names_come_back_also_where_the_first_one_went_away(tmp_path: Path, journal: Path) -> None:
    """The folder of a name that an earlier undo gave back is gone: the next one is copied from the keeper."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["sub/b"])})
    os.link(top / "sub/b", top / "c")
    (group,) = marks.groups
    object.__setattr__(group, "redundant", (group.redundant[0]._replace(links=(os.fsencode(top / "c"),)),))
    act(marks, ActionName.DELETE, journal)
    assert take_back(journal, files=[os.fsencode(top / "sub/b")]).done == 1
    (top / "sub/b").unlink()
    (top / "sub").rmdir()
    tally = take_back(journal)
    assert (tally.done, reasons(tally)) == (1, [])
    assert (top / "c").read_bytes() == content("one")


@pytest.mark.parametrize("action", [ActionName.DELETE, ActionName.MOVE_TO, ActionName.TRASH])
def test_what_is_unclear_can_be_put_elsewhere(
    tmp_path: Path, journal: Path, action: ActionName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill left it aside and its name is taken: --to gives it another place, and nothing is unclear any more."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    owner = {ActionName.DELETE: Delete, ActionName.MOVE_TO: MoveTo, ActionName.TRASH: ToTrash}[action]
    killed_in(monkeypatch, owner, "commit", lambda: act(marks, action, journal))
    places = (tmp_path, Path(os.environ["XDG_DATA_HOME"]))
    files = [path for place in places for path in place.rglob("*") if path.is_file() and path.name != "a"]
    (number,) = {path.stat().st_ino for path in files if path.read_bytes() == content("one")}
    write(top / "b", b"newer")
    assert "its name is taken" in reasons(take_back(journal))[0]
    tally = take_back(journal, to=os.fsencode(tmp_path / "out"))
    assert (tally.done, reasons(tally)) == (1, [])
    assert next((tmp_path / "out").rglob("b")).stat().st_ino == number
    assert (top / "b").read_bytes() == b"newer"
    assert temporaries(top) == []
    tally = take_back(journal)
    assert (tally.done, reasons(tally), len(tally.already)) == (0, [], 1)


@pytest.mark.parametrize("dry_run", [True, False])
def test_no_folders_stay_where_nothing_could_be_put(tmp_path: Path, journal: Path, dry_run: bool) -> None:  # noqa: FBT001
    """A moved file does not cross volumes: that is told, in a dry run as well, and nothing is made."""
    act(copies(tmp_path / "top", {"one": (["a"], ["b"])}), ActionName.MOVE_TO, journal)
    with disks.mounted(tmp_path / "memory", "-t", "tmpfs", "tmpfs") as memory:
        tally = take_back(journal, to=os.fsencode(memory / "out"), dry_run=dry_run)
        assert "lies on another volume" in reasons(tally)[0]
        assert list(memory.iterdir()) == []


def test_folders_that_were_made_for_nothing_go(tmp_path: Path, journal: Path) -> None:
    """The copy changed, so that there is nothing to put into them; what was there before stays."""
    top, out = tmp_path / "top", tmp_path / "out"
    act(copies(top, {"one": (["a"], ["b"])}), ActionName.DELETE, journal)
    (top / "a").write_bytes(b"edited")
    out.mkdir()
    assert take_back(journal, to=os.fsencode(out)).done == 0
    assert list(out.iterdir()) == []
