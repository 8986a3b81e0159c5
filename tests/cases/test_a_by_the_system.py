"""Public reports of what systems and file systems did, by their numbers; the rule stands in each test."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dedupe.actions import reflink
from dedupe.actions.apply import ActionName
from dedupe.actions.delete import Delete
from dedupe.storage import rename, sharing
from tests import disks
from tests.actions.common import ON_LINUX, act, content, contents, copies, reasons, snapshot, take_back, tree
from tests.cases.common import need_root
from tests.conftest import need, write

if sys.platform != "win32":
    import fcntl

pytestmark = ON_LINUX
ACTIONS = [ActionName.MOVE_TO, ActionName.DELETE, ActionName.HARDLINK, ActionName.TRASH]
BLOCKS = 1 << 20
CLONE, SHARE = 0x4004_9409, 0xC018_9436  # FICLONE, FIDEDUPERANGE on x86 and Arm


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Return where the journals of a test lie."""
    return tmp_path / "journal"


@pytest.fixture(params=["btrfs", "xfs"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a file system whose files can share blocks."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", request.param) as made:
        yield made.folder / "top"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bytes, object]]:
    """Return what the kernel is asked by ioctl: the request, the path that it goes to, and what is passed."""
    usual, found = fcntl.ioctl, []

    def ioctl(descriptor: int, request: int, argument: Any = 0, *rest: Any) -> Any:
        kept = bytes(argument) if isinstance(argument, bytearray) else argument
        found.append((request, os.readlink(b"/proc/self/fd/%d" % descriptor), kept))
        return usual(descriptor, request, argument, *rest)

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    return found


