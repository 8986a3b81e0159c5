"""One physical file counts once: overlapping roots, links, bind mounts, equal inode numbers, twins of names."""

from __future__ import annotations

import hashlib
import itertools
import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dedupe.files.table import FileTable
from dedupe.scan.unite import unite_hard_links
from dedupe.storage.file_stat import FileStat
from dedupe.storage.opener import Opener
from tests.cases.common import JOBS, LINKS, find, found, need_root, not_on_windows, settle
from tests.conftest import groups, write
from tests.disks import unmount
from tests.made_volumes import mount

_N = 5000


@pytest.fixture
def mounted() -> Iterator[Callable[..., None]]:
    """Return a function that mounts, and unmount it all in the end."""
    need_root()
    points: list[Path] = []

    def mount(point: Path, *args: str | Path) -> None:
        if not point.is_file():
            point.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", *args, point], check=True)
        points.append(point)

    yield mount
    for point in reversed(points):
        unmount(point)


@pytest.mark.parametrize("confirm", ["sha256", "bytes"])
@pytest.mark.parametrize("jobs", JOBS)
def test_b40_overlapping_and_repeated_roots(tmp_path: Path, jobs: int, confirm: str) -> None:
    """However often and by whatever names the roots reach a file, it is no duplicate of itself and counts once."""
    write(tmp_path / "r/s/f", os.urandom(_N))
    (tmp_path / "lnk").symlink_to("r")
    (tmp_path / "file_lnk").symlink_to("r/s/f")
    r = tmp_path / "r"
    names = [r, r / "s", f"{r}/.", f"{r}/", f"{r}//s", r / "s/../s", tmp_path / "lnk", r / "s/f", tmp_path / "file_lnk"]
    for roots in (names, names[::-1], [r / "s/f", r / "s/f"], [r / "s", r], [tmp_path, *names]):
        result = find(*map(Path, roots), jobs=jobs, confirm=confirm)
        assert not result.groups
        assert (result.totals.files, result.totals.bytes) == (1, _N)


def test_b40_overlapping_roots_as_typed(scan_json: Any, tmp_path: Path) -> None:
    """The program unites roots that are typed in several ways, relative ones too, and lists each path once."""
    write(tmp_path / "r/s/f", os.urandom(_N))
    write(tmp_path / "r/g", (tmp_path / "r/s/f").read_bytes())
    (tmp_path / "lnk").symlink_to("r")
    report = scan_json("r", "r/s", "r/.", "r/", "./r", "lnk", "r/s/f", "../" + tmp_path.name, "--no-cache")
    assert len(report["groups"]) == 1
    files = report["groups"][0]["files"]
    assert len(files) == 2
    paths = [p for f in files for p in (f["path"], *f["links"])]
    assert len(paths) == len(set(paths))
    assert report["totals"]["reclaimable_bytes"] == _N


def test_b40_without_inode_numbers_a_path_is_itself() -> None:
    """Where the file system has no inode numbers, one path listed twice is one file, and two paths are two."""
    table = FileTable()
    for name in (b"f", b"f", b"g"):
        table.add(table.enter(b"/d", mount()), name, FileStat(1, 1, 1, 0))
    united = unite_hard_links(table, [range(3)], Opener())
    assert ([list(s) for s in united.sets], united.names, united.files) == ([[0, 2]], {}, 1) or (
        [list(s) for s in united.sets] == [[1, 2]] and united.files == 1
    )


def test_b41_bind_mounts(tmp_path: Path, mounted: Any) -> None:
    """A file that a bind mount shows at a second path, with one link, is one file."""
    write(tmp_path / "a/f", os.urandom(_N))
    mounted(tmp_path / "b", "--bind", tmp_path / "a")
    mounted(tmp_path / "a/inner", "--bind", tmp_path / "a")
    for roots in ((tmp_path,), (tmp_path / "a", tmp_path / "b"), (tmp_path / "b/f", tmp_path / "a/f")):
        for options in ({}, {"follow_symlinks": True}):
            result = find(*roots, **options)
            assert not result.groups
            assert result.totals.files == 1


