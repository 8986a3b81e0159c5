"""Public reports of what acting did, by their numbers; the rule stands in each test."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dedupe.actions import hardlink, looks, reflink
from dedupe.actions.action import Item, NewKeeperError, Spot
from dedupe.actions.apply import ActionName
from dedupe.actions.delete import Delete
from dedupe.actions.plan import Limits, make
from dedupe.actions.summary import of as summary_of
from dedupe.storage import sharing
from dedupe.storage.extents import extents
from tests import disks
from tests.actions.common import ON_LINUX, act, content, contents, copies, marked, reasons, snapshot, take_back
from tests.actions.test_plan import changed
from tests.cases.common import MODES_OF_POSIX, not_on_windows
from tests.conftest import write

pytestmark = ON_LINUX
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="Linux has it")
BLOCKS = 1 << 20


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Return where the journals of a test lie."""
    return tmp_path / "journal"


@not_on_windows(MODES_OF_POSIX)
@pytest.mark.parametrize("what", ["mode", "owner", "xattr"])
def test_a36_a_link_that_would_lose_rights_is_refused(tmp_path: Path, journal: Path, what: str) -> None:
    """And the way that keeps them is named."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    if what == "mode":
        (top / "b").chmod(0o600)
        (top / "a").chmod(0o644)
    elif what == "owner":
        if os.geteuid():
            pytest.skip("only root gives files away")
        os.chown(top / "b", 1, 1)
    elif hasattr(os, "setxattr"):
        os.setxattr(top / "b", "user.note", b"mine")
    else:
        pytest.skip("no extended attributes by Python here")
    (reason,) = reasons(act(marks, ActionName.HARDLINK, journal))
    assert "--reflink would keep it" in reason
    assert (top / "b").stat().st_nlink == 1


def test_a37_dates_that_vanish_are_told_and_the_keepers_stay(tmp_path: Path, journal: Path) -> None:
    """The summary counts them; the keeper's date never changes; undo brings the victim's back."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    before = snapshot(top)
    assert summary_of(make(marks, Limits(names_go=False))).other_dates == 1
    dated = (top / "a").stat().st_mtime_ns
    act(marks, ActionName.HARDLINK, journal)
    assert (top / "a").stat().st_mtime_ns == dated
    take_back(journal)
    assert snapshot(top) == before


@LINUX
def test_a40_a39_sharing_blocks_leaves_times_and_attributes(tmp_path: Path, journal: Path) -> None:
    """Builds do not start afresh."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", "btrfs") as made:
        marks = copies(made.folder / "top", {"one": (["a"], ["b"])}, size=BLOCKS)
        os.setxattr(made.folder / "top/b", "user.note", b"mine")
        before = snapshot(made.folder / "top")
        assert act(marks, ActionName.REFLINK, journal).done == 1
        assert snapshot(made.folder / "top") == before


@pytest.mark.parametrize("action", [ActionName.DELETE, ActionName.HARDLINK])
def test_a42_a52_space_is_gained_when_the_last_name_goes(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """A victim with a name outside the report frees nothing, and that is said before."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    os.link(top / "b", tmp_path / "outside")
    told = summary_of(make(marks, Limits(names_go=False)))
    assert (told.keeps_name, list(told.freed.values())) == (1, [0])
    tally = act(marks, action, journal)
    assert (tally.done, tally.freed) == (1, 0)
    assert (tmp_path / "outside").read_bytes() == content("one")


def test_a42_the_keeper_is_the_file_with_most_names(tmp_path: Path, journal: Path) -> None:
    """Of several copies that stay, the others' names go to the one that has most."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a", "b"], ["c"])})
    os.link(top / "b", top / "b2")
    act(marks, ActionName.HARDLINK, journal)
    assert (top / "c").stat().st_ino == (top / "b").stat().st_ino


def test_a44_a_file_system_without_links_is_known_before(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked once a volume, and nothing is read for it."""
    usual = hardlink.volumes.locate

    def exfat(folder: bytes, device: int) -> Any:
        found: Any = usual(folder, device)
        return found._replace(volume=found.volume._replace(file_system="exfat"))

    monkeypatch.setattr(hardlink.volumes, "locate", exfat)
    marks = copies(tmp_path / "top", {"one": (["a"], ["b", "c"])})
    assert all("has no hard links" in reason for reason in reasons(act(marks, ActionName.HARDLINK, journal)))


