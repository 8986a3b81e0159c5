"""The HTML report in a real Chromium without a network: what a reader does in it, by mouse and by keyboard.

Needs Playwright's Python package and a Chromium of the system (`DEDUPE_CHROMIUM` names another).  Where one of them is
absent these tests are skipped with that reason; in CI an absence is a failure.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dedupe.report.base import Style
from dedupe.report.html import render
from dedupe.result import ScanResult
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
