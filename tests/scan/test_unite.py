"""Names of one physical file: found whatever happens meanwhile, each further one with its nature."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.config import ScanConfig
from dedupe.files.table import FileTable
from dedupe.result import NameKind
from dedupe.scan.same_files import same_content
from dedupe.scan.unite import unite_hard_links
from dedupe.storage import file_stat
from dedupe.storage.file_stat import FileStat
from dedupe.storage.opener import Opener
from dedupe.walk.mount_points import located
from dedupe.walk.walker import walk
from dedupe.workers.pool import Pool
from tests.conftest import write
from tests.made_volumes import mount, volume

posix = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege on Windows")
Told = tuple[set[bytes], dict[bytes, list[tuple[bytes, str]]]]


def walked(*roots: Path, follow: bool = False) -> FileTable:
    """Return the table of a walk."""
    config = ScanConfig(roots=roots, follow_symlinks=follow)
    with Pool(1) as pool:
        return walk(config, [os.fsencode(root) for root in roots], pool).table


def united(table: FileTable, *, follow: bool = False) -> Told:
    """Return the first names of all files, and the further ones by them, with their nature; by their last part."""
    found = unite_hard_links(table, [range(len(table))], Opener(follow=follow))
    short = lambda i: os.path.basename(table.path(i))  # noqa: E731
    firsts = {short(i) for s in found.sets for i in s}
    return firsts, {short(i): [(short(n), str(k)) for n, k in names] for i, names in found.names.items()}


@posix
def test_a_symbolic_link_is_never_called_a_hard_link(tmp_path: Path) -> None:
    """The real name comes first, whatever the order of the names, and the link is told as what it is."""
    write(tmp_path / "m", b"x" * 9)
    shutil.copy(tmp_path / "m", tmp_path / "z")
    (tmp_path / "0lnk").symlink_to("m")
    os.link(tmp_path / "m", tmp_path / "n")
    firsts, names = united(walked(tmp_path, follow=True), follow=True)
    assert firsts == {b"m", b"z"}
    assert names == {b"m": [(b"0lnk", "symbolic link"), (b"n", "hard link")]}


@posix
def test_a_link_out_of_the_roots_leads_to_a_real_name(tmp_path: Path) -> None:
    """Where only a link lies below the roots, the file it leads to comes first all the same."""
    write(tmp_path / "out" / "real", b"x" * 9)
    write(tmp_path / "in" / "copy", b"x" * 9)
    (tmp_path / "in" / "a link").symlink_to(tmp_path / "out" / "real")
    firsts, names = united(walked(tmp_path / "in", follow=True), follow=True)
    assert firsts == {b"real", b"copy"}
    assert names == {b"real": [(b"a link", "symbolic link")]}


@posix
def test_a_folder_reached_by_a_link_names_no_further_file(tmp_path: Path) -> None:
    """The same entry of the same folder by way of a linked root is told as reached by a symbolic link."""
    write(tmp_path / "real" / "f", b"x" * 9)
    write(tmp_path / "other" / "copy", b"x" * 9)
    (tmp_path / "a root").symlink_to("real")
    table = walked(tmp_path / "a root", tmp_path / "real", tmp_path / "other")
    found = unite_hard_links(table, [range(len(table))], Opener())
    ((first, ((other, kind),)),) = found.names.items()
    assert table.path(first) == os.fsencode(tmp_path / "real" / "f")
    assert (table.path(other), kind) == (os.fsencode(tmp_path / "a root" / "f"), NameKind.SYMBOLIC_LINK)
    assert found.files == 1
    assert found.bytes == 9


def test_the_same_folder_by_another_mount_is_told_as_mounted() -> None:
    """One place in the volume under two prefixes is one name, mounted twice; another place is a hard link."""
    table = FileTable()
    for prefix, base, name in ((b"/a/", b"", b"f"), (b"/b/", b"", b"f"), (b"/a/", b"", b"g")):
        table.add(table.enter(prefix, mount(volume(), prefix, base)), name, FileStat(1, 1, 1, 5))
    table.add(table.enter(b"/c", mount(volume(2))), b"copy", FileStat(1, 1, 1, 5))
    found = unite_hard_links(table, [range(4)], Opener())
    assert found.names == {0: [(2, NameKind.HARD_LINK), (1, NameKind.MOUNTED)]}
    assert [list(s) for s in found.sets] == [[0, 3]]


def test_what_leaves_a_doubt_is_looked_at_again(tmp_path: Path) -> None:
    """Two stats of one inode that differ are one file if they are now, with the times that it has now."""
    real = write(tmp_path / "a", b"x" * 9)
    os.link(real, tmp_path / "b")
    write(tmp_path / "c", b"x" * 9)
    here = located(os.fsencode(tmp_path))
    table = FileTable()
    folder = table.enter(os.fsencode(tmp_path), here)
    for n, name in enumerate((b"a", b"b", b"c")):
        seen = file_stat.of_path(os.fsencode(tmp_path / os.fsdecode(name)))
        table.add(folder, name, seen._replace(changed_ns=seen.changed_ns - n))
    assert united(table) == ({b"a", b"c"}, {b"a": [(b"b", "hard link")]})
    assert table.stat(0)[:3] == table.stat(1)[:3] == file_stat.of_path(os.fsencode(real))[:3]


@pytest.mark.parametrize("stable", [True, False])
def test_a_number_given_to_another_file_meanwhile_makes_no_link(tmp_path: Path, stable: bool) -> None:  # noqa: FBT001
    """Two files that were seen with one number, one after the other, are two."""
    for name in ("old", "new", "gone"):
        write(tmp_path / name, b"x" * 9)
    (tmp_path / "gone").unlink()
    table = FileTable()
    folder = table.enter(os.fsencode(tmp_path), mount(volume(stable_inodes=stable), os.fsencode(tmp_path) + b"/"))
    for n, name in enumerate((b"gone", b"old", b"new")):
        table.add(folder, name, FileStat(9, n, n, 42))
    assert united(table) == ({b"gone", b"old", b"new"}, {})


def loose(top: Path, *names: str) -> FileTable:
    """Return a table of files whose numbers may be others' too."""
    table = FileTable()
    folder = table.enter(os.fsencode(top), mount(volume(stable_inodes=False), os.fsencode(top) + b"/"))
    for name in map(os.fsencode, names):
        table.add(folder, name, file_stat.of_path(os.path.join(os.fsencode(top), name)))
    return table


