"""Wanted duplicates in the HTML report, in a real Chromium: marked, hidden, saved, and left out by the program."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dedupe.report import accept_list
from dedupe.result import ScanResult
from tests.report.opened import Opened, group, scan_of, small


def save_list(opened: Opened, path: Path) -> str:
    """Save the list of wanted duplicates and read it."""
    with opened.page.expect_download() as waiting:
        opened.page.click("#save-accepted")
    assert waiting.value.suggested_filename == "accepted.txt"
    waiting.value.save_as(path)
    return path.read_text(encoding="utf-8")


def load_list(opened: Opened, path: Path, text: str) -> str:
    """Load a list of wanted duplicates; return what the page says."""
    path.write_text(text, encoding="utf-8")
    opened.page.evaluate("document.getElementById('said').textContent = ''")
    opened.page.set_input_files("#load-accepted", path)
    opened.page.locator("#said", has_text="list").wait_for()
    return opened.text("#said")


def listed(scan: ScanResult, *places: int) -> str:
    """Return the list that the program writes for some groups."""
    return b"".join(accept_list.lines(scan.groups[place] for place in places)).decode()


def dedupe(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run the program in a folder."""
    command = [sys.executable, "-m", "dedupe", *arguments]
    return subprocess.run(command, capture_output=True, check=False, cwd=folder)


def test_a_wanted_group_keeps_all_and_frees_nothing(open_page: Any) -> None:
    """It loses its marks, is grey, no rule or key chooses in it, and it is in no total, until that is undone."""
    opened = open_page(small())
    opened.rule("newest")
    opened.page.click("#wanted")
    assert opened.text("#choice") == "Wanted: all copies stay, and none counts as redundant."
    assert opened.kept() == []
    assert opened.text("#chosen") == "Chosen in 2 of 3 groups"
    assert opened.text("#chosen-size") == "1.0 MiB redundant"
    assert opened.text("#wanted-count") == "\u00b7 1 wanted"
    assert opened.status() == "All 3 groups, 1.0 MiB can be freed"
    assert opened.text(".row.wanted .state") == "wanted"
    assert opened.page.locator(".keep:enabled, #detail-rules button:enabled").count() == 0
    opened.rule("oldest")
    assert opened.text("#said") == "Chosen in 2 groups; 1 group is wanted and stayed whole."
    opened.page.focus("#grid")
    for key in ("n", "1"):
        opened.page.keyboard.press(key)
        assert opened.kept() == []
    opened.page.keyboard.press("w")
    assert not opened.page.is_checked("#wanted")
    opened.page.click("#undo")
    assert opened.page.is_checked("#wanted")


def test_undo_brings_back_the_marks_of_a_wanted_group(open_page: Any) -> None:
    """What was chosen before is chosen again."""
    opened = open_page(small())
    opened.rule("newest")
    before = opened.kept()
    opened.page.click("#wanted")
    opened.page.click("#undo")
    assert opened.kept() == before
    assert opened.text("#chosen") == "Chosen in 3 of 3 groups"
    assert opened.page.is_disabled("#save-accepted")


def test_wanted_groups_can_be_hidden(open_page: Any) -> None:
    """The filter shows all but those, or those only; a wanted group is not one in which nothing is chosen."""
    opened = open_page(small())
    opened.page.click("#wanted")
    for choice, names in (("unwanted", 2), ("open", 2), ("wanted", 1), ("chosen", 0), ("all", 3)):
        opened.page.select_option("#marked", choice)
        assert len(opened.names()) == names, choice
    opened.page.fill("#search", "song")
    opened.until("#count", "1 of 3")
    opened.rule("wanted")
    opened.page.click("#reset")
    opened.page.select_option("#marked", "wanted")
    assert opened.names() == ["film.mkv", "song.flac"]
    opened.rule("unwanted")
    assert opened.text("#wanted-count") == ""


def test_a_group_without_a_digest_cannot_be_wanted(open_page: Any) -> None:
    """The box is disabled and says why; neither the key nor the rule for all groups marks it."""
    bare = replace(group(1, b"/data/a", b"/data/b"), algorithm="bytes", digest=None)
    opened = open_page(scan_of(bare, group(2, b"/data/c", b"/data/d", size=10)))
    assert opened.page.is_disabled("#wanted")
    assert "no digest" in opened.page.get_attribute("#wanted-field", "title")
    opened.page.focus("#grid")
    opened.page.keyboard.press("w")
    assert opened.text("#wanted-count") == ""
    opened.rule("wanted")
    assert opened.text("#said") == "Marked as wanted: 1 group; 1 group has no digest and stayed as before."
    opened.page.keyboard.press("Home")
    assert not opened.page.is_checked("#wanted")


