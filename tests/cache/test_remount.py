"""Real disks, mounted again and elsewhere: what was remembered of them is known, and clones that part ways are told."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cases.common import need_root, settle
from tests.conftest import need, write
from tests.disks import KINDS, run, unmount

_SAME = b"A" * 300_000  # more than what samples cover, so that a digest matters
_LIKE = b"A" * 150_000 + b"B" + b"A" * 149_999  # equal in every sample


@contextmanager
def attached(image: Path, point: Path, *options: str, skip: int = 0) -> Iterator[str]:
    """Mount an image; `skip`: loop devices that are taken before, so that it gets another number."""
    taken: list[str] = []
    point.mkdir(exist_ok=True)
    try:
        while len(taken) <= skip:
            taken += [run("losetup", "--find", "--show", image).strip()]
        run("mount", *options, taken[-1], point)
        try:
            yield taken[-1]
        finally:
            unmount(point)
    finally:
        for device in taken:
            run("losetup", "--detach", device)


@pytest.fixture(params=["ext4", "xfs", "btrfs"])
def image(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Make the image of a disk with some files, equal and not."""
    need_root()
    need(os.path.exists("/dev/loop-control") and shutil.which("losetup"), "loop devices")
    size, maker = KINDS[request.param]
    need(shutil.which(maker[0]), f"{maker[0]}, to make a file system of that kind")
    made = tmp_path / "disk.img"
    run("truncate", "-s", size, made)
    run(*maker, made)
    with attached(made, tmp_path / "first"):
        for name, data in (("a", _SAME), ("sub/b", _SAME), ("sub/c", _LIKE), ("sub/deep/d", _SAME)):
            write(tmp_path / "first" / "top" / name, data)
    settle()
    return made


@pytest.fixture
def scanned(
    tmp_path: Path, scan_json: Callable[..., dict[str, Any]]
) -> Callable[[Path], tuple[set[frozenset[str]], int]]:
    """Return a function that scans a folder with one cache, and tells the groups below it and the bytes read."""

    def scan(folder: Path) -> tuple[set[frozenset[str]], int]:
        report = scan_json(folder, "--cache", tmp_path / "c.db")
        assert report["notes"] == []
        found = {frozenset(os.path.relpath(f["path"], folder) for f in g["files"]) for g in report["groups"]}
        return found, report["totals"]["bytes_read"]

    return scan


Scanned = Callable[[Path], tuple[set[frozenset[str]], int]]
_GROUPS = {frozenset({"a", "sub/b", "sub/deep/d"})}


@pytest.fixture
def known(image: Path, tmp_path: Path, scanned: Scanned) -> Path:
    """Have the disk scanned at one place until nothing of it need be read."""
    with attached(image, tmp_path / "m1"):
        for _ in range(2):  # the first leaves out digests that it does not need
            scanned(tmp_path / "m1" / "top")
        assert scanned(tmp_path / "m1" / "top") == (_GROUPS, 0)
    return image


@pytest.mark.parametrize("skip", [0, 2])
@pytest.mark.parametrize("point", ["m1", "m2"])
def test_f8_a_disk_is_known_again(known: Path, tmp_path: Path, scanned: Scanned, point: str, skip: int) -> None:
    """Mounted again at the same or another place, by the same or another loop device: not a byte is read."""
    with attached(known, tmp_path / point, skip=skip):
        assert scanned(tmp_path / point / "top") == (_GROUPS, 0)


def test_f8_a_disk_on_another_computer(known: Path, tmp_path: Path, cli: Any, scanned: Scanned) -> None:
    """An export tells another cache what is known; the disk at another place there need not be read."""
    assert cli("cache", "export", "e.db", "--cache", "c.db").returncode == 0
    (tmp_path / "c.db").unlink()
    assert cli("cache", "import", "e.db", "--cache", "c.db").returncode == 0
    with attached(known, tmp_path / "elsewhere", skip=1):
        assert scanned(tmp_path / "elsewhere" / "top") == (_GROUPS, 0)


def test_f8_renamed_and_moved_folders(known: Path, tmp_path: Path, scanned: Scanned) -> None:
    """A folder under another name, or inside another one: its files are known by their numbers, and then by path."""
    with attached(known, tmp_path / "m1"):
        os.rename(tmp_path / "m1" / "top", tmp_path / "m1" / "renamed")
        for _ in range(2):
            assert scanned(tmp_path / "m1" / "renamed") == (_GROUPS, 0)
        (tmp_path / "m1" / "archive").mkdir()
        os.rename(tmp_path / "m1" / "renamed", tmp_path / "m1" / "archive" / "2020")
        assert scanned(tmp_path / "m1" / "archive" / "2020") == (_GROUPS, 0)


def test_f8_bind_mounts(known: Path, tmp_path: Path, scanned: Scanned) -> None:
    """A folder of the disk that is mounted at another place shows the same files."""
    point = tmp_path / "bound"
    point.mkdir()
    with attached(known, tmp_path / "m1"):
        run("mount", "--bind", tmp_path / "m1" / "top", point)
        try:
            assert scanned(point) == (_GROUPS, 0)
        finally:
            unmount(point)


def test_a_changed_file_is_read_after_a_remount(known: Path, tmp_path: Path, scanned: Scanned) -> None:
    """An edit that put the time of modification back is seen, wherever the disk was mounted meanwhile."""
    with attached(known, tmp_path / "other"):
        _edit(tmp_path / "other" / "top" / "sub" / "b")
    with attached(known, tmp_path / "m1"):
        assert scanned(tmp_path / "m1" / "top")[0] == {frozenset({"a", "sub/deep/d"}), frozenset({"sub/b", "sub/c"})}


