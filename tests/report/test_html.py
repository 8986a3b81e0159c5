"""The HTML report as bytes: what it embeds, what it escapes, and what it admits to leaving out."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupe.digests.base import BackendChoice
from dedupe.report import format_for, html, htmltext
from dedupe.report.base import Style
from dedupe.result import (
    File,
    FolderCount,
    Group,
    GroupList,
    Problem,
    ProblemKind,
    Proof,
    ScanResult,
    SkipReason,
    Totals,
)

HOSTILE = (
    b"<img src=x onerror=alert(1)>.bin",
    b'a" onmouseover="alert(1).bin',
    b"</script><script>alert(1)<",
    b"<!--",
    b"</style><style>",
    b"${data}",
    b"a\xe2\x80\xaegpj.exe",  # right-to-left override
    b"caf\xe9\n\x1b[31m",
)


def group(number: int, *paths: bytes, size: int = 1000, links: tuple[bytes, ...] = ()) -> Group:
    """Make a group of files that differ in their paths only."""
    files = [File(path, 1_600_000_000_123_456_789, 1, place, links=links) for place, path in enumerate(paths)]
    return Group(number, size, "sha256", hashlib.sha256(paths[0]).digest(), files)


def result(*groups: Group, problems: tuple[Problem, ...] = (), roots: tuple[bytes, ...] = (b"/data",)) -> ScanResult:
    """Make a result that holds `groups` and sums that fit them."""
    totals = Totals(
        files=100,
        bytes=10_000_000,
        skipped={SkipReason.EMPTY: 7, SkipReason.DEFAULT_EXCLUDE: 1200},
        groups=len(groups),
        reclaimable_bytes=sum(each.reclaimable_bytes for each in groups),
        problems=len(problems),
    )
    return ScanResult(
        version="0.1.0",
        started="2026-01-02T03:04:05Z",
        seconds=1.25,
        roots=roots,
        confirm="sha256",
        backend=BackendChoice("hashlib", "the only one"),
        totals=totals,
        groups=GroupList(groups),
        problems=problems,
    )


def page_of(scan: ScanResult) -> str:
    """Render the whole page as text."""
    return b"".join(html.render(scan, Style())).decode("utf-8")


def data_of(page: str) -> dict:
    """Read the embedded groups back, as the page does."""
    packed = re.search(r'<script type="application/octet-stream" id="data">([A-Za-z0-9+/=]*)</script>', page)
    return json.loads(zlib.decompress(base64.b64decode(packed.group(1), validate=True)))


def exact(name: object) -> bytes:
    """Return the bytes that a name in the data stands for."""
    return name.encode() if isinstance(name, str) else base64.b64decode(name[1])


def path_at(data: dict, folder: int, name: object) -> bytes:
    """Join the parts of a path."""
    parts = [exact(name)]
    while folder >= 0:
        folder, part = data["folders"][folder]
        parts.append(exact(part))
    return b"".join(reversed(parts))


def paths_of(data: dict) -> list[list[bytes]]:
    """Return the exact paths of each group."""
    found = []
    for row in data["groups"]:
        name, paths = None, []
        for at in range(4, len(row), 5):
            name = row[at + 1] or name
            paths.append(path_at(data, row[at], name))
        found.append(paths)
    return found


class Tags(HTMLParser):
    """Collects the tags of a page with their attributes' names, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, ...]] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append((tag, *(name for name, _ in attrs)))

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.words += data


def tags_of(page: str) -> Tags:
    """Parse a page."""
    tags = Tags()
    tags.feed(page)
    return tags


names = st.binary(min_size=1, max_size=12).map(lambda name: name.replace(b"/", b"_").replace(b"\0", b"_"))
posix = st.lists(names, min_size=1, max_size=5).map(lambda parts: b"/" + b"/".join(parts))
windows = st.lists(names.map(lambda name: name.replace(b"\\", b"_")), min_size=1, max_size=4).map(
    lambda parts: b"C:\\" + b"\\".join(parts)
)
odd = st.sampled_from(
    [b"relative/name", b"name", b"//host/share/x", b"\\\\host\\share\\x", b"/a//b", b"C:/x/y", b"/\xff"]
)


@settings(deadline=None)
@given(st.lists(st.lists(posix | windows | odd, min_size=2, max_size=4), max_size=4))
def test_any_path_comes_back_exactly(groups: list[list[bytes]]) -> None:
    """Whatever bytes a path has, the embedded data gives them back."""
    data = data_of(page_of(result(*(group(n, *paths) for n, paths in enumerate(groups, 1)))))
    assert paths_of(data) == groups