def test_the_list_is_that_of_the_program(open_page: Any, tmp_path: Path) -> None:
    """Byte for byte what `dedupe mark --accept` writes, names that are no text or hold line ends among them."""
    odd = group(9, b"/data/a\nb\xe2\x80\xa8\xc2\x85#.txt", b"/data/b/caf\xe9", size=99)
    scan = scan_of(*small().groups, odd, group(10, *(b"/data/%d" % n for n in range(1500)), size=9))
    opened = open_page(scan)
    opened.rule("wanted")
    assert save_list(opened, tmp_path / "accepted.txt") == listed(scan, 0, 1, 2, 3, 4)


def test_a_list_comes_back_and_keeps_what_is_not_of_this_page(open_page: Any, tmp_path: Path) -> None:
    """Its groups are wanted again; its other lines are saved as they were, and what is wanted no more is not."""
    scan = small()
    opened = open_page(scan)
    digest = scan.groups[1].digest.hex()
    text = f"# mine\nsha256:{'ab' * 32}  # elsewhere\n{digest.upper()} # a song\nsha1:{digest}\n{listed(scan, 2)}"
    path = tmp_path / "accepted.txt"
    opened.rule("newest")
    said = load_list(opened, path, text)
    assert said == "2 groups of the list marked as wanted; 2 fit no group of this page and stay in the list."
    assert opened.text("#chosen") == "Chosen in 1 of 3 groups"
    assert save_list(opened, path) == text
    load_list(opened, path, text)
    assert save_list(opened, path) == text
    opened.page.click("#wanted")
    assert save_list(opened, path) == text + listed(scan, 0)
    opened.page.select_option("#marked", "wanted")
    opened.rule("unwanted")
    assert save_list(opened, path) == "".join(line for line in text.splitlines(keepends=True)[:2]) + f"sha1:{digest}\n"


def test_loading_a_list_can_be_undone(open_page: Any, tmp_path: Path) -> None:
    """The groups are wanted no more, and the lines of the list are gone from what is saved."""
    opened = open_page(small())
    load_list(opened, tmp_path / "a.txt", listed(small(), 0) + "ab\n")
    opened.page.click("#undo")
    assert opened.text("#wanted-count") == ""
    assert opened.page.is_disabled("#save-accepted")


@pytest.mark.parametrize("text", ["# fine\n{}", "sha256:abc", "sha256:xy # z", "a list\n"])
def test_a_file_that_is_no_list_changes_nothing(open_page: Any, tmp_path: Path, text: str) -> None:
    """One sentence names the line, and the marks stay."""
    opened = open_page(small())
    opened.rule("newest")
    said = load_list(opened, tmp_path / "a.txt", text)
    assert said == f"That file holds no list of wanted duplicates: no digest in line {1 + text.startswith('# fine')}"
    assert opened.text("#chosen") == "Chosen in 3 of 3 groups"


def test_marks_do_not_choose_in_wanted_groups(open_page: Any, tmp_path: Path) -> None:
    """A marks file that is loaded leaves them whole and says so; they are in no marks that are saved."""
    opened = open_page(small())
    opened.rule("newest")
    opened.save(tmp_path / "marks.json")
    opened.page.click("#wanted")
    opened.page.set_input_files("#load", tmp_path / "marks.json")
    opened.until("#said", "Marks loaded for 2 groups; 1 group is wanted and stayed whole.")
    assert [each["id"] for each in opened.save(tmp_path / "again.json")["groups"]] == [2, 3]


def test_the_program_leaves_out_what_the_page_lists(open_page: Any, tmp_path: Path) -> None:
    """From a scan through the page to the next scan: what was marked as wanted is gone, the rest is there."""
    for name in ("a/one", "b/one", "a/two", "b/two"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(name[2:].encode() * (3000 if "one" in name else 2000))
    assert dedupe(tmp_path, "scan", "a", "b", "--no-cache", "--output", "dups.html").returncode == 0
    opened = open_page(tmp_path / "dups.html")
    opened.page.focus("#grid")
    opened.page.keyboard.press("w")
    save_list(opened, tmp_path / "accepted.txt")
    scan = ("scan", "a", "b", "--no-cache", "--accept", "accepted.txt")
    done = dedupe(tmp_path, *scan, "--format", "paths")
    assert done.stdout.decode().split() == [str(tmp_path / "a/two"), str(tmp_path / "b/two")], done.stderr
    assert dedupe(tmp_path, *scan, "--output", "after.html").returncode == 0
    after = open_page(tmp_path / "after.html")
    assert after.names() == ["two"]
    load_list(after, tmp_path / "accepted.txt", (tmp_path / "accepted.txt").read_text())
    after.page.click("#wanted")
    save_list(after, tmp_path / "accepted.txt")
    assert not dedupe(tmp_path, *scan, "--format", "paths").stdout
