"""The HTML report in a real Chromium without a network: what a reader does in it, by mouse and by keyboard.

Needs Playwright's Python package and a Chromium of the system (`DEDUPE_CHROMIUM` names another).  Where one of them is
absent these tests are skipped with that reason; in CI an absence is a failure.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shlex
import struct
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dedupe.report.base import Style
from dedupe.report.html import render
from dedupe.result import Proof, ScanResult
from tests.report.opened import group, scan_of, small

MANY = 100_000
KINDS = ("jpg", "mp4", "flac", "pdf", "zip", "iso", "py", "")


def many() -> ScanResult:
    """Make a result of `MANY` groups over some thousand folders."""
    groups = []
    for n in range(MANY):
        ending = KINDS[n % len(KINDS)]
        name = b"IMG_%05d%s" % (n, f".{ending}".encode() if ending else b"")
        paths = [b"/data/photos/%d/%02d/" % (2000 + n % 25, n % 12), b"/data/backup/disk %d/" % (n % 500)]
        if n % 3 == 0:
            paths.append(b"/data/work/deep/er/%d/" % (n % 2000))
        size = (MANY - n) * 7919 % 10**6 + (MANY - n) * 1000
        groups.append(group(n + 1, *(path + name for path in paths), size=size))
    return scan_of(*groups)


@pytest.fixture(scope="module")
def large_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the report of `MANY` groups once."""
    path = tmp_path_factory.mktemp("large") / "report.html"
    with path.open("wb") as file:
        file.writelines(render(many(), Style()))
    return path


def test_every_action_on_100000_groups_is_soon_done(open_page: Any, large_report: Path, tmp_path: Path) -> None:
    """Sorting, filtering, marking, saving and loading are done and drawn at once, with room for a busy machine."""
    opened = open_page(large_report)
    assert large_report.stat().st_size < 15_000_000
    assert opened.status().startswith("All 100,000 groups")
    took = {}

    for key in ("name", "size", "copies", "kind", "newest", "frees", "chosen"):
        button = f"document.querySelector('[data-key={key}]')"
        took[f"sort by {key}"] = opened.seconds(
            f"document.body.dataset.was = {button}.parentElement.ariaSort; {button}.click()",
            f"{button}.parentElement.ariaSort !== document.body.dataset.was",
        )

    search = "const s = document.getElementById('search'); s.value = {}; s.dispatchEvent(new Event('input'))"
    count = "document.getElementById('count').textContent"
    took["search"] = opened.seconds(
        search.format("['IMG_0012', '/2003/ PHOTOS', 'disk img_9999'][n]"),
        f"{count}.startsWith(['10', '4,000', '10'][n] + ' of')",
    )
    took["search for nothing"] = opened.seconds(
        f"{count} = ''; " + search.format("'zzz' + n"), f"{count}.startsWith('0 of')"
    )
    took["show all"] = opened.seconds("document.getElementById('reset').click()", f"{count}.startsWith('All')")
    choose = "const s = document.getElementById('{}'); s.value = {}; s.dispatchEvent(new Event('change'))"
    took["kind"] = opened.seconds(f"{count} = ''; " + choose.format("kind", "n"), f"{count}.startsWith('12,500')")
    took["bar"] = opened.seconds(
        "document.getElementById('reset').click(); document.querySelector('#bars li:last-child button').click()",
        f"!{count}.startsWith('All')",
    )
    opened.page.click("#reset")

    said = "document.getElementById('said').textContent"
    for rule in ("newest", "oldest", "shortest", "clear", "outside", "clear", "folder"):
        folder = "document.getElementById('rule-folder').value = ['/data/photos', '/data/work/', '/data/backup'][n];"
        took[f"rule {rule}"] = opened.seconds(
            f"document.getElementById('said').textContent = ''; {choose.format('rule', repr(rule))}; {folder}"
            "document.getElementById('apply').click()",
            f"{said} !== ''",
        )
    assert opened.text("#chosen") == "Chosen in 100,000 of 100,000 groups"
    took["undo"] = opened.seconds("document.getElementById('undo').click()", "true")

    opened.page.evaluate(
        """() => {
          const make = URL.createObjectURL;
          URL.createObjectURL = (blob) => { window.saved = blob; return make.call(URL, blob); };
        }"""
    )
    opened.rule("newest")
    saved = opened.save(tmp_path / "marks.json")
    took["save"] = opened.seconds("document.getElementById('save').click()", "true")
    opened.rule("clear")
    assert opened.text("#chosen") == "Nothing chosen yet"
    took["load"] = opened.seconds(  # the file chooser is no script's to open: its file is given here
        "const given = new DataTransfer(); given.items.add(new File([window.saved], 'marks.json'));"
        f"{said} = ''; const load = document.getElementById('load'); load.files = given.files;"
        "load.dispatchEvent(new Event('change'))",
        f"{said} !== ''",
    )
    assert opened.text("#said") == "Marks loaded for 100,000 groups."
    assert opened.save(tmp_path / "again.json")["groups"] == saved["groups"]

    took["rule wanted"] = opened.seconds(
        f"{said} = ''; {choose.format('rule', repr('wanted'))}; document.getElementById('apply').click()",
        f"{said} !== ''",
    )
    assert opened.text("#said") == "Marked as wanted: 100,000 groups."
    took["save the accepted list"] = opened.seconds("document.getElementById('save-accepted').click()", "true")
    took["load the accepted list"] = opened.seconds(
        "const given = new DataTransfer(); given.items.add(new File([window.saved], 'accepted.txt'));"
        f"{said} = ''; const load = document.getElementById('load-accepted'); load.files = given.files;"
        "load.dispatchEvent(new Event('change'))",
        f"{said} !== ''",
    )
    assert opened.text("#said") == "100,000 groups of the list marked as wanted."
    opened.page.evaluate("document.getElementById('grid').focus()")
    press = "document.getElementById('grid').dispatchEvent(new KeyboardEvent('keydown', {{ key: {} }}))"
    took["key"] = opened.seconds(press.format("['End', 'Home', 'PageDown'][n]"), "true")
    took["scroll"] = opened.seconds("document.getElementById('grid').scrollTop = 900000 * (n + 1)", "true")
    assert {action: seconds for action, seconds in took.items() if seconds >= 5} == {}
    assert opened.page.locator(".row").count() < 60