def test_a_number_that_may_be_anothers_unites_only_what_was_read(tmp_path: Path) -> None:
    """Names of one such number are files of their own until their content is known to be equal."""
    os.link(write(tmp_path / "a", b"x" * 9), tmp_path / "b")
    write(tmp_path / "c", b"x" * 9)
    table = loose(tmp_path, "a", "b", "c")
    assert united(table) == ({b"a", b"b", b"c"}, {})
    assert list(same_content(table, range(3), Opener())) == [[0, 1]]


@pytest.mark.parametrize("what", ["one name", "another date"])
def test_equal_files_of_one_number_must_be_alike(tmp_path: Path, what: str) -> None:
    """Equal content and number make no link where a file has one name, or is not as it was seen."""
    os.link(write(tmp_path / "a", b"x" * 9), tmp_path / "b")
    table = loose(tmp_path, "a", "b")
    if what == "one name":
        (tmp_path / "b").unlink()
    else:
        table.set_times(0, 1, 1)
    assert not list(same_content(table, range(2), Opener()))


def test_a_place_seen_twice_is_one_file_though_its_numbers_differ() -> None:
    """FAT makes a number up each time that it forgot the last one: one place and content in a volume is one file."""
    table = FileTable()
    for n, prefix in enumerate((b"/a/", b"/b/")):
        table.add(table.enter(prefix, mount(volume(stable_inodes=False), prefix)), b"f", FileStat(1, 1, 1, 40 + n))
    table.add(table.enter(b"/a/", mount(volume(stable_inodes=False), b"/a/")), b"g", FileStat(1, 1, 1, 50))
    assert united(table)[1] == {}
    assert list(same_content(table, range(3), Opener())) == [[0, 1]]


@given(st.lists(st.tuples(st.integers(1, 2), st.integers(0, 3), st.integers(0, 2)), max_size=12))
def test_names_are_united_as_the_numbers_say(files: list[tuple[int, int, int]]) -> None:
    """Same volume, same number, same times: one file; every name is told once."""
    table = FileTable()
    for n, (where, inode, _) in enumerate(files):
        table.add(table.enter(b"/v%d" % where, mount(volume(where))), b"%d" % n, FileStat(1, 1, 1, inode))
    found = unite_hard_links(table, [range(len(files))], Opener())
    physical: dict[object, list[int]] = {}
    for n, (where, inode, _) in enumerate(files):
        physical.setdefault((where, inode) if inode else n, []).append(n)
    named = {first: sorted([first, *(i for i, _ in names)]) for first, names in found.names.items()}
    assert sorted(named.values()) == sorted(names for names in physical.values() if len(names) > 1)
    told: Sequence[int] = [i for s in found.sets for i in s]
    assert len(told) == (len(physical) if len(physical) > 1 else 0)
    assert found.files == len(files) - len(physical)


@posix
def test_the_program_tells_a_link_as_one(cli: Any, tmp_path: Path) -> None:
    """Text and CSV begin with the real name, so that whoever keeps the first row keeps the data."""
    write(tmp_path / "d" / "m", os.urandom(5000))
    shutil.copy(tmp_path / "d" / "m", tmp_path / "d" / "z")
    (tmp_path / "d" / "0lnk").symlink_to("m")
    done = cli("scan", "d", "--follow-symlinks", "--no-cache", "--format", "csv")
    rows = [line.split(",") for line in done.stdout.decode().splitlines()[1:]]
    assert [os.path.basename(row[6]) for row in rows] == ["m", "0lnk", "z"]


def test_one_disk_under_two_names_is_one() -> None:
    """A server's folder and one inside it are two exports of one device: the same number there is the same file."""
    table = FileTable()
    outer, inner = volume(1), volume(2)._replace(device=1)
    table.add(table.enter(b"/all/home", mount(outer, b"/all/", b"")), b"f", FileStat(1, 1, 1, 5))
    table.add(table.enter(b"/home", mount(inner, b"/home/", b"")), b"f", FileStat(1, 1, 1, 5))
    table.add(table.enter(b"/home", mount(inner, b"/home/", b"")), b"copy", FileStat(1, 1, 1, 6))
    found = unite_hard_links(table, [range(3)], Opener())
    assert [list(s) for s in found.sets] == [[0, 2]]
    assert found.names == {0: [(1, NameKind.MOUNTED)]}


def test_one_name_of_two_servers_is_not_one_file() -> None:
    """Behind tunnels one name may stand for several servers: the same place with another time is another file."""
    table = FileTable()
    for n, prefix in enumerate((b"/a/", b"/b/")):
        table.add(table.enter(prefix, mount(volume(stable_inodes=False), prefix)), b"f", FileStat(1, n, n, 0))
    assert united(table) == ({b"f"}, {})
    assert len(unite_hard_links(table, [range(2)], Opener()).sets[0]) == 2
