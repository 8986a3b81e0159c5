"""Folders that hold each other's files, in the HTML report in a real Chromium: shown once, a filter, and one mark."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dedupe.report.base import Style
from dedupe.report.html import render
from dedupe.result import FolderCount, Group, Proof, ScanResult
from tests.report.opened import Opened, group, scan_of


def compared(*groups: Group, **files: int) -> ScanResult:
    """Make a result that knows how many files lie in some folders below `/data`."""
    folders = {f"/data/{name}".encode(): FolderCount(count, 1000 * count, 0) for name, count in files.items()}
    return replace(scan_of(*groups), folders=folders)


def pair_of(names: str, count: int, first: int = 1) -> list[Group]:
    """Make groups of one file each in some folders."""
    return [
        group(n, *(f"/data/{name}/{name}{n}".encode() for name in names.split())) for n in range(first, first + count)
    ]


def told(open_page: Any, tmp_path: Path, scan: ScanResult, **options: Any) -> Opened:
    """Open the page of a result with its folders."""
    path = tmp_path / "report.html"
    path.write_bytes(b"".join(render(scan, Style(folders=True))))
    opened = open_page(path, **options)
    assert isinstance(opened, Opened)
    return opened


def let_go(opened: Opened, folder: str) -> str:
    """Press the button of a folder; return what the page says."""
    opened.page.get_by_role("button", name=f"This whole folder may go: {folder}", exact=True).click()
    return opened.text("#said")


def gone(opened: Opened, path: Path) -> list[str]:
    """Save the marks; return the paths that go.  Every group keeps a copy."""
    groups = opened.save(path)["groups"]
    assert all(each["keep"] for each in groups)
    return [file["path"] for each in groups for file in each["redundant"]]


def test_folders_that_hold_each_other_are_one_line(open_page: Any, tmp_path: Path) -> None:
    """Both shares stand in it, and each of the two may go; a folder that only holds another has no such button."""
    opened = told(open_page, tmp_path, compared(*pair_of("a b", 3), *pair_of("c d", 2, 7), a=4, b=5, c=2, d=9))
    lines = opened.page.locator(".held > ul > li").all_inner_texts()
    assert len(lines) == 2
    mutual, one_way = (line.replace(" This whole folder may go", "") for line in lines)
    assert mutual == (
        "/data/b and /data/a hold each other: 60 % of the first, 3 of 5 files, 2.9 KiB; "
        "75 % of the second, 3 of 4 files, 2.9 KiB"
    )
    assert one_way == "/data/d holds 100 % of /data/c: 2 of 2 files, 2.0 KiB"
    assert opened.page.locator(".held .goes").count() == 3
    assert opened.page.locator(".held summary").inner_text() == "Folders that another holds: 3"


@pytest.mark.parametrize("by_key", [False, True])
def test_a_folder_of_a_pair_shows_its_groups(open_page: Any, tmp_path: Path, *, by_key: bool) -> None:
    """The filter is set to that folder, also where it has a file by a further name only, and the list has the focus."""
    first, *others = pair_of("a b", 2)
    linked = replace(first, files=[first.files[0]._replace(links=(b"/data/c/a1",)), first.files[1]])
    scan = compared(linked, *others, *pair_of("d e", 1, 9), a=2, b=2, c=1)
    opened = told(open_page, tmp_path, scan)
    for folder, names in (("/data/a", ["a1", "a2"]), ("/data/c", ["a1"])):
        button = opened.page.get_by_role("button", name=folder, exact=True).first
        if by_key:
            button.focus()
            opened.page.keyboard.press("Enter")
        else:
            button.click()
        assert opened.names() == names
        assert opened.text("#chips").replace("\n", "").startswith(f"in {folder}/")
        assert opened.page.evaluate("document.activeElement.id") == "groups"


def test_a_whole_folder_goes_but_for_what_has_no_copy(open_page: Any, tmp_path: Path) -> None:
    """Whatever the list is narrowed to; what stays is counted with the reason, and one Undo takes it all back."""
    inside = group(20, b"/data/a/x", b"/data/a/y")
    opened = told(open_page, tmp_path, compared(*pair_of("a b", 9), inside, a=12, b=100))
    opened.page.fill("#search", "nothing of the kind")
    opened.until("#count", "0 of 10")
    assert (
        let_go(opened, "/data/a")
        == "/data/a: 9 of 12 files may go; 3 of 12 files stay: no copy elsewhere in this page."
    )
    assert gone(opened, tmp_path / "marks.json") == [f"/data/a/a{n}" for n in range(1, 10)]
    opened.page.click("#undo")
    assert opened.text("#chosen") == "Nothing chosen yet"


def test_each_reason_to_stay_is_told(open_page: Any, tmp_path: Path) -> None:
    """Wanted, a hard link outside, a copy that is away, copies that go already; names of a file count each."""
    plain, linked, twice, away, chosen, wanted = pair_of("a b", 6)
    linked = replace(linked, files=[linked.files[0]._replace(links=(b"/data/z",)), linked.files[1]])
    twice = replace(twice, files=[twice.files[0]._replace(links=(b"/data/a/too",)), twice.files[1]])
    away = replace(away, files=[away.files[0], away.files[1]._replace(proof=Proof.OFFLINE)])
    scan = compared(plain, linked, twice, away, chosen, wanted, a=7, b=60)
    scan = replace(scan, folders={**scan.folders, b"/data/a": FolderCount(7, 7000, 2)})
    opened = told(open_page, tmp_path, scan)
    for name, rule in (("a5", "folder"), ("a6", "wanted")):
        opened.page.click("#reset")
        opened.page.fill("#search", name)
        opened.until("#count", "1 of 6")
        opened.rule(rule, "/data/a" if rule == "folder" else "")
    said = let_go(opened, "/data/a").removesuffix(".").split("; ")
    assert said[0] == "/data/a: 3 of 7 files may go"
    assert said[-1] == "2 entries there not compared"
    assert sorted(said[1:-1]) == [
        f"1 of 7 files stays: {why}"
        for why in (
            "another name outside of the folder",
            "no copy elsewhere in this page",
            "the copies elsewhere are to go",
            "wanted",
        )
    ]
    assert gone(opened, tmp_path / "marks.json") == ["/data/a/a1", "/data/a/a3", "/data/b/b5"]


def test_of_identical_folders_one_always_stays(open_page: Any, tmp_path: Path) -> None:
    """Each may go in its turn, but the last one stays whole; a folder that is away has no button."""
    groups = [group(n, *(b"/data/%s/%d" % (name, n) for name in (b"a", b"b", b"c", b"d"))) for n in (1, 2)]
    groups = [replace(each, files=[*each.files[:3], each.files[3]._replace(proof=Proof.OFFLINE)]) for each in groups]
    opened = told(open_page, tmp_path, compared(*groups, a=2, b=2, c=2, d=2))
    assert opened.page.locator(".same .goes").count() == 3
    assert let_go(opened, "/data/b") == "/data/b: 2 of 2 files may go."
    assert let_go(opened, "/data/a") == "/data/a: 2 of 2 files may go."
    assert (
        let_go(opened, "/data/c") == "/data/c: 0 of 2 files may go; 2 of 2 files stay: the copies elsewhere are to go."
    )
    assert gone(opened, tmp_path / "1") == ["/data/a/1", "/data/b/1", "/data/a/2", "/data/b/2"]
    opened.page.click("#undo")
    opened.page.get_by_role("button", name="This whole folder may go: /data/b").focus()
    opened.page.keyboard.press("Enter")
    assert opened.text("#said").startswith("/data/b: 2 of 2 files may go")


def test_folders_that_read_the_same_are_told_apart(open_page: Any, tmp_path: Path) -> None:
    r"""A name that is no text is shown as `\xe9`, and another may be written so: the one that was pressed goes."""
    groups = [group(1, rb"/data/\xe9/f", b"/data/b/f"), group(2, b"/data/\xe9/g", b"/data/c/g")]
    counts = {name: FolderCount(1, 1000, 0) for name in (rb"/data/\xe9", b"/data/\xe9")}
    counts |= {name: FolderCount(9, 9000, 0) for name in (b"/data/b", b"/data/c")}
    opened = told(open_page, tmp_path, replace(scan_of(*groups), folders=counts))
    buttons = opened.page.locator(".held .goes")
    assert buttons.count() == 2
    for place, name in ((0, r"/data/\xe9/f"), (1, r"/data/\xe9/g")):
        buttons.nth(place).click()
        assert gone(opened, tmp_path / "marks.json") == [name]
        opened.page.click("#undo")


def test_folders_of_windows_are_known_by_their_paths(open_page: Any, tmp_path: Path) -> None:
    """A drive as a whole, and a folder on a server, show their groups and may go."""
    drive, share = rb"C:" + b"\\", rb"\\server\share\old"
    scan = scan_of(group(1, drive + b"f", share + rb"\f"), roots=(drive, share))
    scan = replace(scan, folders={drive: FolderCount(1, 1000, 0), share: FolderCount(1, 1000, 0)})
    opened = told(open_page, tmp_path, scan)
    assert opened.page.locator(".goes").count() == 2
    for folder, path in ((drive, drive + b"f"), (share, share + rb"\f")):
        opened.page.get_by_role("button", name=folder.decode(), exact=True).click()
        assert opened.names() == ["f"]
        assert let_go(opened, folder.decode()).endswith(": 1 of 1 file may go.")
        assert gone(opened, tmp_path / "marks.json") == [path.decode()]
        opened.page.click("#undo")


def test_the_program_lets_the_whole_folder_go(open_page: Any, tmp_path: Path) -> None:
    """From the scan through one click to the trash: the folder's copies are gone, and every content is still there."""

    def dedupe(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "dedupe", *arguments]
        return subprocess.run(command, capture_output=True, check=False, cwd=tmp_path)

    def contents() -> dict[str, str]:
        files = (path for path in tmp_path.glob("[abc]/**/*") if path.is_file())
        return {each.relative_to(tmp_path).as_posix(): hashlib.sha256(each.read_bytes()).hexdigest() for each in files}

    names = ("a/1", "a/2", "a/x/3", "b/one", "b/x/two", "b/three", "b/twice", "b/again", "b/only", "c/4")
    letters = {"one": "1", "two": "2", "three": "3", "again": "twice"}
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        last = name.rpartition("/")[2]
        (tmp_path / name).write_bytes(letters.get(last, last).encode() * 3000)
    before = contents()
    assert dedupe("scan", "a", "b", "c", "--no-cache", "--output", "dups.html").returncode == 0
    opened = open_page(tmp_path / "dups.html")
    said = let_go(opened, str(tmp_path / "b"))
    assert said == f"{tmp_path / 'b'}: 3 of 6 files may go; 3 of 6 files stay: no copy elsewhere in this page."
    opened.save(tmp_path / "marks.json")
    done = dedupe("apply", "marks.json", "--trash", "--yes")
    assert done.returncode == 0, done.stderr
    after = contents()
    assert sorted(before.keys() - after.keys()) == ["b/one", "b/three", "b/x/two"]
    assert set(after.values()) == set(before.values())