@pytest.mark.parametrize("order", list(itertools.permutations("123")))
def test_b43_hard_links_are_links_in_every_order(tmp_path: Path, order: tuple[str, ...]) -> None:
    """Hard links are one file with other names, whatever the order of the roots."""
    write(tmp_path / "1/A", b"A" * _N)
    write(tmp_path / "2/A2", b"A" * _N)
    (tmp_path / "3").mkdir()
    os.link(tmp_path / "1/A", tmp_path / "3/A3")
    result = find(*(tmp_path / n for n in order))
    assert found(result, tmp_path) == {frozenset({"1/A", "2/A2"})}
    assert [[os.path.basename(p) for p in f.links] for f in result.groups[0].files] == [[b"A3"], []]
    assert result.totals.reclaimable_bytes == _N


def test_b44_reclaimable_bytes_count_physical_files(tmp_path: Path) -> None:
    """What can be reclaimed is size times (physical files - 1), however many names each has."""
    for n in range(3):
        first = write(tmp_path / f"{n}/f", b"A" * _N)
        for k in range(n * 2):
            os.link(first, tmp_path / f"{n}/l{k}")
    result = find(tmp_path)
    assert [(len(g.files), g.reclaimable_bytes) for g in result.groups] == [(3, 2 * _N)]
    assert result.totals.redundant_files == 2
    outside = find(tmp_path / "0", tmp_path / "2/l1")
    assert outside.totals.reclaimable_bytes == _N


def test_b46_equal_inode_numbers_on_two_devices(tmp_path: Path, mounted: Any) -> None:
    """Files of two file systems with one inode number are two files, equal or not."""
    for point in ("m1", "m2"):
        mounted(tmp_path / point, "-t", "tmpfs", "none")
        write(tmp_path / point / "f", b"A" * _N)
        write(tmp_path / point / "g", point.encode() * _N)
    assert os.stat(tmp_path / "m1/f").st_ino == os.stat(tmp_path / "m2/f").st_ino
    result = find(tmp_path)
    assert found(result, tmp_path) == {frozenset({"m1/f", "m2/f"})}
    assert result.totals.files == 4
    assert find(tmp_path, one_file_system=True).totals.skipped == {"other-file-system": 2}


def test_b46_a_file_system_swapped_below_the_cache(tmp_path: Path, mounted: Any) -> None:
    """Another file system at the same mount point, with equal inode numbers, is not served from the cache."""
    from tests.cases.common import settle

    size = 300 << 10
    for side, data in (("m1", b"A"), ("m2", b"B")):
        mounted(tmp_path / side, "-t", "tmpfs", "none")
        for name, middle in (("f", b"A"), ("g", data)):
            write(tmp_path / side / name, b"x" * 99_999 + middle + b"x" * (size - 100_000))
            os.utime(tmp_path / side / name, ns=(10**18, 10**18))
    settle()
    cache, seen = tmp_path / "c.db", tmp_path / "seen"
    mounted(seen, "--bind", tmp_path / "m1")
    assert found(find(seen, cache=cache), seen) == {frozenset("fg")}
    assert find(seen, cache=cache).totals.bytes_read == 0
    mounted(seen, "--bind", tmp_path / "m2")
    assert not find(seen, cache=cache).groups