def test_numbers_digest_and_links_come_back() -> None:
    """Id, size, algorithm, digest, times and other names of a file are all in the data."""
    one = group(7, b"/data/a", b"/data/b/a", size=2**40, links=(b"/data/\xff",))
    data = data_of(page_of(result(one)))
    (row,) = data["groups"]
    assert row[:2] == [7, 2**40]
    assert data["algorithms"][row[2]] == "sha256"
    assert bytes.fromhex(row[3]) == one.digest
    assert row[6] == row[11] == 1_600_000_000_123_456
    assert row[10] == 0  # the same name as before is not written twice
    assert [(g, file, data["kinds"][kind], path_at(data, *rest)) for g, file, kind, *rest in data["links"]] == [
        (0, 0, "hard link", b"/data/\xff"),
        (0, 1, "hard link", b"/data/\xff"),
    ]


def test_kinds_of_names_roots_and_proofs_come_back() -> None:
    """What a further name is, which root a file was found below and how it was proven are in the data."""
    one = group(1, b"/data/a", b"/data/b")
    first = one.files[0]._replace(root=1, proof=Proof.REMEMBERED, symlinks=(b"/data/s",), mounted=(b"/mnt/a",))
    made = replace(result(replace(one, files=(first, one.files[1]))), roots=(b"/x", b"/data"))
    data = data_of(page_of(made))
    (row,) = data["groups"]
    assert data["roots"][row[7]] == "/data"
    assert data["proofs"][row[8]] == "remembered"
    assert row[12:] == [-1, -1]
    assert [(data["kinds"][kind], path_at(data, *rest)) for _, _, kind, *rest in data["links"]] == [
        ("symbolic link", b"/data/s"),
        ("mounted", b"/mnt/a"),
    ]


def test_a_group_that_was_only_compared_has_no_digest() -> None:
    """Where files were compared without a digest, the data says so."""
    (row,) = data_of(page_of(result(replace(group(1, b"/a", b"/b"), digest=None, algorithm="bytes"))))["groups"]
    assert row[3] == 0


def test_very_deep_paths_are_no_trouble() -> None:
    """A path of more folders than Python has stack frames is a path like any other."""
    deep = b"/a" * 2000
    assert paths_of(data_of(page_of(result(group(1, deep, deep + b"b"))))) == [[deep, deep + b"b"]]


def test_hostile_names_add_no_tag_and_no_attribute() -> None:
    """Names in groups, roots, problems, messages and notes leave the page's markup as it is."""

    def page(*bad: bytes) -> Tags:
        problems = tuple(Problem(b"/data/" + name, ProblemKind.IO, f"broken {name!r}") for name in bad)
        groups = [group(1, *(b"/data/<" + name + b"/" + name for name in bad))]
        scan = result(*groups, problems=problems, roots=bad)
        return tags_of(page_of(replace(scan, notes=[repr(name) for name in bad], started=repr(bad))))

    tags = page(*HOSTILE)
    assert tags.tags == page(*(b"plain%d" % n for n in range(len(HOSTILE)))).tags
    assert "<img src=x onerror=alert(1)>.bin" in tags.words
    assert "a\\u202egpj.exe" in tags.words
    assert "caf\\xe9\\n\\x1b[31m" in tags.words


def test_the_policy_admits_the_pages_own_code_and_nothing_else() -> None:
    """The Content-Security-Policy has the hashes of exactly the script and the style that are in the page."""
    page = page_of(result(group(1, b"/a", b"/b")))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page).group(1)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)

    def source(text: str) -> str:
        return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    assert policy.replace("&#x27;", "'").split("; ") == [
        "default-src 'none'",
        f"script-src '{source(script)}'",
        f"style-src '{source(style)}'",
        "img-src file: data:",
        "connect-src 'none'",
        "form-action 'none'",
        "base-uri 'none'",
    ]
    assert page.count("<script") == page.count("</script") == 2
    assert "<!--" not in page
    assert not re.search(r'(?:src|href|action)="(?!#|data:,)', page)


