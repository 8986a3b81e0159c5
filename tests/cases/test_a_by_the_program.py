"""Public reports of what acting did, by their numbers, told again with the real program on real files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import disks, file_system_kinds
from tests.actions.common import ON_LINUX, content, contents, snapshot
from tests.cases.common import dated, ordinary_user, sparse
from tests.conftest import need, write

if sys.platform != "win32":
    import resource

pytestmark = ON_LINUX
Cli = Callable[..., subprocess.CompletedProcess[bytes]]
ACTIONS = ("--trash", "--delete", "--hardlink")


def _scan(cli: Cli, *roots: str, **options: object) -> None:
    done = cli("scan", *roots, "--no-cache", "--output", "r.json", **options)
    assert done.returncode in (0, 3), done.stderr


def _pairs(top: Path, count: int) -> None:
    """Make files below `keep`, and a copy of each in a folder of its own below `go`."""
    for n in range(count):
        for name in (f"keep/{n}", f"go/{n}/copy"):
            write(top / name, content(f"{n}"))


def test_a12_the_file_of_another_owner(cli: Cli, tmp_path: Path) -> None:
    """Whoever may not link it, or take its name, loses nothing by trying."""
    drop = ordinary_user()
    need(drop, "root, to make files of other owners")
    top = tmp_path / "top"
    _pairs(top, 2)
    for path in (top / "go/1", top / "go/1/copy"):
        os.chown(path, 1, 1)
    (top / "go/1").chmod(0o555)
    _scan(cli, "top")
    before = contents(top)
    for action in ACTIONS:
        done = cli("apply", "r.json", "--prefer", "top/keep", action, "--yes", preexec_fn=drop)
        assert done.returncode == 3, done.stderr
        assert (top / "go/1/copy").exists()
        assert contents(top) == before
        cli("undo", preexec_fn=drop)


def test_a13_hard_links_between_two_file_systems(cli: Cli, tmp_path: Path) -> None:
    """Refused file by file, before the question; all are where they were."""
    top = tmp_path / "top"
    _pairs(top, 3)
    with disks.memory(top / "memory") as other:
        for n in range(3):
            write(other / f"{n}", content(f"{n}"))
        _scan(cli, "top")
        before = snapshot(top)
        done = cli("apply", "r.json", "--prefer", "top/keep", "--hardlink", "--dry-run")
        assert done.returncode == 3
        assert b"Will be left alone: 3 files." in done.stderr
        assert cli("apply", "r.json", "--prefer", "top/keep", "--hardlink", "--yes").returncode == 3
        after = snapshot(top)
        assert {name: found[0] for name, found in after.items()} == {name: found[0] for name, found in before.items()}
        assert [after[f"memory/{n}"] for n in range(3)] == [before[f"memory/{n}"] for n in range(3)]


def test_a26_what_lies_within_one_folder_stays(cli: Cli, tmp_path: Path) -> None:
    """Of copies within A, and in A and B, only those in B go, as that is what was said."""
    for name in ("A/x", "A/y", "B/x", "C/x"):
        write(tmp_path / name, content("one"))
    _scan(cli, "A", "B", "C")
    done = cli("apply", "r.json", "--protect", "A", "--only-in", "B", "--delete", "--yes")
    assert done.returncode == 0, done.stderr
    assert [name for name in ("A/x", "A/y", "B/x", "C/x") if (tmp_path / name).exists()] == ["A/x", "A/y", "C/x"]


@pytest.mark.parametrize("action", ACTIONS)
def test_a31_nothing_acted_on_is_exit_1_with_reasons(cli: Cli, tmp_path: Path, action: str) -> None:
    """The end line counts acted, refused and undecided; zero acted is no success."""
    top = tmp_path / "top"
    for name in ("a", "b", "keep/c"):
        write(top / name, content("one"))
        write(top / f"{name}2", content("two"))
    _scan(cli, "top")
    for name in ("a", "b"):
        write(top / name, content("neither"))
    done = cli("apply", "r.json", "--prefer", "top/keep", action, "--yes")
    (first, *_) = [line for line in done.stderr.splitlines() if re.match(rb"\d+ names? ", line)]
    assert (done.returncode, first.split()[0]) == (3, b"2"), done.stderr
    assert b"Refused: 2 names." in done.stderr
    done = cli("apply", "r.json", "--protect-name", "[ab]", action, "--yes")
    assert (done.returncode, b"Undecided: 1 group" in done.stderr) == (1, True), done.stderr


def test_a44_a_file_system_without_hard_links(cli: Cli, tmp_path: Path) -> None:
    """Told before the question, in one sentence that names what works; and that does work there."""
    with file_system_kinds.mounted(tmp_path, "exfat") as folder:
        for name in ("a", "b", "c"):
            write(folder / name, content("one"))
        _scan(cli, "exfat")
        done = cli("apply", "r.json", "--prefer", "exfat/a", "--hardlink", "--yes")
        assert done.returncode == 1
        assert done.stderr.count(b"has no hard links") == 2, done.stderr
        assert sorted(os.listdir(folder)) == ["a", "b", "c"]
        assert cli("apply", "r.json", "--prefer", "exfat/a", "--move-to", "exfat/out", "--yes").returncode == 0
        assert cli("undo").returncode == 0
        assert {path.read_bytes() for path in folder.iterdir() if path.is_file()} == {content("one")}


def test_a45_as_many_names_as_the_volume_allows(cli: Cli, tmp_path: Path) -> None:
    """On ext4 a file has 65,000 names at most: the next copy takes the names of those that follow; all is one run."""
    with disks.disk(tmp_path / "image", tmp_path / "disk") as made:
        top = made.folder / "top"
        for name in ("a", "b", "c", "d"):
            write(top / name, content("one"))
        (made.folder / "full").mkdir()
        for n in range(65_000 - 2):
            os.link(top / "a", made.folder / "full" / str(n))
        _scan(cli, "disk/top")
        done = cli("apply", "r.json", "--prefer", "disk/top/a", "--hardlink", "--yes")
        assert done.returncode == 0, done.stderr
        inodes = [(top / name).stat().st_ino for name in ("a", "b", "c", "d")]
        assert (inodes[0] == inodes[1], inodes[2] == inodes[3], inodes[1] == inodes[2]) == (True, True, False)


def test_a65_files_that_take_no_blocks_are_not_shared_again(cli: Cli, tmp_path: Path) -> None:
    """Small files lie with their names on btrfs: nothing is gained, nothing claimed, however often."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", "btrfs") as made:
        for name in ("a", "b"):
            write(made.folder / name, content("one", 300))
        _scan(cli, "disk", "--min-size", "1")
        for _ in range(2):
            done = cli("apply", "r.json", "--prefer", "disk/a", "--reflink", "--yes")
            assert (done.returncode, b"0 names made" in done.stderr) == (0, True), done.stderr


