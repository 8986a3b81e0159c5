"""Where the copies lie, in the HTML report in a real Chromium: roots, catalogs, and folders as one mark."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from dedupe.result import Group, Proof, ScanResult
from tests.report.opened import Opened, group, scan_of, small

ROOTS = (b"/data/a", b"/data/b", b"/disk")


def rooted(made: Group) -> Group:
    """Tell for each file which of `ROOTS` it came from; what lies on the disk is known by a catalog only."""
    files = []
    for file in made.files:
        place = next(n for n, root in enumerate(ROOTS) if file.path.startswith(root + b"/"))
        files.append(file._replace(root=place, proof=Proof.OFFLINE if place == 2 else Proof.HASHED))
    return replace(made, files=files)


def placed() -> ScanResult:
    """Make a result over two roots and a catalog."""
    groups = (
        group(1, b"/data/a/both", b"/data/b/both", size=900),
        group(2, b"/data/a/x/twice", b"/data/a/y/twice", size=800),
        group(3, b"/data/b/kept", b"/disk/kept", size=700),
        group(4, b"/disk/gone", b"/disk/z/gone", size=600),
    )
    return scan_of(*map(rooted, groups), roots=ROOTS)


def kept_and_gone(opened: Opened, path: Path) -> list[tuple[list[str], list[str]]]:
    """Save the marks; return for each group the paths that stay and those that go."""
    sides = ("keep", "redundant")
    groups = opened.save(path)["groups"]
    kept, gone = ([[file["path"] for file in each[side]] for each in groups] for side in sides)
    return list(zip(kept, gone, strict=True))


def test_the_roots_are_a_filter(open_page: Any) -> None:
    """Groups with a copy from that root, and with the words and the folder that were asked for in the same copy."""
    opened = open_page(placed())
    assert opened.page.locator("#root option").all_inner_texts() == ["any", "/data/a", "/data/b", "/disk"]
    for root, names in (("/data/a", "both twice"), ("/data/b", "both kept"), ("/disk", "kept gone")):
        opened.page.select_option("#root", label=root)
        assert opened.names() == names.split(), root
    opened.page.select_option("#root", label="/data/b")
    opened.page.fill("#search", "/data/a")
    opened.until("#count", "0 of 4")
    opened.page.click("#reset")
    assert len(opened.names()) == 4
    assert opened.page.input_value("#root") == "-1"


def test_what_only_catalogs_know_is_a_filter(open_page: Any) -> None:
    """Groups of which some copies, all, or none are offline."""
    opened = open_page(placed())
    for choice, names in (
        ("some", "kept gone"),
        ("only", "gone"),
        ("none", "both twice"),
        ("all", "both twice kept gone"),
    ):
        opened.page.select_option("#away", choice)
        assert opened.names() == names.split(), choice


def test_filters_that_tell_nothing_apart_are_not_there(open_page: Any) -> None:
    """One root, and nothing offline: no choice to make."""
    opened = open_page(small())
    assert opened.page.is_hidden("#root-field")
    assert opened.page.is_hidden("#away-field")


def test_a_folder_may_go_where_another_copy_stays(open_page: Any, tmp_path: Path) -> None:
    """All copies in it go, but where there is none outside that is here; two such folders never empty a group."""
    opened = open_page(placed())
    opened.rule("outside", "/data/b")
    assert opened.text("#said") == "Chosen in 1 group; 3 groups have nothing there that may go and stayed as before."
    assert kept_and_gone(opened, tmp_path / "1") == [(["/data/a/both"], ["/data/b/both"])]
    opened.rule("outside", "/data/a/x/")
    opened.rule("outside", "/data/a")
    assert kept_and_gone(opened, tmp_path / "2") == [
        (["/data/a/both"], ["/data/b/both"]),
        (["/data/a/y/twice"], ["/data/a/x/twice"]),
    ]


def test_what_was_let_go_before_stays_so(open_page: Any, tmp_path: Path) -> None:
    """One folder after the other may go, and the copy in the third stays."""
    opened = open_page(scan_of(group(1, b"/data/a/f", b"/data/b/f", b"/data/c/f")))
    opened.rule("outside", "/data/a")
    opened.rule("outside", "/data/b")
    assert kept_and_gone(opened, tmp_path / "m") == [(["/data/c/f"], ["/data/a/f", "/data/b/f"])]


def test_a_file_is_in_the_folder_of_each_of_its_names(open_page: Any, tmp_path: Path) -> None:
    """Kept with a hard link inside; not let go with a hard link outside: all names of a file go together."""
    made = group(1, b"/data/b/f", b"/data/c/f")
    first = made.files[0]._replace(links=(b"/data/a/f",))
    opened = open_page(scan_of(replace(made, files=[first, made.files[1]])))
    opened.rule("outside", "/data/b")
    assert opened.text("#said") == "Chosen in 0 groups; 1 group has nothing there that may go and stayed as before."
    opened.rule("folder", "/data/a")
    assert kept_and_gone(opened, tmp_path / "m") == [(["/data/b/f"], ["/data/c/f"])]


def test_the_program_acts_on_a_folder_that_may_go(open_page: Any, tmp_path: Path) -> None:
    """From a scan of two folders: the second may go, and the program lets go exactly what the first has too."""
    for name in ("a/one", "b/one", "b/x/two", "b/y/two"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(name[-3:].encode() * 3000)

    def dedupe(*arguments: str) -> int:
        command = [sys.executable, "-m", "dedupe", *arguments]
        return subprocess.run(command, capture_output=True, check=False, cwd=tmp_path).returncode

    assert dedupe("scan", "a", "b", "--no-cache", "--output", "dups.html") == 0
    opened = open_page(tmp_path / "dups.html")
    opened.page.select_option("#root", label=str(tmp_path / "a"))
    assert opened.names() == ["one"]
    opened.page.click("#reset")
    opened.rule("outside", str(tmp_path / "b"))
    opened.save(tmp_path / "marks.json")
    assert dedupe("apply", "marks.json", "--trash", "--yes") == 0
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("[ab]/**/*") if path.is_file())
    assert left == ["a/one", "b/x/two", "b/y/two"]