def test_sorting_and_filtering_change_the_rows(open_page: Any) -> None:
    """The rows follow the column that was chosen and the words of the search; the status says how many are left."""
    opened = open_page(small())
    assert opened.names() == ["film.mkv", "song.flac", "caf\\xe9.txt"]
    opened.page.click("[data-key=name]")
    assert opened.names() == ["caf\\xe9.txt", "film.mkv", "song.flac"]
    assert opened.page.get_attribute("[role=columnheader]:has([data-key=name])", "aria-sort") == "ascending"
    assert opened.page.locator("[aria-sort$=ending]").count() == 1
    opened.page.click("[data-key=name]")
    assert opened.names()[0] == "song.flac"
    opened.page.fill("#search", "LONG film")
    opened.until("#count", "1 of 3 groups")
    assert opened.names() == ["film.mkv"]
    opened.page.fill("#search", "nowhere")
    opened.page.wait_for_selector("#nothing:visible")
    opened.page.click("#reset")
    assert opened.status() == "All 3 groups, 6.0 GiB can be freed"
    opened.page.select_option("#least", "1048576")
    assert opened.status().startswith("2 of 3 groups")
    opened.page.select_option("#least", "0")
    opened.page.select_option("#kind", label="Audio")
    assert opened.names() == ["song.flac"]


def test_the_space_narrows_the_list(open_page: Any) -> None:
    """A folder or a kind that is chosen in the treemap or the bars is a filter of the list, and can be taken off."""
    opened = open_page(small())
    assert opened.text("#trail") == "/data/"
    opened.page.click("#bars button:has-text('a')")
    assert opened.text("#chips") == "in /data/a/\n\u00d7"
    assert sorted(opened.names()) == ["film.mkv", "song.flac"]
    opened.page.click(".chip")
    assert opened.status().startswith("All 3")
    opened.page.click("[data-by=kind]")
    opened.page.click("#treemap .box:has-text('Video')")
    assert opened.names() == ["film.mkv"]
    assert opened.text("#trail li:last-child") == "Video"
    opened.page.click("#bars button")
    assert opened.text("#chips") == ".mkv\n\u00d7"