def _edit(path: Path) -> None:
    """Change a byte in no sample, and put the time of modification back."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(150_000)
        file.write(b"B")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


_PARTED = {frozenset({"a", "sub/deep/d"}), frozenset({"sub/b", "sub/c"})}


def test_clones_that_part_ways_one_after_the_other(known: Path, tmp_path: Path, scanned: Scanned) -> None:
    """Two disks of one identity: what one taught is believed of the other while it is true of both."""
    clone = tmp_path / "clone.img"
    shutil.copy(known, clone)
    with attached(clone, tmp_path / "m1"):
        assert scanned(tmp_path / "m1" / "top") == (_GROUPS, 0)
        _edit(tmp_path / "m1" / "top" / "sub" / "b")
    settle()
    for _ in range(2):
        for image, want in ((clone, _PARTED), (known, _GROUPS), (known, _GROUPS), (clone, _PARTED)):
            with attached(image, tmp_path / "m1"):
                assert scanned(tmp_path / "m1" / "top")[0] == want


@pytest.mark.parametrize("image", ["ext4", "xfs"], indirect=True)  # btrfs mounts no clone beside its original
def test_clones_that_part_ways_at_once(known: Path, tmp_path: Path, scan_json: Any) -> None:
    """Both mounted together: no group joins files that differ, scan after scan."""
    clone = tmp_path / "clone.img"
    shutil.copy(known, clone)
    options = ["-o", "nouuid"] if _kind(known) == "xfs" else []
    with attached(known, tmp_path / "m1", *options), attached(clone, tmp_path / "m2", *options):
        _edit(tmp_path / "m2" / "top" / "sub" / "b")
        settle()
        for _ in range(3):
            report = scan_json(tmp_path / "m1" / "top", tmp_path / "m2" / "top", "--cache", tmp_path / "c.db")
            found = {frozenset(os.path.relpath(f["path"], tmp_path) for f in g["files"]) for g in report["groups"]}
            same = {f"m{n}/top/{name}" for n in (1, 2) for name in ("a", "sub/deep/d")} | {"m1/top/sub/b"}
            assert found == {frozenset(same), frozenset({"m1/top/sub/c", "m2/top/sub/c", "m2/top/sub/b"})}


@pytest.mark.parametrize("image", ["ext4"], indirect=True)
def test_clones_edited_in_one_tick_of_the_clock(known: Path, tmp_path: Path, scan_json: Any) -> None:
    """Files alike in all that a stat tells, and different in content, are never taken for each other."""
    clone = tmp_path / "clone.img"
    shutil.copy(known, clone)
    with attached(known, tmp_path / "m1"), attached(clone, tmp_path / "m2"):
        for n in range(40):
            for disk, letter in ((tmp_path / "m1", b"A"), (tmp_path / "m2", b"B")):
                (disk / "top" / f"p{n}").write_bytes(letter + b"%048d" % n)
        settle()
        for roots in (["m1/top", "m2/top"], ["m1/top"], ["m2/top"], ["m1/top", "m2/top"]):
            for options in (["--cache", tmp_path / "c.db"], ["--no-cache"]):
                report = scan_json(*(tmp_path / root for root in roots), *options)
                found = [{f["path"] for f in g["files"]} for g in report["groups"]]
                assert not [group for group in found if len(group) > 1 and any("/top/p" in path for path in group)]


def _kind(image: Path) -> str:
    return subprocess.run(
        ["blkid", "-p", "-o", "value", "-s", "TYPE", image], capture_output=True, check=True, text=True
    ).stdout.strip()


def test_prune_asks_each_disk_where_it_is_now(known: Path, tmp_path: Path, cli: Any) -> None:
    """A disk that is away keeps all rows, and one at another place loses those of files that are gone."""
    assert cli("cache", "prune", "--cache", "c.db").stdout == b"dropped 0 files, kept 4\n"
    with attached(known, tmp_path / "elsewhere"):
        (tmp_path / "elsewhere" / "top" / "sub" / "c").unlink()
        assert cli("cache", "prune", "--cache", "c.db").stdout == b"dropped 1 file, kept 3\n"


def test_prune_root_of_a_disk_that_is_gone_for_good(known: Path, tmp_path: Path, cli: Any) -> None:
    """The name that the scanned folder had is enough."""
    assert cli("cache", "prune", "--cache", "c.db", "--root", tmp_path / "m1" / "top" / "sub").stdout == (
        b"dropped 3 files, kept 1\n"
    )
    assert cli("cache", "prune", "--cache", "c.db", "--root", tmp_path / "m1").stdout == b"dropped 1 file, kept 0\n"


def test_prune_drops_what_a_tmpfs_held_that_is_no_more(tmp_path: Path, cli: Any, scanned: Scanned) -> None:
    """Its identity ends with the mount: nothing can ever be known again by it."""
    need_root()
    point = tmp_path / "memory"
    point.mkdir()
    run("mount", "-t", "tmpfs", "none", point)
    try:
        for name in "ab":
            write(point / name, _SAME)
        settle()
        scanned(point)
        assert cli("cache", "prune", "--cache", "c.db").stdout == b"dropped 0 files, kept 2\n"
    finally:
        unmount(point)
    assert cli("cache", "prune", "--cache", "c.db").stdout == b"dropped 2 files, kept 0\n"