@pytest.mark.parametrize("action", ACTIONS)
def test_a72_one_of_many_that_fails_ends_nothing(cli: Cli, tmp_path: Path, action: str) -> None:
    """A file that cannot be had costs its own line; all others are acted on, and come back."""
    top = tmp_path / "top"
    _pairs(top, 5)
    _scan(cli, "top")
    (top / "go/2/copy").unlink()
    (top / "go/2/copy").symlink_to("../../keep/2")
    done = cli("apply", "r.json", "--prefer", "top/keep", action, "--yes")
    assert done.returncode == 3, done.stderr
    assert b"4 names " in done.stderr
    assert b"go/2/copy: is no regular file any more" in done.stderr
    assert cli("undo").returncode == 0
    assert sum(path.is_file() and not path.is_symlink() for path in top.rglob("copy")) == 4


@pytest.mark.parametrize("files", [40, 64])
@pytest.mark.parametrize("action", ["--trash", "--delete", "--move-to"])
def test_few_open_files_are_enough_for_copies_in_many_folders(
    cli: Cli, tmp_path: Path, files: int, action: str
) -> None:
    """Each of many copies may lie in a folder of its own: none is refused for that, none is left behind by undo."""
    top = tmp_path / "top"
    for name in ("keep/x", *(f"go/{n}/copy" for n in range(120))):
        write(top / name, content("one"))
    _pairs(top / "more", 60)
    _scan(cli, "top")
    before = snapshot(top)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    given = (action, "out") if action == "--move-to" else (action,)
    rules = ("--prefer", "top/keep", "--prefer", "top/more/keep")
    done = cli("apply", "r.json", *rules, *given, "--yes", preexec_fn=limit)
    assert (done.returncode, b"180 names " in done.stderr) == (0, True), done.stderr
    done = cli("undo", preexec_fn=limit)
    assert (done.returncode, b"180 names are as before" in done.stderr + done.stdout) == (0, True), done.stderr
    assert snapshot(top) == before