@not_on_windows(LINKS)
@pytest.mark.parametrize("follow", [False, True])
def test_b48_symlink_loops(tmp_path: Path, follow: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Links in circles, to themselves and to nowhere neither hang a scan nor show a file twice."""
    write(tmp_path / "d/f", b"A" * _N)
    write(tmp_path / "g", b"A" * _N)
    for name, target in (("l1", ".."), ("l2", ".."), ("l3", "l3"), ("l4", "nowhere"), ("l5", "f"), ("l6", "l5")):
        (tmp_path / "d" / name).symlink_to(target)
    (tmp_path / "up").symlink_to(tmp_path.parent / tmp_path.name)
    result = find(tmp_path, follow_symlinks=follow)
    assert [len(g.files) for g in result.groups] == [2]
    assert result.totals.files == 2
    assert [str(p.kind) for p in result.problems] == (["link-loop"] if follow else [])
    assert find(tmp_path / "d", follow_symlinks=follow).totals.files == (2 if follow else 1)


@not_on_windows(LINKS)
def test_b48_a_root_that_is_a_loop(cli: Any, tmp_path: Path) -> None:
    """A root that links to itself is told, and ends a scan of nothing else with exit code 1."""
    (tmp_path / "l").symlink_to("l")
    done = cli("scan", "l", "--no-cache")
    assert done.returncode == 1
    assert b"leads back to itself" in done.stderr


def test_b50_composed_and_decomposed_names_are_two_files(scan_json: Any, tmp_path: Path) -> None:
    """Names that look alike but differ in their bytes are two files where the file system says so."""
    import sys

    for name in ("e\u0301.bin", "\u00e9.bin"):
        write(tmp_path / name, b"A" * _N)
    report = scan_json(tmp_path, "--no-cache")
    twins = {str(tmp_path / "e\u0301.bin"), str(tmp_path / "\u00e9.bin")}
    assert groups(report) == (set() if sys.platform == "darwin" else {frozenset(twins)})


@pytest.mark.parametrize("options", [{}, {"one_file_system": True}])
def test_f1_a_mount_below_a_linked_root_is_no_hard_link(tmp_path: Path, mounted: Any, options: dict[str, Any]) -> None:
    """Where a root was reached through a link, what is mounted below it is told as mounted all the same."""
    write(tmp_path / "data/a/f", os.urandom(_N))
    write(tmp_path / "data/copy", (tmp_path / "data/a/f").read_bytes())
    mounted(tmp_path / "data/b", "--bind", tmp_path / "data/a")
    (tmp_path / "l").symlink_to("data")
    (group,) = find(tmp_path / "l", **options).groups
    assert [(len(f.links), len(f.mounted)) for f in group.files] == [(0, 1), (0, 0)]


def test_f1_a_file_mounted_over_another_is_no_hard_link(tmp_path: Path, mounted: Any) -> None:
    """A single file may be mounted, as in containers: removing what it shows would remove the only one."""
    write(tmp_path / "d/m", os.urandom(_N))
    write(tmp_path / "d/copy", (tmp_path / "d/m").read_bytes())
    mounted(write(tmp_path / "d/n", b""), "--bind", tmp_path / "d/m")
    for roots in ((tmp_path / "d",), (tmp_path / "d/copy", tmp_path / "d/n", tmp_path / "d/m")):
        (group,) = find(*roots).groups
        assert sum(len(f.links) for f in group.files) == 0
        assert sum(len(f.mounted) for f in group.files) == 1


def test_f8_hash_remembers_nothing_of_a_mounted_file_as_one_of_its_folder(
    tmp_path: Path, mounted: Any, cli: Any
) -> None:
    """A file of another volume that is mounted over one has no place in the volume of the folder that shows it."""
    mounted(tmp_path / "other", "-t", "tmpfs", "none")
    write(tmp_path / "other/m", b"mounted" * 999)
    mounted(write(tmp_path / "d/n", b"below"), "--bind", tmp_path / "other/m")
    settle()
    done = cli("hash", "--cache", tmp_path / "c.db", "d/n")
    assert done.stdout.startswith(hashlib.sha256(b"mounted" * 999).hexdigest().encode())
    with sqlite3.connect(tmp_path / "c.db") as database:
        assert database.execute("SELECT count(*) FROM files").fetchone() == (0,)
    database.close()
