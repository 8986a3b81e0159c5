"""Different files that have one device and one inode number, as bindfs over two disks shows them: never one unread."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dedupe.actions.records import Intent
from dedupe.config import ScanConfig
from dedupe.walk.walker import walk
from dedupe.workers.pool import Pool
from tests.actions.common import content
from tests.colliding import bound, collide, two_disks
from tests.conftest import groups, write
from tests.disks import disk

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mounts of Linux")
DATE = 1_577_836_800  # seconds


@pytest.fixture(params=["reachable", "out of reach"])
def bind(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Return two disks under one device, whose own folders the system names, or does not."""
    options = () if request.param == "reachable" else ("-o", "fsname=pool")
    with two_disks(tmp_path, *options) as found:
        yield found


def unlike(bind: Path, *, links: bool = False, size: int = 100_000) -> tuple[Path, Path]:
    """Make a copy of k/p and another content, of one number, size and date; with further names where asked for."""
    k = bind.parent / "k"
    write(k / "p", content("p", size))
    real = bind.parent / "real"
    p, q = write(real / "d1/p", content("p", size)), write(real / "d2/q", content("q", size))
    if links:
        for name in (p, q):
            (name.parent / ".o").mkdir()
            os.link(name, name.parent / ".o" / name.name)
    for each in (p, q):  # and not the copy, which would seem to be one of them by another mount
        os.utime(each, (DATE, DATE))
    assert collide(bind / "d1/p", bind / "d2/q")
    return bind / "d1/p", bind / "d2/q"


def linked(report: dict[str, Any]) -> dict[str, list[str]]:
    """Return the further names of all files of a report."""
    return {file["path"]: file["links"] for group in report["groups"] for file in group["files"] if file.get("links")}


@pytest.mark.parametrize("links", [False, True])
@pytest.mark.parametrize("size", [100, 100_000, 3_000_000])
def test_another_content_is_no_link(bind: Path, scan_json: Any, *, links: bool, size: int) -> None:
    """A file of equal number and another content is in no group, be its size read whole or in samples."""
    p, _ = unlike(bind, links=links, size=size)
    report = scan_json("bind", "k", "--no-cache", "--exclude", ".o")
    assert groups(report) == {frozenset({str(p), str(bind.parent / "k/p")})}
    assert not linked(report)
    assert report["totals"]["files"] == 3


def test_a_copy_of_equal_number_is_a_copy(bind: Path, scan_json: Any) -> None:
    """Equal content and number with one name each: two files, which are told as duplicates."""
    for name in ("d1/p", "d2/q"):
        write(bind.parent / "real" / name, content("p"))
    assert collide(bind / "d1/p", bind / "d2/q")
    report = scan_json("bind", "--no-cache")
    assert groups(report) == {frozenset({str(bind / "d1/p"), str(bind / "d2/q")})}
    assert report["totals"]["redundant_files"] == 1


def test_the_cache_gives_no_digest_by_number(bind: Path, scan_json: Any) -> None:
    """A later scan by the cache tells the same, also where a file was moved and another has its number."""
    p, _ = unlike(bind)
    cache = ("--cache", str(bind.parent / "cache"))
    wanted = {frozenset({str(p), str(bind.parent / "k/p")})}
    for _ in range(2):
        assert groups(scan_json("bind", "k", *cache)) == wanted
    (bind.parent / "real/d2/q").rename(bind.parent / "real/d2/moved")
    assert groups(scan_json("bind", "k", *cache)) == wanted


@pytest.mark.parametrize("links", [False, True])
def test_another_content_is_not_held(bind: Path, cli: Any, *, links: bool) -> None:
    """What only shares its number with a held file is missing, on the card as well as across both sides."""
    _, q = unlike(bind, links=links)
    for sides in (("bind", "--from", "k"), ("bind/d2", "--from", "bind/d1")):
        done = cli("missing", *sides, "--no-cache", "--exclude", ".o", "--format", "json")
        assert [file["path"] for file in json.loads(done.stdout)["missing"]] == [str(q)], sides


def test_a_copy_of_equal_number_does_not_hold(bind: Path, cli: Any) -> None:
    """Across both sides equal content and number may be the same file, which does not hold itself."""
    for name in ("d1/p", "d2/q"):
        write(bind.parent / "real" / name, content("p"))
    found = json.loads(cli("missing", "bind/d2", "--from", "bind/d1", "--no-cache", "--format", "json").stdout)
    assert [file["path"] for file in found["missing"]] == [str(bind / "d2/q")]


def test_folders_of_equal_number_are_both_listed(bind: Path, scan_json: Any) -> None:
    """Where links are followed a folder is passed over that was seen before, and no other that has its number."""
    p, q = unlike(bind)
    (bind.parent / "k/again").symlink_to(bind)
    assert collide(p.parent, q.parent)
    report = scan_json("bind", "k", "--no-cache", "--follow-symlinks")
    assert report["totals"]["files"] == 3
    assert report["totals"]["skipped"]["symlink"] == 1


def test_only_the_scans_own_file_is_left_out(bind: Path) -> None:
    """What a scan writes takes no part, by path or descriptor; a file that only has its number does."""
    p, q = unlike(bind)
    with p.open("rb") as own, Pool(1) as pool:
        for told in (p, own.fileno()):
            table = walk(ScanConfig(roots=[bind]), [os.fsencode(bind)], pool, own_files=[told]).table
            assert table.paths(range(len(table))) == [os.fsencode(q)]


