"""What cannot be changed is known before anything is read, and a dry run says what the act would say."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from dedupe.actions import engine
from dedupe.actions.acting import Acting
from dedupe.actions.action import Item
from dedupe.actions.apply import ActionName
from dedupe.actions.copies import Name
from dedupe.actions.holding import Folders, RefusedError
from dedupe.actions.move_to import MoveTo
from tests import disks
from tests.actions.common import ON_LINUX, act, copies, reasons, snapshot, take_back
from tests.cases.common import need_root
from tests.conftest import need, write

pytestmark = ON_LINUX
RENAMING = [ActionName.TRASH, ActionName.MOVE_TO, ActionName.HARDLINK, ActionName.DELETE]


@contextmanager
def flagged(flag: str, *paths: Path) -> Iterator[None]:
    """Give files or folders a flag of chattr."""
    need(shutil.which("chattr"), "chattr of e2fsprogs")
    disks.run("chattr", f"+{flag}", *paths)
    try:
        yield
    finally:
        disks.run("chattr", f"-{flag}", *paths)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a disk that knows flags."""
    need_root()
    with disks.disk(tmp_path / "image", tmp_path / "disk") as made:
        yield made.folder


@pytest.mark.parametrize("flag", ["a", "i"])
@pytest.mark.parametrize("what", ["go", "go/b"])
@pytest.mark.parametrize("action", RENAMING)
def test_flags_are_seen_before_anything_is_read(
    disk: Path, journal: Path, action: ActionName, what: str, flag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An append-only or immutable file or folder is refused by that name, in a dry run too; nothing stays behind."""
    marks = copies(disk / "top", {"one": (["keep/a"], ["go/b"])})
    before = snapshot(disk / "top")
    monkeypatch.setattr(engine, "prove", None)
    with flagged(flag, disk / "top" / what):
        for dry_run in (True, False):
            tally = act(marks, action, journal, target=disk / "away", dry_run=dry_run)
            (reason,) = reasons(tally)
            assert tally.done == 0
            assert ("append only" if flag == "a" else "immutable") in reason
    assert snapshot(disk / "top") == before


@pytest.mark.parametrize("flag", ["a", "i"])
@pytest.mark.parametrize("what", ["go", "go/b"])
@pytest.mark.parametrize("action", RENAMING)
def test_flags_that_come_at_the_last_moment_leave_nothing_that_is_not_told(
    disk: Path, journal: Path, action: ActionName, what: str, flag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be removed is named, counts as unclear, and goes with the next run once that is possible."""
    marks = copies(disk / "top", {"one": (["keep/a"], ["go/b"])})
    before = snapshot(disk / "top")
    usual = Acting._set_aside
    with monkeypatch.context() as patch, ExitStack() as flags:

        def tried(self: Acting, *of: Any) -> Any:
            flags.enter_context(flagged(flag, disk / "top" / what))
            return usual(self, *of)

        patch.setattr(Acting, "_set_aside", tried)
        tally = act(marks, action, journal, target=disk / "away")
        stays = [path.name for path in (disk / "top").rglob(".dedupe-*")]
        assert (tally.done, len(reasons(tally))) == (0, 1)
        assert [name for name in stays if name not in reasons(tally)[0]] == []
        assert len(stays) == len(tally.unknown)
    take_back(journal)
    assert snapshot(disk / "top") == before


def test_a_sticky_folder_keeps_what_others_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As /tmp does: only root and owners remove and rename there, which is known before anything is read."""
    need_root()
    for name in ("mine", "others"):
        os.chown(write(tmp_path / "s" / name, b"x"), 1000 if name == "mine" else 1, 1)
    (tmp_path / "s").chmod(0o1777)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with closing(Folders()) as folders:
        there = os.fsencode(tmp_path / "s")
        folders.check_writable([Name(there + b"/mine", there, b"mine")])
        with pytest.raises(RefusedError, match="sticky"):
            folders.check_writable([Name(there + b"/others", there, b"others")])
        os.chown(there, 1000, 1)
        folders.check_writable([Name(there + b"/others", there, b"others")])


@pytest.mark.parametrize("below", ["away", "away/new/er"])
def test_a_target_that_takes_nothing_is_known_before(disk: Path, journal: Path, below: str) -> None:
    """An append-only folder, a volume that is read-only: refused in a dry run too, and no folder is made."""
    marks = copies(disk / "top", {"one": (["keep/a"], ["go/b"])})
    (disk / "away").mkdir()
    before = snapshot(disk)
    with flagged("a", disk / "away"):
        for dry_run in (True, False):
            (reason,) = reasons(act(marks, ActionName.MOVE_TO, journal, target=disk / below, dry_run=dry_run))
            assert reason == f"{disk / 'away'} is append only: take that from it first"
    with disks.mounted(disk / "away", "--bind", disk / "away"):
        for dry_run in (True, False):
            (reason,) = reasons(act(marks, ActionName.MOVE_TO, journal, target=disk / below, dry_run=dry_run))
            assert reason == "lies on another volume than the folder to move to"
    assert snapshot(disk) == before


@pytest.mark.parametrize("at", ["away/top", "away/top/go"])
def test_no_folder_is_made_through_a_link(tmp_path: Path, journal: Path, at: str) -> None:
    """Below the target nothing leads elsewhere: refused in a dry run too, and elsewhere nothing is made."""
    marks = copies(tmp_path / "top", {"one": (["keep/a"], ["go/deep/b"])})
    (tmp_path / "else").mkdir()
    (tmp_path / at).parent.mkdir(parents=True)
    (tmp_path / at).symlink_to(tmp_path / "else")
    before = snapshot(tmp_path)
    for dry_run in (True, False):
        place = tmp_path / "away"
        (reason,) = reasons(act(marks, ActionName.MOVE_TO, journal, target=place, dry_run=dry_run))
        assert reason == f"its place {tmp_path / at} cannot be had: a symbolic link leads there"
    shutil.rmtree(journal.parent)
    assert snapshot(tmp_path) == before


def test_a_link_that_comes_at_the_last_moment_leads_nowhere(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders are made in their open parents."""
    marks = copies(tmp_path / "top", {"one": (["keep/a"], ["go/deep/b"])})
    (tmp_path / "else").mkdir()
    usual = MoveTo.prepare

    def linked_before(self: MoveTo, item: Item) -> None:
        (tmp_path / "away/top").mkdir(parents=True)
        (tmp_path / "away/top/go").symlink_to(tmp_path / "else")
        usual(self, item)

    monkeypatch.setattr(MoveTo, "prepare", linked_before)
    assert (
        "a symbolic link leads there" in reasons(act(marks, ActionName.MOVE_TO, journal, target=tmp_path / "away"))[0]
    )
    assert not list((tmp_path / "else").iterdir())


def test_a_file_in_the_way_of_the_target_is_told(tmp_path: Path, journal: Path) -> None:
    """It is left alone, and what would have gone below it is refused."""
    marks = copies(tmp_path / "top", {"one": (["keep/a"], ["go/deep/b"])})
    write(tmp_path / "away/top/go", b"somebody's own")
    for dry_run in (True, False):
        (reason,) = reasons(act(marks, ActionName.MOVE_TO, journal, target=tmp_path / "away", dry_run=dry_run))
        assert reason == f"its place {tmp_path / 'away/top/go'} cannot be had: Not a directory"
    assert (tmp_path / "away/top/go").read_bytes() == b"somebody's own"