def test_a45_too_many_names_begin_a_new_keeper(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The victim that could not be linked stays, and takes the names of the next ones."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b", "c", "d"])})
    full = looks.at(os.fsencode(top / "a")).inode
    usual = hardlink.Hardlink._link

    def refuse(self: hardlink.Hardlink, item: Item, spot: Spot) -> None:
        if item.keeper.seen.inode == full:
            raise NewKeeperError
        usual(self, item, spot)

    monkeypatch.setattr(hardlink.Hardlink, "_link", refuse)
    tally = act(marks, ActionName.HARDLINK, journal)
    assert tally.done == 2
    assert (top / "d").stat().st_ino == (top / "c").stat().st_ino == (top / "b").stat().st_ino != full


def test_a50_the_prompt_says_what_a_hard_link_is(
    cli: Callable[..., subprocess.CompletedProcess[bytes]], tmp_path: Path
) -> None:
    """In one line, before the question."""
    for name in "ab":
        write(tmp_path / "top" / name, content("one"))
    cli("scan", "top", "--no-cache", "--output", "r.json")
    for options in (("--dry-run",), ("--yes",)):
        told = cli("apply", "r.json", "--then", "newest", "--hardlink", *options).stderr
        assert told.count(b"who edits one of them edits all") == 1


@LINUX
def test_a53_all_of_a_large_file_is_shared(tmp_path: Path, journal: Path) -> None:
    """On and on as the kernel says what it did: 16 MiB are not the end."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", "xfs") as made:
        top = made.folder / "top"
        size = (40 << 20) + 17
        marks = copies(top, {"one": (["a"], ["b"])}, size=size)
        assert act(marks, ActionName.REFLINK, journal).done == 1
        with (top / "a").open("rb") as a, (top / "b").open("rb") as b:
            assert sharing.common_bytes(a.fileno(), b.fileno()) >= size


@LINUX
def test_a56_a_hopeless_file_system_is_asked_once(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not thousands of times."""
    asked: list[bytes] = []
    monkeypatch.setattr(reflink.sharing, "can_share", lambda folder: asked.append(folder) or "it cannot")
    marks = copies(tmp_path / "top", {str(n): ([f"a{n}"], [f"b{n}"]) for n in range(5)})
    assert len(reasons(act(marks, ActionName.REFLINK, journal))) == 5
    assert len(asked) == 1


@LINUX
def test_a58_a_side_that_is_read_only_becomes_the_keeper(tmp_path: Path, journal: Path) -> None:
    """Two that are are refused."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", "btrfs") as made:
        top = made.folder / "top"
        disks.run("btrfs", "subvolume", "create", top)
        marks = copies(top, {"one": (["live/a"], ["old/b"])}, size=BLOCKS)
        disks.run("sync")
        disks.run("btrfs", "subvolume", "snapshot", "-r", top, made.folder / "frozen")
        (group,) = marks.groups
        frozen = [file._replace(path=os.fsencode(made.folder / "frozen/old/b")) for file in group.redundant]
        marks = replace(changed(marks, redundant=tuple(frozen)), roots=(os.fsencode(made.folder),))
        tally = act(marks, ActionName.REFLINK, journal)
        assert (tally.done, reasons(tally)) == (1, [])
        with (top / "live/a").open("rb") as a, (made.folder / "frozen/old/b").open("rb") as b:
            places = [[extent.physical for extent in extents(file.fileno())] for file in (a, b)]
        assert places[0] == places[1] != []


@LINUX
def test_a59_a_running_program_can_be_shared(tmp_path: Path, journal: Path) -> None:
    """It is opened for reading only, which its running does not forbid."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", "btrfs") as made:
        top = made.folder / "top"
        program = Path("/bin/sleep").read_bytes()
        for name in ("a", "b"):
            write(top / name, program).chmod(0o755)
        marks = marked(top, {"one": (["a"], ["b"])})
        with subprocess.Popen([top / "b", "30"]) as running:
            try:
                assert reasons(act(marks, ActionName.REFLINK, journal)) == []
            finally:
                running.kill()


@LINUX
def test_a65_what_is_shared_is_not_saved_again(tmp_path: Path, journal: Path) -> None:
    """The second run claims nothing."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", "xfs") as made:
        marks = copies(made.folder / "top", {"one": (["a"], ["b"])}, size=BLOCKS)
        assert act(marks, ActionName.REFLINK, journal).freed == BLOCKS
        again = act(marks, ActionName.REFLINK, journal)
        assert (again.done, again.freed, len(again.already)) == (0, 0, 1)


@LINUX
def test_a66_a70_no_trash_is_a_refusal_not_a_removal(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Per file, with what works instead, and the run goes on."""
    with disks.mounted(tmp_path / "memory", "-t", "tmpfs", "tmpfs") as folder:
        marks = copies(folder / "top", {"one": (["a"], ["b"]), "two": (["c"], ["d"])})
        write(folder / f".Trash-{os.geteuid()}", b"in the way")
        before = snapshot(folder / "top")
        told = reasons(act(marks, ActionName.TRASH, journal))
        assert len(told) == 2
        assert all("--move-to" in reason for reason in told)
        assert snapshot(folder / "top") == before


