"""Acting on real file systems: shared blocks, no space, no rights, no further links, no name of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dedupe.actions import engine, hardlink
from dedupe.actions.apply import ActionName
from dedupe.actions.marks import MarkedFile
from dedupe.errors import NothingUsableError
from dedupe.storage import sharing
from tests import disks, file_system_kinds
from tests.actions.common import act, content, contents, copies, reasons, snapshot, take_back, tree
from tests.actions.test_plan import changed
from tests.cases.common import need_root
from tests.conftest import need

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mounts and tools of Linux")
ACTIONS = [ActionName.MOVE_TO, ActionName.DELETE, ActionName.HARDLINK, ActionName.TRASH]
BLOCKS = 1 << 20


def test_reflink_frees_blocks_and_changes_nothing_else(sharing_disk: Path, journal: Path) -> None:
    """Names, contents, times and rights stay; the blocks that become free are those that were not shared."""
    top = sharing_disk / "top"
    marks = copies(top, {"one": (["a"], ["b", "c"])}, size=BLOCKS)
    os.chmod(top / "b", 0o400)
    os.setxattr(top / "c", "user.note", b"kept")
    subprocess.run(["sync"], check=True)
    before = snapshot(top)
    tally = act(marks, ActionName.REFLINK, journal, verify=True)
    assert (tally.done, reasons(tally), tally.freed) == (2, [], 2 * BLOCKS)
    assert snapshot(top) == before
    with (top / "a").open("rb") as a, (top / "b").open("rb") as b:
        assert sharing.common_bytes(a.fileno(), b.fileno()) == BLOCKS
    again = act(marks, ActionName.REFLINK, journal)
    assert (again.done, len(again.already), again.freed) == (0, 2, 0)


def test_small_files_that_take_no_blocks_gain_nothing(tmp_path: Path, journal: Path) -> None:
    """On btrfs they lie beside their metadata: no run says of them that they were made to share."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", "btrfs") as made:
        marks = copies(made.folder / "top", {"one": (["a"], ["b", "c"])}, size=300)
        tally = act(marks, ActionName.REFLINK, journal)
    assert (tally.done, reasons(tally)) == (0, [])
    assert {each.reason for each in tally.already} == {
        "has no blocks to share: it is so small, or so empty, that it takes none"
    }


def test_reflink_of_what_differs_is_refused(sharing_disk: Path, journal: Path) -> None:
    """Our comparison says so before the kernel's could."""
    top = sharing_disk / "top"
    marks = copies(top, {"one": (["a"], ["b"])}, size=BLOCKS)
    data = bytearray((top / "b").read_bytes())
    data[-1] ^= 1
    (top / "b").write_bytes(data)
    assert reasons(act(marks, ActionName.REFLINK, journal)) == ["differs from the copy that stays"]
    assert (top / "b").read_bytes() == bytes(data)


def test_reflink_is_refused_where_blocks_are_not_shared(tmp_path: Path, journal: Path) -> None:
    """Once for the whole file system, before anything is read, and with what works instead."""
    with disks.mounted(tmp_path / "memory", "-t", "tmpfs", "tmpfs") as folder:
        tally = act(tree(folder / "top"), ActionName.REFLINK, journal)
    assert tally.done == 0
    assert all("--hardlink, --trash or --move-to would work" in reason for reason in reasons(tally))


@pytest.mark.parametrize("action", [ActionName.DELETE, ActionName.HARDLINK, ActionName.MOVE_TO, ActionName.TRASH])
def test_other_actions_work_there_too(sharing_disk: Path, journal: Path, action: ActionName) -> None:
    """On btrfs and XFS act and undo is as before; a copy that undo makes shares its blocks."""
    top = sharing_disk / "top"
    marks = copies(top, {"one": (["a"], ["b"])}, size=BLOCKS)
    os.utime(top / "b", ns=(0, 10**18))
    before = snapshot(top)
    assert act(marks, action, journal, target=sharing_disk / "target").done == 1
    assert take_back(journal).done == 1
    assert snapshot(top) == before
    if action in (ActionName.DELETE, ActionName.HARDLINK):
        with (top / "a").open("rb") as a, (top / "b").open("rb") as b:
            assert sharing.common_bytes(a.fileno(), b.fileno()) == BLOCKS


