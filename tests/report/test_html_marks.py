"""Marks in the HTML report, in a real Chromium: chosen, saved, loaded, and acted on by the program."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dedupe.result import Proof
from tests.report.opened import group, scan_of, small


@pytest.mark.parametrize(
    ("rule", "folder", "kept"),
    [
        ("newest", "", ["b/film.mkv", "b/song.flac", "b/sub/plain.txt"]),
        ("oldest", "", ["a/long folder/film.mkv", "a/song.flac", "b/caf\\xe9.txt"]),
        ("shortest", "", ["c/x.mkv", "a/song.flac", "b/caf\\xe9.txt"]),
        ("folder", "/data/b", ["b/film.mkv", "b/song.flac", "b/caf\\xe9.txt", "b/sub/plain.txt"]),
        ("folder", "/data/a/", ["a/long folder/film.mkv", "a/song.flac", "b/song.flac"]),  # the last by its other name
    ],
)
def test_a_rule_chooses_what_stays(open_page: Any, tmp_path: Path, rule: str, folder: str, kept: list[str]) -> None:
    """Each rule keeps the copy that it names; where no copy is in the folder, the group stays without a choice."""
    opened = open_page(small())
    opened.rule(rule, folder)
    saved = opened.save(tmp_path / "marks.json")
    assert [file["path"] for each in saved["groups"] for file in each["keep"]] == [f"/data/{path}" for path in kept]
    left = 3 - len(saved["groups"])
    assert opened.text("#said").startswith("Marks of")
    assert opened.text("#chosen") == f"Chosen in {3 - left} of 3 groups"


def test_an_unknown_folder_is_refused(open_page: Any) -> None:
    """A folder that holds no copy changes nothing, and the field says that it is wrong."""
    opened = open_page(small())
    opened.rule("folder", "/nowhere")
    assert opened.text("#said").startswith("No copy lies in a folder of that name")
    assert opened.page.get_attribute("#rule-folder", "aria-invalid") == "true"
    assert opened.text("#chosen") == "Nothing chosen yet"


@pytest.mark.parametrize("rule", ["newest", "shortest", "by hand"])
def test_what_is_away_is_never_kept_nor_let_go(open_page: Any, tmp_path: Path, rule: str) -> None:
    """A copy that a catalog tells of is shown as offline, cannot be chosen, frees nothing and is in no marks."""
    made = group(1, b"/data/a", b"/d", b"/data/bb", size=10)
    files = tuple(f._replace(proof=Proof.OFFLINE if f.path == b"/d" else Proof.COMPARED) for f in made.files)
    opened = open_page(scan_of(replace(made, files=files)))
    assert opened.page.locator(".proof").all_inner_texts() == ["read now", "offline", "read now"]
    assert opened.page.locator(".keep").nth(1).is_disabled()
    if rule == "by hand":
        opened.page.locator(".keep").nth(0).check()
    else:
        opened.rule(rule, "")
    assert opened.text("#choice") == "1 copy stays; 1 copy is redundant (10 bytes)."
    (record,) = opened.save(tmp_path / "marks.json")["groups"]
    assert len(record["keep"]) == len(record["redundant"]) == 1
    assert "/d" not in [file["path"] for file in (*record["keep"], *record["redundant"])]


def test_at_least_one_copy_always_stays(open_page: Any, tmp_path: Path) -> None:
    """Marks by hand keep one copy or several; taking back the last leaves the group without a choice, so all stay."""
    opened = open_page(small())
    boxes = opened.page.locator(".keep")
    boxes.nth(0).check()
    boxes.nth(2).check()
    assert opened.text("#choice") == "2 copies stay; 1 copy is redundant (3.0 GiB)."
    saved = opened.save(tmp_path / "marks.json")
    (only,) = saved["groups"]
    assert [file["path"] for file in only["redundant"]] == ["/data/b/film.mkv"]
    boxes.nth(0).uncheck()
    boxes.nth(2).uncheck()
    assert opened.text("#choice") == "Nothing chosen: all copies stay."
    assert opened.page.is_disabled("#save")
    opened.page.click("#undo")
    assert opened.kept() == ["/data/c/x.mkv"]


def test_a_copy_says_what_its_names_are_and_how_it_was_proven(open_page: Any, tmp_path: Path) -> None:
    """Each further name has its kind, in the page and in the marks; copies and groups say read now or remembered."""
    one, two = group(1, b"/data/a", b"/mnt/b"), group(2, b"/data/c", b"/data/d", size=10)
    first = one.files[0]._replace(links=(b"/data/h",), symlinks=(b"/data/s",), mounted=(b"/mnt/a",))
    files = (first._replace(root=0, proof=Proof.REMEMBERED), one.files[1]._replace(root=1, proof=Proof.COMPARED))
    opened = open_page(scan_of(replace(one, files=files), two, roots=(b"/data", b"/mnt")))
    opened.page.locator("#rows [role=row]").first.click()
    names = opened.page.locator("#copies .other-name").all_inner_texts()
    assert [name.replace("\u200b", "") for name in names] == [
        "same file, other name (hard link): /data/h",
        "same file, by a symbolic link: /data/s",
        "same file, same folder mounted twice: /mnt/a",
    ]
    assert opened.page.locator("#copies .proof").all_inner_texts() == ["remembered", "read now"]
    assert opened.page.locator("#copies .root").all_inner_texts() == ["in /data", "in /mnt"]
    assert opened.page.locator("#digest").inner_text().endswith(" · remembered")
    opened.rule("newest")
    saved = opened.save(tmp_path / "marks.json")
    (record,) = saved["groups"][0]["redundant"]
    assert (record["links"], record["symlinks"], record["mounted"]) == (
        [{"path": "/data/h"}],
        [{"path": "/data/s"}],
        [{"path": "/mnt/a"}],
    )


def test_marks_tell_what_a_later_command_must_verify(open_page: Any, tmp_path: Path) -> None:
    """A marks file has its schema, and for each group size, digest, exact names and the other names of each file."""
    opened = open_page(small())
    opened.rule("newest")
    saved = opened.save(tmp_path / "marks.json")
    assert saved["schema"] == "dedupe-marks/1"
    assert saved["report"] == {"version": "0.1.0", "started": "2026-01-02T03:04:05Z", "roots": [{"path": "/data"}]}
    _, song, text = saved["groups"]
    assert song == {
        "id": 2,
        "size": 2**20,
        "algorithm": "sha256",
        "digest": hashlib.sha256(b"2").hexdigest(),
        "keep": [{"path": "/data/b/song.flac", "links": [{"path": "/data/a/other name.flac"}]}],
        "redundant": [{"path": "/data/a/song.flac", "links": [{"path": "/data/a/other name.flac"}]}],
    }
    (lossy,) = text["redundant"]
    assert lossy["path"] == "/data/b/caf\\xe9.txt"
    assert base64.b64decode(lossy["path_base64"]) == b"/data/b/caf\xe9.txt"


def test_the_page_says_what_to_do_with_the_marks(open_page: Any, tmp_path: Path) -> None:
    """Once they are saved, and not before: the command line for the file that was saved, whole at one click."""
    opened = open_page(small())
    assert opened.page.is_hidden("#command")
    opened.rule("newest")
    assert opened.page.is_hidden("#command")
    with opened.page.expect_download() as waiting:
        opened.page.click("#save")
    name = waiting.value.suggested_filename
    program, command, file, *options = opened.text("#command").split()
    assert (program, command, file, options) == ("dedupe", "apply", name, ["--trash"])
    opened.page.click("#command")
    assert opened.page.evaluate("getSelection().toString()") == opened.text("#command")
    told = subprocess.run([sys.executable, "-m", "dedupe", command, "--help"], capture_output=True, check=True).stdout
    assert all(option.encode() in told for option in options)
    assert shlex.split(opened.text("#command")) == opened.text("#command").split()
    assert re.fullmatch(r"[\w.-]+", name)  # in no shell it needs quoting


def test_the_command_that_the_page_names_acts_on_what_was_chosen(open_page: Any, tmp_path: Path) -> None:
    """From a scan by the program, through the page, to the trash, and back: as a user does it, but for the question."""

    def dedupe(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "dedupe", *arguments]
        return subprocess.run(command, capture_output=True, check=False, cwd=tmp_path)

    names = ("photos/a b.jpg", "photos/\u00e9.jpg", "old disk/a b.jpg", "old disk/it's.jpg")
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"one" * 2000 if "a b" in name else b"two" * 2000)
    assert dedupe("scan", "photos", "old disk", "--no-cache", "--output", "dups.html").returncode == 0
    opened = open_page(tmp_path / "dups.html")
    opened.rule("folder", str(tmp_path / "photos"))
    with opened.page.expect_download() as waiting:
        opened.page.click("#save")
    waiting.value.save_as(tmp_path / waiting.value.suggested_filename)
    _, *command = shlex.split(opened.text("#command"))
    done = dedupe(*command, "--yes")
    assert done.returncode == 0, done.stderr
    assert [name for name in names if (tmp_path / name).exists()] == list(names[:2])
    assert dedupe("undo").returncode == 0
    assert all((tmp_path / name).exists() for name in names)


def test_each_saved_file_has_a_name_of_its_own(open_page: Any) -> None:
    """A browser numbers a name that is taken, and then the command would act on the older marks."""
    opened = open_page(small())
    opened.rule("newest")
    names = set()
    for _ in range(3):
        with opened.page.expect_download() as waiting:
            opened.page.click("#save")
        names.add(waiting.value.suggested_filename)
        assert opened.text("#command").split()[2] == waiting.value.suggested_filename
    assert len(names) == 3


@pytest.mark.parametrize("root", [rb"C:\Photos & more\100% (a)", rb"\\server\share\it's"])
def test_on_windows_no_command_is_named_that_would_be_refused(open_page: Any, root: bytes) -> None:
    """There nothing acts on files yet: the page says so."""
    scan = scan_of(group(1, root + rb"\one.bin", root + rb"\two.bin", size=5000))
    opened = open_page(replace(scan, roots=[root]))
    opened.rule("newest")
    opened.page.click("#save")
    assert opened.page.is_hidden("#next")
    assert "offered on Linux only so far" in opened.text("#elsewhere")


def test_saved_marks_come_back(open_page: Any, tmp_path: Path) -> None:
    """Marks that were saved are the same after loading, undecodable names among them; foreign ones are counted."""
    opened = open_page(small())
    opened.rule("oldest")
    saved = opened.save(tmp_path / "marks.json")
    saved["groups"].append({**saved["groups"][0], "digest": "00"})
    saved["groups"][0]["redundant"].pop()  # a copy that the marks do not name
    (tmp_path / "marks.json").write_text(json.dumps(saved), encoding="utf-8")
    opened.rule("clear")
    opened.page.set_input_files("#load", tmp_path / "marks.json")
    opened.until("#said", "Marks loaded")
    assert opened.text("#said") == "Marks loaded for 3 groups; 1 fit no group of this page and were left out."
    again = opened.save(tmp_path / "again.json")["groups"]
    assert again[1:] == saved["groups"][1:3]
    assert [file["path"] for file in again[0]["keep"]] == ["/data/a/long folder/film.mkv", "/data/c/x.mkv"]


@pytest.mark.parametrize("text", ["", "[]", "null", '{"schema": "dedupe-report/1"}', '{"schema": "dedupe-marks/1"}'])
def test_a_file_without_marks_changes_nothing(open_page: Any, tmp_path: Path, text: str) -> None:
    """A file that is no marks file gets one sentence, and the marks stay."""
    opened = open_page(small())
    opened.rule("newest")
    (tmp_path / "other.json").write_text(text, encoding="utf-8")
    opened.page.set_input_files("#load", tmp_path / "other.json")
    opened.until("#said", "That file holds no marks")
    assert opened.text("#chosen") == "Chosen in 3 of 3 groups"