@pytest.mark.parametrize(
    ("rule", "folder", "kept"),
    [
        ("newest", "", ["b/film.mkv", "b/song.flac", "b/sub/plain.txt"]),
        ("oldest", "", ["a/long folder/film.mkv", "a/song.flac", "b/caf\\xe9.txt"]),
        ("shortest", "", ["c/x.mkv", "a/song.flac", "b/caf\\xe9.txt"]),
        ("folder", "/data/b", ["b/film.mkv", "b/song.flac", "b/caf\\xe9.txt", "b/sub/plain.txt"]),
        ("folder", "/data/a/", ["a/long folder/film.mkv", "a/song.flac"]),
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


def test_everything_can_be_done_by_keyboard(open_page: Any) -> None:
    """Keys move in the list, open a group, mark its copies, take marks back and reach the search."""
    opened = open_page(small())
    press = opened.page.keyboard.press
    active = "document.getElementById(document.getElementById('grid').getAttribute('aria-activedescendant')).innerText"
    opened.page.focus("#grid")
    press("End")
    assert "caf" in opened.page.evaluate(active)
    press("Home")
    press("ArrowDown")
    assert "song.flac" in opened.page.evaluate(active)
    assert opened.page.locator(".row[aria-selected=true]").count() == 1
    press("2")
    assert opened.kept() == ["/data/b/song.flac"]
    press("o")
    assert opened.kept() == ["/data/a/song.flac"]
    press("u")
    assert opened.kept() == ["/data/b/song.flac"]
    press("Backspace")
    assert opened.kept() == []
    press("Enter")
    assert opened.page.evaluate("document.activeElement.id") == "detail-title"
    press("Tab")
    press("Enter")
    assert opened.text("#choice").startswith("1 copy stays")
    press("Escape")
    assert opened.page.evaluate("document.activeElement.id") == "grid"
    press("/")
    assert opened.page.evaluate("document.activeElement.id") == "search"
    opened.page.focus("#bars button")
    press("Enter")
    assert opened.page.locator(".chip").count() == 1


def test_what_differs_in_the_paths_is_marked(open_page: Any) -> None:
    """The folders that tell the copies apart are marked; the shared start and end are not."""
    opened = open_page(scan_of(group(1, b"/data/2019/may/a.txt", b"/data/old/2019/may/a.txt", b"/data/x/may/a.txt")))
    marked = opened.page.eval_on_selector_all(
        ".path", "all => all.map(path => [...path.querySelectorAll('mark')].map(m => m.textContent).join(''))"
    )
    assert marked == ["2019/", "old/2019/", "x/"]
    assert opened.page.locator(".path").all_inner_texts()[1] == "/data/old/2019/may/a.txt"


HOSTILE = (
    b"<img src=x onerror=alert(1)>.bin",
    b'" onmouseover="alert(1)',
    b"</script><script>alert(1)<",
    b"</script>",
    b"<!--",
    b"--><script>alert(1)</script>",
    b"${data}",
    b"&lt;b&gt;",
    b"javascript:alert(1)",
    b"a\xe2\x80\xaegpj.exe",
    b"line\nbreak\x1b[31m",
    b"caf\xe9<b>.jpg",
    b"%2e%2e%2f<svg onload=alert(1)>",
)


def test_hostile_names_stay_text(open_page: Any, tmp_path: Path) -> None:
    """Names that are markup, script, bidi or control characters are shown as text wherever they appear."""
    groups = [
        group(n, b"/data/<" + name + b"/script>" + name, b"/data/b/" + name, size=900 - n, links=(b"/data/l/" + name,))
        for n, name in enumerate(HOSTILE, 1)
    ]
    notes = tuple(name.decode("latin-1") for name in HOSTILE)
    opened = open_page(scan_of(*groups, roots=(b"/data", *HOSTILE), notes=notes), harmless="ERR_FILE_NOT_FOUND")
    shape = "[...document.querySelectorAll('script, img, svg, iframe, b:not(#chosen):not(.problems b)')].map(e => e.id)"
    assert opened.page.evaluate(shape) == ["data", ""]
    for n, name in enumerate(HOSTILE):
        opened.page.focus("#grid")
        opened.page.keyboard.press("ArrowDown" if n else "Home")
        opened.page.hover(".row[aria-selected=true]")
        shown = opened.text(".copy:last-child .path")
        if name.isascii() and name.decode().isprintable():
            assert shown == "/data/b/" + name.decode()
        assert opened.page.evaluate(shape) == ["data", ""]
    for bar in range(opened.page.locator("#bars button").count()):
        opened.page.locator("#bars button").nth(bar).click()
        opened.page.click("#reset")
    opened.rule("newest")
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.page.evaluate(shape) == ["data", ""]
    words = opened.page.inner_text("body")
    assert "\u202e" not in words
    assert "\x1b" not in words
    saved = opened.save(tmp_path / "marks.json")
    kept = [file for each in saved["groups"] for file in each["keep"]]
    exact = [base64.b64decode(file["path_base64"]) if "path_base64" in file else file["path"].encode() for file in kept]
    assert exact == [b"/data/b/" + name for name in HOSTILE]
    assert [file for file in kept if "path_base64" in file] == [kept[HOSTILE.index(b"caf\xe9<b>.jpg")]]


def test_addresses_are_encoded_byte_by_byte(open_page: Any) -> None:
    """A link leads to the exact file: nothing in a name is read as part of an address."""
    paths = {
        b"/data/a b/100%25?x#y.txt": "file:///data/a%20b/100%2525%3Fx%23y.txt",
        b"/data/caf\xe9\\\xc3\xa9.txt": "file:///data/caf%E9%5C%C3%A9.txt",
        b"//host/share/x.txt": "file:///host/share/x.txt",
        b"C:\\Users\\a b\\x.txt": "file:///C:/Users/a%20b/x.txt",
        b"\\\\server\\share\\x.txt": "file://server/share/x.txt",
    }
    opened = open_page(scan_of(group(1, *paths, b"relative.txt")))
    links = opened.page.eval_on_selector_all(
        ".copy", "all => all.map(copy => copy.querySelector('a')?.getAttribute('href') ?? null)"
    )
    assert links == [*paths.values(), None]


def png(path: Path) -> bytes:
    """Write a small picture and return its path."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 40, 30, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + b"\x20\x90\x80" * 40 for _ in range(30)))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))
    return os.fsencode(path)


def test_pictures_are_shown_where_the_browser_may_read_them(open_page: Any, tmp_path: Path) -> None:
    """A picture is shown from the first copy that can be read; with none there is no broken image."""
    odd = tmp_path / "50% #1"
    odd.mkdir()
    real, gone, server = png(odd / "a.png"), os.fsencode(tmp_path / "gone.png"), b"\\\\server\\share\\c.png"
    scan = scan_of(
        group(1, gone, real, size=300),
        group(2, gone, gone + b".png", size=200),
        group(3, server, server + b".png", size=100),
    )
    opened = open_page(scan, harmless="ERR_FILE_NOT_FOUND")
    opened.page.wait_for_selector("#preview img:visible")
    assert opened.page.evaluate("document.querySelector('#preview img').naturalWidth") == 40
    opened.page.focus("#grid")
    for _ in range(2):
        opened.page.keyboard.press("ArrowDown")
        opened.page.wait_for_timeout(200)
        assert opened.page.locator("#preview img").count() == 0
        assert opened.page.is_hidden("#preview")
    assert not [url for url in opened.requests if "server" in url]


def test_the_policy_stops_what_the_code_does_not_do(open_page: Any) -> None:
    """Even code that got into the page could send nothing and run no script of its own."""
    opened = open_page(small(), harmless="Content Security Policy")
    stopped = opened.page.evaluate(
        """async () => {
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.body.append(script);
          document.body.insertAdjacentHTML("beforeend", "<b onclick='window.ran = true' id=trap></b>");
          document.getElementById("trap").click();
          const sent = await fetch("https://example.org/").then(() => "sent", () => "refused");
          return [sent, window.ran ?? "not run"];
        }"""
    )
    assert stopped == ["refused", "not run"]


def test_limits_are_stated(open_page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the page does not hold every group, it says how many and how much are missing."""
    monkeypatch.setattr("dedupe.report.html.MAX_GROUPS", 64)
    opened = open_page(scan_of(*(group(n, b"/a/%d" % n, b"/b/%d" % n) for n in range(1, 101))))
    assert opened.text("#limit").startswith("This page holds the 64 groups that waste most. 36 smaller groups with")
    assert "35.2 KiB are not in it" in opened.text("#limit")


def test_a_group_of_many_copies_is_listed_in_steps(open_page: Any) -> None:
    """Two hundred copies at once; a button tells how many there are and shows the next."""
    opened = open_page(scan_of(group(1, *(b"/data/%04d" % n for n in range(450)))))
    assert opened.page.locator(".copy").count() == 200
    assert opened.text("#more") == "Show 200 more (200 of 450 listed)"
    opened.page.click("#more")
    opened.page.click("#more")
    assert opened.page.locator(".copy").count() == 450
    assert opened.page.is_hidden("#more")


def test_paper_has_the_groups_in_the_order_of_the_page(open_page: Any) -> None:
    """A print lists the groups that are shown, up to a limit that it states, and no controls."""
    opened = open_page(scan_of(*(group(n, b"/a/%d" % n, b"/b/%d" % n) for n in range(1, 601))))
    opened.rule("newest")
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    opened.page.emulate_media(media="print")
    assert opened.text("#paper p") == "The first 500 of 600 groups, in the order of the page."
    assert "redundant: /a/1\nkeep: /b/1" in opened.text(".printed >> nth=0")
    assert opened.page.is_hidden("#save")
    assert opened.page.is_hidden("#grid")


PAIRS = [
    *((ink, ground) for ink in ("ink", "soft", "accent") for ground in ("page", "card", "sunk", "accent-wash")),
    ("differ", "differ-wash"),
    ("warn", "warn-wash"),
    ("keep", "keep-wash"),
    ("soft", "keep-wash"),
    ("ink", "keep-wash"),
    ("accent-ink", "accent"),
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_both_schemes(open_page: Any, scheme: str) -> None:
    """Every pair of text and ground reaches 4.5 to 1 (WCAG 2.2 AA), in the system's scheme and by the button."""
    other = {"light": "dark", "dark": "light"}[scheme]
    opened = open_page(small(), color_scheme=other)
    opened.page.click("#theme")
    assert opened.page.evaluate("document.documentElement.dataset.theme") == scheme
    grounds = [(f"var(--{ink})", f"var(--{ground})", "") for ink, ground in PAIRS]
    grounds += [("var(--ink)", "var(--kind)", f"kind-{kind}") for kind in range(8)]
    script = """pairs => pairs.map(([ink, ground, name]) => {
      const probe = document.createElement("p");
      probe.className = name;
      probe.style.color = ink;
      probe.style.backgroundColor = ground;
      document.body.append(probe);
      const style = getComputedStyle(probe);
      const light = (text) => {
        const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        const [r, g, b] = text.match(/[\\d.]+/g).map(n => linear(n / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const [a, b] = [light(style.color), light(style.backgroundColor)].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05);
    })"""
    ratios = opened.page.evaluate(script, grounds)
    assert [(pair, ratio) for pair, ratio in zip(grounds, ratios, strict=True) if ratio < 4.5] == []


@pytest.mark.parametrize("width", [360, 1400])
def test_the_page_fits_its_window(open_page: Any, width: int) -> None:
    """Neither a phone nor a wide window has to scroll sideways, even with long names."""
    long = b"/data/" + b"very_long_folder_name_without_a_break" * 5 + b"/"
    opened = open_page(
        scan_of(group(1, long + b"a" * 200, b"/data/b"), roots=(long,)), viewport={"width": width, "height": 800}
    )
    opened.page.locator(".row").first.click()
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.page.is_visible("#copies")


def test_without_scripts_the_totals_remain(browser: Any, tmp_path: Path) -> None:
    """Where scripts are switched off, the totals and the problems are there, and no empty frames."""
    path = tmp_path / "report.html"
    path.write_bytes(b"".join(render(small(), Style())))
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.is_visible("text=6.0 GiB")
    assert page.is_visible("text=Permission denied")
    assert page.is_visible("noscript p")
    assert page.is_hidden("#groups")
    context.close()


def test_a_page_without_duplicates_says_so(open_page: Any) -> None:
    """A result without groups is a page that works."""
    opened = open_page(scan_of())
    assert opened.text("#nothing") == "No duplicates were found."
    assert opened.page.is_disabled("#apply")