def test_no_part_of_the_page_writes_markup_or_runs_text() -> None:
    """The scripts know no way from a text to markup or code."""
    banned = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|Function\(|fetch\(")
    scripts = [part for part in resources.files("dedupe.report").joinpath("page").iterdir() if part.suffix == ".js"]
    assert len(scripts) > 1
    assert [part.name for part in scripts if banned.search(part.read_text(encoding="utf-8"))] == []


def test_the_library_is_as_published_and_its_licence_is_in_the_page() -> None:
    """d3-hierarchy is the file of its 3.1.3 release, and the notice that its licence asks for goes wherever it goes."""
    page = resources.files("dedupe.report").joinpath("page")
    library = page.joinpath("d3-hierarchy.min.js").read_text(encoding="utf-8").encode()
    assert hashlib.sha256(library).hexdigest() == "971f374ce9fdbec711eb2358003e2bb755bff22ec6852dc5ebd59f987270db64"
    assert page.joinpath("d3-hierarchy.LICENSE").read_text(encoding="utf-8") in page_of(result())


def test_the_same_result_gives_the_same_bytes() -> None:
    """Nothing in the page depends on when or where it was made."""
    scan = result(*(group(n, b"/a/%d" % n, b"/b/%d" % n) for n in range(1, 50)))
    assert page_of(scan) == page_of(scan)


def test_a_group_costs_little() -> None:
    """A group of two takes well under 150 bytes of the page: 32 are its digest."""
    scan = result(*(group(n, b"/photos/2019/IMG_%05d.jpg" % n, b"/backup/IMG_%05d.jpg" % n) for n in range(1, 5001)))
    assert (len(page_of(scan)) - len(page_of(result()))) / 5000 < 150


def test_the_page_comes_in_pieces() -> None:
    """A large report is never held as one text."""
    scan = result(*(group(n, b"/a/%d" % n, b"/b/%d" % n) for n in range(1, 20_001)))
    pieces = list(html.render(scan, Style()))
    assert max(map(len, pieces)) < len(b"".join(pieces)) / 4


@pytest.mark.parametrize(("limit", "value"), [("MAX_GROUPS", 64), ("MAX_DATA", 1)])
def test_what_is_too_much_is_counted(monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    """Groups beyond the page's limits are left out from the smaller end, and the page can say how many."""
    monkeypatch.setattr(html, limit, value)
    data = data_of(page_of(result(*(group(n, b"/a/%d" % n, b"/b/%d" % n) for n in range(1, 101)))))
    assert [row[0] for row in data["groups"]] == list(range(1, 65))
    assert data["left"] == [36, 36_000]


def test_skips_and_problems_stand_in_the_page_without_script() -> None:
    """What was left out and what could not be read is plain HTML."""
    words = tags_of(page_of(result(problems=(Problem(b"/data/x", ProblemKind.PERMISSION, "Permission denied"),)))).words
    assert "Left out on purpose: 1,207" in words
    assert "1,200 entries excluded by default" in words
    assert "Could not take part: 1" in words
    assert "permission /data/x Permission denied" in words


def test_long_lists_of_problems_say_what_they_leave_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a limit the problems are counted, not listed."""
    monkeypatch.setattr(htmltext, "MAX_LINES", 2)
    problems = tuple(Problem(b"/p%d" % n, ProblemKind.IO, "no") for n in range(5))
    words = tags_of(page_of(result(problems=problems))).words
    assert "/p1" in words
    assert "/p2" not in words
    assert "The first 2 of 5 are listed here" in words


def test_folders_are_told_where_they_are_asked_for() -> None:
    """Identical folders, and those that another holds, stand in the page in plain, escaped HTML."""
    groups = [group(n, b"/data/a/%d" % n, b"/data/<b>/%d" % n, b"/data/c/x%d" % n) for n in range(1, 4)]
    folders = {
        b"/data/a": FolderCount(3, 3000, 0),
        b"/data/<b>": FolderCount(3, 3000, 0),
        b"/data/c": FolderCount(4, 4000, 1),
    }
    scan = replace(result(*groups), folders=folders)
    words = " ".join(tags_of(b"".join(html.render(scan, Style(folders=True))).decode()).words.split())
    assert "Identical folders: 1 set" in words
    assert "2.9 KiB reclaimable: 3 files, 2.9 KiB in each/data/<b>/data/a" in words
    assert "holds 75 % of /data/c: 3 of 4 files, 2.9 KiB (1 entry not compared)" in words
    assert "Identical folders" not in page_of(scan)
    unknown = b"".join(html.render(replace(scan, folders={}), Style(folders=True))).decode()
    assert "Folders were not compared" in tags_of(unknown).words


def test_an_empty_result_is_a_page_too() -> None:
    """No groups, no bytes and no problems make a page that says so."""
    page = page_of(replace(result(), totals=Totals()))
    assert "Could not take part" not in page
    assert data_of(page)["groups"] == []


def test_the_ending_chooses_this_format() -> None:
    """`--output report.html` renders this page."""
    assert b"".join(format_for("report.html").render(result(), Style())) == page_of(result()).encode()