def test_a68_a76_what_is_told_is_what_is(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an error both places are looked at: a rename that failed in word and was done is put back."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    before = snapshot(tmp_path / "top")
    usual = Delete.aside

    def says_no(self: Delete, item: object) -> None:
        usual(self, item)  # type: ignore[arg-type]
        raise OSError(errno.EIO, "said no, did it")

    monkeypatch.setattr(Delete, "aside", says_no)
    tally = act(marks, ActionName.DELETE, journal)
    assert (tally.done, len(tally.failed)) == (0, 1)
    assert snapshot(tmp_path / "top") == before


def test_a72_one_failure_ends_nothing(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are acted on."""
    marks = copies(tmp_path / "top", {str(n): ([f"a{n}"], [f"b{n}"]) for n in range(5)})
    usual = Delete.commit

    def fails_once(self: Delete, item: object) -> None:
        if item.n == 2:  # type: ignore[attr-defined]
            raise OSError(errno.EACCES, "no")
        usual(self, item)  # type: ignore[arg-type]

    monkeypatch.setattr(Delete, "commit", fails_once)
    tally = act(marks, ActionName.DELETE, journal)
    assert (tally.done, len(tally.failed)) == (4, 1)
    assert (tmp_path / "top/b1").exists()


@LINUX
def test_a74_equal_names_in_the_trash(tmp_path: Path) -> None:
    """Two runs that trash files of one name in one second lose neither."""
    tops = [tmp_path / f"top{n}" for n in range(6)]
    marks = [copies(top, {top.name: (["keep/x"], [f"go{n}/x" for n in range(5)])}) for top in tops]
    tops_of: list[threading.Thread] = []
    for number, each in enumerate(marks):
        thread = threading.Thread(target=act, args=(each, ActionName.TRASH, tmp_path / f"journal{number}"))
        tops_of.append(thread)
        thread.start()
    for thread in tops_of:
        thread.join()
    files = list((Path(os.environ["XDG_DATA_HOME"]) / "Trash/files").iterdir())
    assert len(files) == 30
    assert len(contents(*tops)) == 6


@pytest.mark.parametrize("name", ["a b", "q'uote", 'd"q', "a&b;rm -rf x", "$(x)", "-rf", "new\nline"])
def test_a80_names_are_never_a_shells(tmp_path: Path, journal: Path, name: str) -> None:
    """System calls take them as they are."""
    if sys.platform == "win32" and set(name) & set('"\n'):
        pytest.skip("no such name there")
    marks = copies(tmp_path / "top", {"one": (["k"], [name])})
    before = snapshot(tmp_path / "top")
    for action in (ActionName.MOVE_TO, ActionName.DELETE, ActionName.HARDLINK):
        assert act(marks, action, journal, target=tmp_path / "target").done == 1
        assert take_back(journal).done == 1
        assert snapshot(tmp_path / "top") == before


def test_a83_a_move_never_replaces(tmp_path: Path, journal: Path) -> None:
    """The tree below each root is kept, and a name that is taken is refused."""
    marks = copies(tmp_path / "top", {"one": (["k"], ["x/same", "y/same"])})
    write(tmp_path / "target/top/x/same", b"somebody's own")
    tally = act(marks, ActionName.MOVE_TO, journal, target=tmp_path / "target")
    assert (tally.done, len(tally.refused)) == (1, 1)
    assert (tmp_path / "target/top/x/same").read_bytes() == b"somebody's own"
    assert (tmp_path / "target/top/y/same").read_bytes() == content("one")


def test_a87_the_journal_alone_suffices(tmp_path: Path, journal: Path) -> None:
    """Neither marks nor report are needed to undo, and a line that is not understood ends nothing."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"]), "two": (["c"], ["d"])})
    before = snapshot(tmp_path / "top")
    act(marks, ActionName.DELETE, journal)
    (path,) = journal.iterdir()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], json.dumps({"kind": "intent", "n": 9}).encode() + b"\n", *lines[1:]]))
    assert take_back(journal).done == 2
    assert snapshot(tmp_path / "top") == before


def test_a90_a_placeholder_is_neither_victim_nor_keeper(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deleting it deletes the cloud's copy and frees nothing."""
    usual = looks.at
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"]), "two": (["c"], ["d"])})

    def cloudy(path: bytes) -> looks.Look:
        return usual(path)._replace(is_elsewhere=os.path.basename(path) in (b"b", b"c"))

    monkeypatch.setattr(looks, "at", cloudy)
    tally = act(marks, ActionName.DELETE, journal)
    assert tally.done == 0
    assert sum("in a cloud only" in reason for reason in reasons(tally)) == 2