def report_of_one_file(bind: Path, names: tuple[Path, Path], cli: Any) -> Path:
    """Write a report that takes both names for one file, as one may that was made elsewhere."""
    path = bind.parent / "r.json"
    done = cli("scan", "bind", "k", "--no-cache", "--exclude", ".o", "--output", path)
    assert done.returncode == 0, done.stderr
    report = json.loads(path.read_text())
    for file in report["groups"][0]["files"]:
        if file["path"] == str(names[0]):
            file["links"] = [str(names[1])]
    path.write_text(json.dumps(report))
    return path


@pytest.mark.parametrize("links", [False, True])
@pytest.mark.parametrize("action", ["--delete", "--trash", "--move-to"])
def test_another_content_stays(bind: Path, cli: Any, action: str, *, links: bool) -> None:
    """A name whose file is not the victim's stays, whatever a report says; undo gives each name what it had."""
    p, q = unlike(bind, links=links)
    report = report_of_one_file(bind, (p, q), cli)
    acts = [action, str(bind / "d1/out")] if action == "--move-to" else [action]
    done = cli("apply", report, "--prefer", "k", *acts, "--yes")
    assert q.read_bytes() == content("q", 100_000), done.stderr.decode()
    if action != "--trash":  # which is on neither of the disks
        assert not p.exists(), done.stdout.decode() + done.stderr.decode()
    cli("undo")
    assert (p.read_bytes(), q.read_bytes()) == (content("p", 100_000), content("q", 100_000))


def test_copies_of_equal_number_are_undone_apart(bind: Path, cli: Any) -> None:
    """Two files that went and have one number are two files again, each with its own date."""
    write(bind.parent / "k/p", content("p"))
    names = [write(bind.parent / "real" / name, content("p")) for name in ("d1/p", "d2/q")]
    for n, name in enumerate(names):
        os.utime(name, (DATE + n, DATE + n))
    assert collide(bind / "d1/p", bind / "d2/q")
    cli("scan", "bind", "k", "--no-cache", "--output", "r.json")
    done = cli("apply", "r.json", "--prefer", "k", "--delete", "--yes")
    assert done.returncode == 0, done.stderr.decode()
    assert not any(name.exists() for name in names)
    assert cli("undo").returncode == 0
    assert [int(name.stat().st_mtime) for name in names] == [DATE, DATE + 1]
    assert [name.read_bytes() for name in names] == [content("p")] * 2


def test_a_link_outside_the_card_holds(bind: Path, cli: Any) -> None:
    """A further hard link of a card's file elsewhere on its disk holds its content; its own name does not."""
    write(bind.parent / "real/d1/card/p", content("p"))
    for name in ("archive", "card/more"):
        (bind.parent / "real/d1" / name).mkdir()
        os.link(bind.parent / "real/d1/card/p", bind.parent / "real/d1" / name / "p")
    done = cli("missing", "bind/d1/card", "--from", "bind/d1/archive", "--no-cache", "--format", "json")
    assert json.loads(done.stdout)["totals"]["linked_files"] == 1, done.stdout
    assert done.returncode == 0
    done = cli("missing", "bind/d1/card", "--from", "bind/d1/card", "--no-cache")
    assert done.returncode == 4


@pytest.mark.parametrize(("change", "is_same"), [({}, True), ({"digest": b"2"}, False), ({"modified_ns": 2}, False)])
def test_undo_links_only_names_that_shared_all(change: dict[str, Any], *, is_same: bool) -> None:
    """Names that went are names of one file again where their file had several, and one number, content and date."""
    common: dict[str, Any] = {"verb": "delete", "size": 1, "algorithm": "sha256", "device": 1, "inode": 12}
    first = Intent(n=1, path=b"/a", shown=b"/a", digest=b"1", modified_ns=1, nlink=2, **common)
    other = replace(first, n=2, path=b"/b", **change)
    assert (first.file == other.file) is is_same
    assert replace(first, nlink=1).file != replace(other, nlink=1).file


@pytest.mark.parametrize("options", [(), ("-o", "fsname=pool")])
def test_hard_links_are_told_as_links(tmp_path: Path, cli: Any, scan_json: Any, options: tuple[str, ...]) -> None:
    """Names of one file on one disk are one file by way of bindfs too; they go together, and come back as one."""
    with disk(tmp_path / "image", tmp_path / "real") as real, bound(real.folder, tmp_path / "bind", *options) as bind:
        write(real.folder / "a", content("p", 100_000))
        os.link(real.folder / "a", real.folder / "b")
        shutil.copy(write(tmp_path / "k/p", content("p", 100_000)), real.folder / "c")
        report = scan_json("bind", "k", "--no-cache")
        assert linked(report) == {str(bind / "a"): [str(bind / "b")]}
        assert (report["totals"]["files"], report["totals"]["redundant_files"]) == (3, 2)
        cli("scan", "bind", "k", "--no-cache", "--output", "r.json")
        done = cli("apply", "r.json", "--prefer", "k", "--delete", "--yes")
        assert done.returncode == 0, done.stderr.decode()
        assert not (bind / "a").exists()
        assert not (bind / "b").exists()
        assert cli("undo").returncode == 0
        assert (real.folder / "a").stat().st_nlink == 2
