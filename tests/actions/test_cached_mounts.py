"""One file under a mount that remembers it and keeps no time of change: clouds, servers, and folders shown by programs.

Nothing that it tells proves that its file is another one: dates of copies are equal too, and what it remembers is
read after the file itself has gone.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dedupe.actions import apart
from dedupe.actions.apply import ActionName
from tests import disks
from tests.actions.common import ON_LINUX, act, content, marked, reasons
from tests.actions.test_two_mounts import by_program
from tests.cases.common import need_root
from tests.conftest import need, write

pytestmark = ON_LINUX
OLD = 1_500_000_000_123_456_789
GONE = [ActionName.DELETE, ActionName.TRASH]
CACHES = [(), ("--vfs-cache-mode", "full"), ("--no-modtime",)]


@contextmanager
def served(folder: Path) -> Iterator[list[str]]:
    """Yield what rclone is to mount: a folder by way of a server, which tells dates in whole seconds."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    server = subprocess.Popen(
        ["rclone", "serve", "webdav", "--addr", address, folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(300):
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", int(address.rpartition(":")[2]))) == 0:
                    break
            time.sleep(0.1)
        yield [":webdav:", "--webdav-url", f"http://{address}", "--webdav-vendor", "other"]
    finally:
        server.terminate()
        server.wait()


@contextmanager
def cloud(top: Path, by: str, *options: str) -> Iterator[tuple[Path, Path]]:
    """Yield a folder, and what rclone shows of it."""
    need_root()
    need(shutil.which("rclone"), "rclone")
    need(os.path.exists("/dev/fuse"), "FUSE")
    real, there = top / "real", top / "cloud"
    real.mkdir(parents=True)
    there.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RCLONE_CONFIG", str(top / "rclone.conf"))
        (top / "rclone.conf").touch()
        with served(real) as remote:
            source = remote if by == "server" else [str(real)]
            disks.run("rclone", "mount", *source, there, "--daemon", "--cache-dir", top / "cached", *options)
            try:
                yield real, there
            finally:
                disks.unmount(there)


def old(path: Path, word: str = "one") -> Path:
    """Make a file with an old date, as its copies have it."""
    write(path, content(word))
    os.utime(path, ns=(OLD, OLD))
    return path


def temporary(*tops: Path) -> list[Path]:
    """Return what dedupe left for the time being."""
    return [path for top in tops for path in top.rglob(".dedupe-*")]


@pytest.mark.parametrize("action", GONE)
@pytest.mark.parametrize("options", CACHES)
@pytest.mark.parametrize("by", ["program", "server"])
def test_the_only_copy_stays(
    tmp_path: Path, journal: Path, action: ActionName, options: tuple[str, ...], by: str
) -> None:
    """Whichever of the two is marked, it is the same file by way of the mount, and the mount has no times of change."""
    with cloud(tmp_path / "top", by, *options) as (real, there):
        old(real / "in/photo")
        marks = marked(tmp_path / "top", {"one": (["cloud/in/photo"], ["real/in/photo"])})
        tally = act(marks, action, journal)
        assert tally.done == 0
        assert "same file as a copy that stays, by way of another mount" in reasons(tally)[0]
        marks = marked(tmp_path / "top", {"one": (["real/in/photo"], ["cloud/in/photo"])})
        assert act(marks, action, journal).done == 0
        assert (real / "in/photo").read_bytes() == content("one")
        assert temporary(real, there) == []


def test_by_any_of_its_names(tmp_path: Path, journal: Path) -> None:
    """A file goes with all of its names: if the mount shows one of them it is the same."""
    with cloud(tmp_path / "top", "program") as (real, _):
        os.link(old(real / "a/photo"), write(real / "b/other", b"").with_name("photo"))
        marks = marked(tmp_path / "top", {"one": (["cloud/a/photo"], ["real/b/photo", "real/a/photo"])})
        assert act(marks, ActionName.DELETE, journal).done == 0
        assert (real / "a/photo").exists()


@pytest.mark.parametrize("by", ["rclone", "bindfs", "mergerfs"])
def test_a_copy_elsewhere_is_one(tmp_path: Path, journal: Path, by: str) -> None:
    """Of equal date, as `cp -p` makes it: a folder made in the one place does not show in the other."""
    made = cloud(tmp_path / "top", "server") if by == "rclone" else _shown(tmp_path / "top", by)
    with made as (real, there):
        old(real / "in/photo")
        old(tmp_path / "top/other/photo")
        marks = marked(tmp_path / "top", {"one": ([str(there / "in/photo")], ["other/photo"])})
        tally = act(marks, ActionName.DELETE, journal, dry_run=True)
        assert "a dry run makes no folder" in reasons(tally)[0]
        tally = act(marks, ActionName.DELETE, journal)
        assert (tally.done, reasons(tally)) == (1, [])
        assert temporary(tmp_path) == []


@contextmanager
def _shown(top: Path, program: str) -> Iterator[tuple[Path, Path]]:
    (top / "here").mkdir(parents=True)
    with by_program(top, program) as found:
        yield found


def test_what_cannot_be_found_out_is_refused(tmp_path: Path, journal: Path) -> None:
    """By a mount that is read-only no folder can be made: that is told, and nothing is done."""
    with cloud(tmp_path / "top", "program", "--read-only") as (real, _):
        old(real / "photo")
        old(tmp_path / "top/other/photo")
        marks = marked(tmp_path / "top", {"one": (["cloud/photo"], ["other/photo"])})
        tally = act(marks, ActionName.DELETE, journal)
        assert tally.done == 0
        assert "no folder could be made" in reasons(tally)[0]


def test_a_mount_that_remembers_names_is_not_asked_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it does not show may be there all the same: of two such mounts nothing can be found out."""
    monkeypatch.setattr(apart, "_kind", lambda _: "fuse.rclone")
    assert "both mounts may remember" in apart.Folders(may_try=True).reason(b"/a", b"/b")
    assert list(tmp_path.iterdir()) == []


def test_copies_are_counted_once(tmp_path: Path, journal: Path) -> None:
    """A file that stays, and itself by way of such a mount, are one copy that stays."""
    with cloud(tmp_path / "top", "server") as (real, _):
        old(real / "photo")
        write(tmp_path / "top/other/photo", content("one"))
        marks = marked(tmp_path / "top", {"one": (["real/photo", "cloud/photo"], ["other/photo"])})
        tally = act(marks, ActionName.DELETE, journal, copies=2)
        assert tally.done == 0
        assert "only 1 of 2 copies would stay" in reasons(tally)[0]