def test_a03_content_is_never_replaced_unseen(
    shared: Path, journal: Path, asked: list[tuple[int, bytes, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A victim that changes after our comparison keeps its content: only the call that compares is made of it."""
    marks = copies(shared, {"one": (["a"], ["b", "c"])}, size=BLOCKS)
    usual = reflink.Reflink.aside

    def written_before(self: reflink.Reflink, item: Any) -> None:
        if item.name.name == b"b":
            with (shared / "b").open("r+b") as file:  # as a program without a lease in its way would
                file.write(b"changed")
        usual(self, item)

    monkeypatch.setattr(reflink.Reflink, "aside", written_before)
    monkeypatch.setattr("dedupe.storage.lease._take", lambda _: False)
    tally = act(marks, ActionName.REFLINK, journal)
    assert (tally.done, len(reasons(tally))) == (1, 1)
    assert (shared / "b").read_bytes()[:7] == b"changed"
    assert not [path for request, path, _ in asked if request == CLONE]
    assert [request for request, _, _ in asked].count(SHARE) >= 2


def test_a03_a_clone_is_made_into_a_new_file_only(
    shared: Path, journal: Path, asked: list[tuple[int, bytes, object]]
) -> None:
    """Undo copies blocks by FICLONE into a file of its own, which is compared before it takes the name."""
    marks = copies(shared, {"one": (["a"], ["b"])}, size=BLOCKS)
    before = snapshot(shared)
    act(marks, ActionName.DELETE, journal)
    take_back(journal)
    assert snapshot(shared) == before
    (path,) = [path for request, path, _ in asked if request == CLONE]
    assert os.path.basename(path).startswith(b".dedupe-")


@pytest.mark.parametrize("action", ACTIONS)
def test_a47_a_file_that_is_read_only_goes_and_comes_back_so(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """Its mode keeps nobody from its name, and undo gives it back; a flag that does is named, not fought."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    for name in "ab":
        (top / name).chmod(0o444)
    before = snapshot(top)
    assert act(marks, action, journal, target=tmp_path / "target").done == 1
    take_back(journal)
    assert snapshot(top) == before


@pytest.mark.parametrize("action", ACTIONS)
def test_a47_the_flag_that_forbids_it_is_named(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """Not "access denied" for two months of guessing."""
    need_root()
    need(shutil.which("chattr"), "chattr of e2fsprogs")
    with disks.disk(tmp_path / "image", tmp_path / "disk") as made:
        marks = copies(made.folder / "top", {"one": (["a"], ["b"])})
        disks.run("chattr", "+i", made.folder / "top/b")
        try:
            (reason,) = reasons(act(marks, action, journal, target=made.folder / "target"))
        finally:
            disks.run("chattr", "-i", made.folder / "top/b")
    assert "immutable" in reason


def test_a54_one_file_a_call(shared: Path, journal: Path, asked: list[tuple[int, bytes, object]]) -> None:
    """However many victims there are, each call names one: request and answer fit any page."""
    marks = copies(shared, {"one": (["a"], [f"b{n}" for n in range(150)])}, size=BLOCKS // 4)
    assert act(marks, ActionName.REFLINK, journal).done == 150
    calls = [passed for request, _, passed in asked if request == SHARE]
    assert len(calls) >= 150
    for passed in calls:
        assert isinstance(passed, bytes)
        assert (len(passed), struct.unpack_from("=QQH", passed)[2]) == (56, 1)


def test_a61_the_probe_has_real_data(shared: Path, asked: list[tuple[int, bytes, object]]) -> None:
    """An empty file would be accepted by file systems that refuse all others."""
    shared.mkdir()
    assert sharing.can_share(os.fsencode(shared)) is None
    lengths = [struct.unpack_from("=QQ", p)[1] for request, _, p in asked if request == SHARE and isinstance(p, bytes)]
    assert min(lengths) >= 64 << 10
    assert not list(shared.iterdir())


def test_a61_data_that_is_not_on_the_disk_yet_is_written_first(
    shared: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EAGAIN is answered by writing both files and asking once more; a second one is told."""
    marks = copies(shared, {"one": (["a"], ["b"])}, size=BLOCKS)
    usual, answers, synced = sharing._ask, [], []

    def not_yet(*args: Any) -> int:
        answers.append(args)
        if len(answers) == 1:
            raise BlockingIOError(errno.EAGAIN, "not on the disk")
        return usual(*args)

    monkeypatch.setattr(reflink.sharing, "can_share", lambda _: None)
    monkeypatch.setattr(sharing, "_ask", not_yet)
    monkeypatch.setattr(sharing.os, "fsync", synced.append)
    assert act(marks, ActionName.REFLINK, journal).done == 1
    assert len(set(synced)) >= 2

    def never(*_: object) -> int:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(sharing, "_ask", never)
    write(shared / "c", content("two", BLOCKS))
    again = copies(shared, {"two": (["c"], ["d"])}, size=BLOCKS)
    assert len(act(again, ActionName.REFLINK, journal).failed) == 1


@pytest.mark.parametrize("action", [*ACTIONS, ActionName.REFLINK])
def test_a63_what_stays_is_read_again_where_that_is_asked(
    tmp_path: Path, journal: Path, action: ActionName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--verify: a file system that damages what it shares is told; kernel and file system are in the journal."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", "btrfs") as made:
        marks = copies(made.folder / "top", {"one": (["a"], ["b"])}, size=BLOCKS)
        good = act(marks, action, journal, target=made.folder / "target", verify=True)
        assert (good.done, reasons(good)) == (1, [])
        (path,) = journal.iterdir()
        head, intent = [json.loads(line) for line in path.read_bytes().splitlines()[:2]]
        assert head["system"] == f"{os.uname().sysname} {os.uname().release}"
        assert intent["file_system"] == "btrfs"
        marks = copies(made.folder / "top2", {"two": (["a"], ["b"])}, size=BLOCKS)
        monkeypatch.setattr("dedupe.actions.afterwards.reads_as", lambda *_: False)
        assert "reads differently" in reasons(act(marks, action, journal, target=made.folder / "t2", verify=True))[0]


@pytest.mark.parametrize("action", ACTIONS)
def test_a77_the_cost_of_a_file_is_a_few_calls(
    tmp_path: Path, journal: Path, action: ActionName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No program is started, and syncs are counted by batches and folders, not by files."""
    marks = copies(tmp_path / "top", {str(n): ([f"a/{n}"], [f"b/{n}"]) for n in range(300)}, size=100)
    for path in (tmp_path / "top").rglob("*"):
        os.utime(path, ns=(10**18, 10**18))
    monkeypatch.setattr("dedupe.actions.keepers._RECENT", 0)  # those of a moment ago cost one each
    usual, synced, started = os.fsync, [], []

    def fsync(descriptor: int) -> None:
        synced.append(descriptor)
        usual(descriptor)

    def hear(event: str, _: object) -> None:
        if listening and event in ("subprocess.Popen", "os.exec", "os.fork", "os.posix_spawn", "os.system"):
            started.append(event)

    listening = [True]
    sys.addaudithook(hear)  # for ever: it can be deaf, not gone
    monkeypatch.setattr(os, "fsync", fsync)
    assert act(marks, action, journal, target=tmp_path / "target").done == 300
    listening.clear()
    assert started == []
    assert len(synced) < 60


def test_a82_a_dry_run_speaks_our_verbs(cli: Callable[..., subprocess.CompletedProcess[bytes]], tmp_path: Path) -> None:
    """It is the same text but for "would be", names no command, and refuses what the act refuses."""
    for name in ("a/1", "b/1", "a/2", "b/2"):
        write(tmp_path / "top" / name, content(name[-1]))
    cli("scan", "top", "--no-cache", "--output", "r.json")
    (tmp_path / "top/b/2").write_bytes(content("x"))
    rules = ("apply", "r.json", "--prefer", "top/a")
    for action in ("--trash", "--delete", "--hardlink"):
        dry = cli(*rules, action, "--dry-run")
        real = cli(*rules, action, "--yes")
        assert dry.returncode == real.returncode == 3
        told, done = (run.stderr.decode().replace("would be ", "") for run in (dry, real))
        assert [line for line in told.splitlines() if line not in done] == []
        assert not re.search(r"\b(rm|mv|ln|cp|unlink)\b", dry.stderr.decode())
        cli("undo")


def test_a82_a_dry_run_refuses_where_no_trash_can_be_had(tmp_path: Path, journal: Path) -> None:
    """And where nothing can be changed at all, before anybody says yes."""
    with disks.mounted(tmp_path / "memory", "-t", "tmpfs", "tmpfs") as folder:
        marks = tree(folder / "top")
        write(folder / f".Trash-{os.geteuid()}", b"in the way")
        tally = act(marks, ActionName.TRASH, journal, dry_run=True)
        assert (tally.done, len(tally.refused)) == (0, 3)
        disks.run("mount", "-o", "remount,ro", folder)
        for action in ACTIONS:
            tally = act(marks, action, journal, target=folder / "target", dry_run=True)
            assert (tally.done, len(tally.refused)) == (0, 3), action


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("action", ACTIONS)
def test_a85_a_file_system_without_flags_of_rename(
    tmp_path: Path,
    journal: Path,
    action: ActionName,
    links: bool,  # noqa: FBT001 - a parameter of the test
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """NFS, FUSE, exFAT: by a link, or, where there are none, by a claimed name; nothing is ever replaced."""
    if not links and action is ActionName.HARDLINK:
        return  # what makes links needs them

    def no_flags(*_: object) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    def no_links(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(rename, "_rename_with", no_flags)
    if not links:
        monkeypatch.setattr(rename.os, "link", no_links)
    top, target = tmp_path / "top", tmp_path / "target"
    marks = tree(top)
    write(target / "top/go/b", b"somebody's own")
    before, held = snapshot(top), contents(top)
    tally = act(marks, action, journal, target=target)
    assert tally.done == (2 if action is ActionName.MOVE_TO else 3), reasons(tally)
    places = [top, target, Path(os.environ["XDG_DATA_HOME"]) / "Trash/files"]
    assert held <= contents(*places)
    assert (target / "top/go/b").read_bytes() == b"somebody's own"
    assert reasons(take_back(journal)) == []
    assert snapshot(top) == before
    assert not [path for place in places for path in place.rglob(".dedupe-*")]


def test_a10_a_keeper_that_goes_at_the_last_moment_costs_nothing(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Removed between the last look and the removal of its copy: the copy is made again, from what is open still."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])}, size=BLOCKS + 5)
    (top / "b").chmod(0o640)
    os.setxattr(top / "b", "user.note", b"mine")
    before = snapshot(top)["b"]
    usual = Delete.commit

    def gone(self: Delete, item: Any) -> None:
        (top / "a").unlink()
        usual(self, item)

    monkeypatch.setattr(Delete, "commit", gone)
    tally = act(marks, ActionName.DELETE, journal)
    assert tally.done == 0
    assert "it was made again" in reasons(tally)[0]
    assert snapshot(top) == {"b": before}