@pytest.mark.parametrize("action", ACTIONS)
def test_a_full_disk_loses_nothing(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """Where no name can be made any more each name is acted on or stays, and undo gives back what it can."""
    with disks.mounted(tmp_path / "memory", "-t", "tmpfs", "-o", "size=1m,nr_inodes=24", "tmpfs") as folder:
        marks = tree(folder / "top")
        number = 0
        try:
            while True:
                number += 1
                (folder / f"filler {number}").write_bytes(b"x")
        except OSError:
            pass
        held = contents(folder / "top")
        act(marks, action, journal, target=folder / "target")
        assert held <= contents(folder / "top", folder / "target", *folder.glob(".Trash-*/files"))
        assert not list(folder.rglob(".dedupe-*"))
        for path in folder.glob("filler *"):
            path.unlink()
        take_back(journal)
        assert contents(folder / "top") == held
        assert len(list((folder / "top").rglob("*"))) == 8


@pytest.mark.parametrize("action", ACTIONS)
def test_a_full_disk_of_the_journal_does_nothing(tmp_path: Path, action: ActionName) -> None:
    """Without a journal nothing is done."""
    with disks.mounted(tmp_path / "small", "-t", "tmpfs", "-o", "size=8k", "tmpfs") as small:
        marks = tree(tmp_path / "top")
        before = snapshot(tmp_path / "top")
        (small / "filler").write_bytes(b"x" * 8192)
        with pytest.raises(NothingUsableError, match="journal"):
            act(marks, action, small / "journal", target=tmp_path / "target")
        assert snapshot(tmp_path / "top") == before


@pytest.mark.parametrize("action", ACTIONS)
def test_a_volume_that_is_read_only_is_refused(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """Each name with its reason, and nothing is changed."""
    with disks.mounted(tmp_path / "memory", "-t", "tmpfs", "tmpfs") as folder:
        marks = tree(folder / "top")
        before = snapshot(folder / "top")
        disks.run("mount", "-o", "remount,ro", folder)
        tally = act(marks, action, journal, target=folder / "target")
        assert (tally.done, len(reasons(tally))) == (0, 3)
        assert snapshot(folder / "top") == before


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("which", ["go/b", "go", "keep/a"])
def test_an_immutable_file_or_folder_stays(tmp_path: Path, journal: Path, action: ActionName, which: str) -> None:
    """A flag that the system keeps is told, and no content is lost; without it undo and a next run work."""
    need_root()
    need(shutil.which("chattr"), "chattr of e2fsprogs")
    with disks.disk(tmp_path / "image", tmp_path / "disk") as made:
        top = made.folder / "top"
        marks = tree(top)
        held, before = contents(top), snapshot(top)
        disks.run("chattr", "+i", top / which)
        try:
            tally = act(marks, action, journal, target=made.folder / "target")
            places = [made.folder / "target", *made.folder.glob(".Trash-*/files")]
            assert held <= contents(top, *places)
            if which != "keep/a":
                assert (top / "go/b").exists()
                assert any("immutable" in reason for reason in reasons(tally))
        finally:
            disks.run("chattr", "-i", top / which)
        take_back(journal)
        assert snapshot(top) == before


def test_when_a_keeper_takes_no_more_names_the_next_begins(tmp_path: Path, journal: Path) -> None:
    """The victim that could not be linked stays, and takes the names of those after it."""
    with disks.disk(tmp_path / "image", tmp_path / "disk") as made:
        top = made.folder / "top"
        names = [f"go/{n}" for n in range(4)]
        marks = copies(top, {"one": (["keep"], names)}, size=100)
        for n in range(64_998):  # ext4 takes 65,000 names a file
            os.link(top / "keep", made.folder / f"l{n}")
        before = snapshot(top)
        tally = act(marks, ActionName.HARDLINK, journal)
        assert tally.done == 3
        assert [each.reason[:27] for each in tally.already] == ["its copy has as many names "]
        assert reasons(tally) == []
        assert (top / "go/0").stat().st_ino == (top / "keep").stat().st_ino
        assert (top / "go/2").stat().st_ino == (top / "go/3").stat().st_ino == (top / "go/1").stat().st_ino
        assert take_back(journal).done == 3
        assert {name: told[:6] for name, told in snapshot(top).items()} == {n: t[:6] for n, t in before.items()}


def test_exfat_has_no_links(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So hard links are refused before anything is read; moving and deleting work and are undone."""
    with file_system_kinds.mounted(tmp_path, "exfat") as folder:
        marks = tree(folder / "top")
        held = contents(folder / "top")
        with monkeypatch.context() as patch:
            patch.setattr(engine, "prove", None)
            assert all("no hard links" in reason for reason in reasons(act(marks, ActionName.HARDLINK, journal)))
        assert not list(folder.rglob(".dedupe-*"))
        for action in (ActionName.MOVE_TO, ActionName.DELETE):
            assert act(marks, action, journal, target=folder / "target").done == 3
            assert contents(folder / "top") == held
            assert take_back(journal).done == 3
        assert len(list((folder / "top").rglob("*"))) == 8


@pytest.mark.parametrize("action", ACTIONS)
def test_an_alias_of_the_keeper_is_the_keeper(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """The same folder mounted twice: one file, so there is nothing to do."""
    need_root()
    top = tmp_path / "top"
    marks = copies(top, {"one": (["keep/a"], ["go/b"])})
    (top / "alias").mkdir()
    with disks.mounted(top / "alias", "--bind", top / "keep"):
        alias = MarkedFile(os.fsencode(top / "alias/a"))
        tally = act(changed(marks, redundant=(alias,)), action, journal, target=tmp_path / "target")
        assert (tally.done, [each.reason for each in tally.already]) == (0, ["is the same file as a copy that stays"])
        assert (top / "keep/a").exists()


@pytest.mark.parametrize("action", ACTIONS)
def test_a_branch_that_is_a_symbolic_link_is_refused(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """A folder below a root that leads elsewhere: no victim and no keeper is reached through it."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["keep/a"], ["go/b"])})
    (top / "go/b").unlink()
    (top / "go").rmdir()
    (top / "go").symlink_to("keep")
    (top / "keep/b").write_bytes(content("one"))
    tally = act(marks, action, journal, target=tmp_path / "target")
    assert tally.done == 0
    assert len(reasons(tally)) == 1
    assert "symbolic link" in reasons(tally)[0]
    assert sorted(path.name for path in (top / "keep").iterdir()) == ["a", "b"]


@pytest.mark.parametrize("action", ACTIONS)
def test_names_are_never_folded(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """Where case does not count, two spellings are one file; where it does, they are two."""
    need_root()
    disks.run("truncate", "-s", "32M", tmp_path / "image")
    made = subprocess.run(
        ["mkfs.ext4", "-q", "-F", "-O", "casefold", tmp_path / "image"], capture_output=True, check=False
    )
    need(made.returncode == 0, "an mkfs.ext4 that knows casefold")
    (tmp_path / "disk").mkdir()
    mount = ["mount", "-o", "loop", tmp_path / "image", tmp_path / "disk"]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this kernel folds no case on ext4")
    try:
        folder = tmp_path / "disk/folded"
        folder.mkdir()
        disks.run("chattr", "+F", folder)
        marks = copies(folder, {"one": (["Photo"], ["copy"])})
        alias = MarkedFile(os.fsencode(folder / "photo"))
        tally = act(changed(marks, redundant=(alias,)), action, journal, target=tmp_path / "disk/target")
        assert (tally.done, len(tally.already)) == (0, 1)
        assert (folder / "Photo").read_bytes() == content("one")
    finally:
        disks.unmount(tmp_path / "disk")


def test_hard_links_without_exchange(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two names cannot be exchanged the name is set aside first, and the run and its undo do the same."""
    marks = tree(tmp_path / "top")
    before = snapshot(tmp_path / "top")
    monkeypatch.setattr(hardlink, "can_exchange", lambda _: False)
    assert act(marks, ActionName.HARDLINK, journal).done == 3
    assert (tmp_path / "top/go/b").stat().st_ino == (tmp_path / "top/keep/a").stat().st_ino
    assert take_back(journal).done == 3
    assert snapshot(tmp_path / "top") == before