@pytest.mark.parametrize("option", ["--then", "--prefer"])
def test_f1_a_symbolic_link_is_never_the_copy_that_stays(cli: Cli, tmp_path: Path, option: str) -> None:
    """A scan that followed links lists them: the file that they lead to stays, or goes only when that was asked for."""
    top = tmp_path / "d"
    for name in ("m", "z"):
        write(top / name, content("one"))
    (top / "0lnk").symlink_to("m")
    dated([top / "z"], time.time_ns() + 10**9)
    _scan(cli, "d", "--follow-symlinks")
    value = "newest" if option == "--then" else "d/z"
    done = cli("apply", "r.json", option, value, "--delete", "--yes")
    assert (done.returncode, b"a symbolic link leads" in done.stderr) == (1, True), done.stderr
    done = cli("apply", "r.json", option, value, "--delete", "--yes", "--also", "symlink-targets")
    assert done.returncode == 0, done.stderr
    assert ((top / "z").read_bytes(), (top / "m").exists()) == (content("one"), False)
    assert cli("undo").returncode == 0
    assert (top / "0lnk").read_bytes() == content("one")


def test_f9_holes_come_back_as_holes(cli: Cli, tmp_path: Path) -> None:
    """A file of holes that was deleted takes as little room when undo has made it again, and promises no more."""
    top = tmp_path / "top"
    for name in ("keep/s", "go/s"):
        sparse(top / name, 64 << 20, (5 << 20, content("one")))
    taken = (top / "go/s").stat().st_blocks
    before = snapshot(top)
    _scan(cli, "top")
    done = cli("apply", "r.json", "--prefer", "top/keep", "--delete", "--yes")
    assert done.returncode == 0
    assert re.search(rb"\d KiB would become free", done.stderr), done.stderr
    assert cli("undo").returncode == 0
    assert snapshot(top) == before
    assert (top / "go/s").stat().st_blocks * 512 <= taken * 512 + (2 << 20)  # written by the MiB


@pytest.mark.parametrize("given", [b"", b"[]", b"{}", b"\n", b"\xff\xfe", b'{"schema": "dedupe-marks/1"}'])
def test_f7_an_empty_report_is_no_empty_plan(cli: Cli, tmp_path: Path, given: bytes) -> None:
    """What could not be read is told in one sentence: never is it a plan that says nothing needs to be done."""
    (tmp_path / "r.json").write_bytes(given)
    done = cli("apply", "r.json", "--then", "newest", "--trash", "--yes")
    assert done.returncode in (1, 2), done.stderr
    assert (done.stderr.startswith(b"dedupe: "), done.stderr.count(b"\n"), done.stdout) == (True, 1, b"")


@pytest.mark.parametrize(
    "arguments",
    [
        ("apply", "", "--trash", "--yes"),
        ("apply", "r.json", "--prefer", "", "--trash", "--yes"),
        ("apply", "r.json", "--prefer", "top/keep", "--move-to", "", "--yes"),
        ("mark", ""),
        ("undo", ""),
        ("undo", "--to", ""),
    ],
)
def test_f11_an_empty_name_is_no_name(cli: Cli, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """It never means the current folder."""
    _pairs(tmp_path / "top", 1)
    _scan(cli, "top")
    before = snapshot(tmp_path)
    done = cli(*arguments)
    assert (done.returncode, snapshot(tmp_path)) == (2, before), done.stderr
    assert b"Traceback" not in done.stderr


def test_times_of_runs_are_those_of_the_clock_on_the_wall(cli: Cli, tmp_path: Path) -> None:
    """A user compares them with the dates in the trash: both are local; programs get theirs with its offset."""
    _pairs(tmp_path / "top", 1)
    _scan(cli, "top")
    env = {"TZ": "XXX-13:30"}
    assert cli("apply", "r.json", "--prefer", "top/keep", "--trash", "--yes", env=env).returncode == 0
    (date,) = re.findall(rb" (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) ", cli("journal", env=env).stdout)
    told = time.strptime(date.decode(), "%Y-%m-%d %H:%M:%S")
    ahead = time.mktime(told) - time.mktime(time.gmtime())
    assert abs(ahead - 13.5 * 3600) < 120
    assert b'Z", "system"' in cli("journal", "--format", "json", env=env).stdout
