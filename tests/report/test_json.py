"""The JSON report: its contract, its schema, and the way back."""

from __future__ import annotations

import base64
import contextlib
import importlib
import json
import sys
import time
from dataclasses import replace
from importlib import resources
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupe.errors import DedupeError
from dedupe.report import FORMATS, Style
from dedupe.report.read.loader import load_report
from dedupe.result import File, FolderCount, Problem, ProblemKind, ScanResult
from tests.report_helpers import HOSTILE, few, group, hostile_result, rendered, result, results

SCHEMA = json.loads(resources.files("dedupe.report").joinpath("schema.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def validator() -> Any:
    """Return what judges reports by the schema; one of its parts needs a DLL that Debian 12's Wine does not have."""
    if sys.platform == "win32":
        reason = "jsonschema cannot be imported here"
        jsonschema = pytest.importorskip("jsonschema", reason=reason, exc_type=ImportError)
    else:
        jsonschema = importlib.import_module("jsonschema")
    return jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_one(validator: Any) -> None:
    """The schema file inside the package is valid itself."""
    validator.check_schema(SCHEMA)


@few
@given(results())
def test_json_to_result_to_json_is_identical(made: ScanResult) -> None:
    """A report read back and written again is the same to the byte, and has no lone surrogate."""
    style = Style(folders=True)
    written = rendered("json", made, style)
    assert b"\\ud" not in written.lower()
    read = load_report(written, b"r.json")
    assert rendered("json", read, style) == written
    assert read == replace(made, folders=read.folders)
    assert read.folders.items() <= made.folders.items()


@few
@given(made=results())
def test_every_report_fits_the_schema(validator: Any, made: ScanResult) -> None:
    """Whatever a scan found, the schema allows what is written of it."""
    validator.validate(json.loads(rendered("json", made, Style(folders=True))))


def test_the_keys_are_the_contract() -> None:
    """Keys and their order are promised to readers: a change here needs a new schema version."""
    made = replace(result([group(1, 5, [b"/data/a", b"/data/b"])]), folders={b"/data": FolderCount(3, 20, 1)})
    text = rendered("json", made).decode()
    assert text.splitlines() == [
        '{"schema": "dedupe-report/2", "version": "0.1.0", "started": "2026-01-02T03:04:05Z", "seconds": 1.25, '
        '"roots": ["/data"], "volumes": [{"id": "uuid:1234", "label": "photos", "file_system": "ext4", '
        '"mount_point": "/"}], "confirm": "sha256", "backend": {"name": "hashlib", "reason": "the only one here"}, '
        '"notes": [],',
        '"totals": {"files": 2, "bytes": 10, "skipped": {}, "groups": 1, "redundant_files": 1, '
        '"reclaimable_bytes": 5, "bytes_read": 0, "cache_hits": 0, "problems": 0},',
        '"groups": [',
        f'{{"id": 1, "size": 5, "algorithm": "sha256", "digest": "{"ab" * 32}", "proof": "compared", '
        '"reclaimable_bytes": 5, "files": ['
        '{"path": "/data/a", "modified_ns": 1700000000123456789, "device": "2049", "inode": "100", "root": 0, '
        '"volume": 0, "proof": "compared", "links": [], "symlinks": [], "mounted": []}, '
        '{"path": "/data/b", "modified_ns": 1700000000123456790, "device": "2049", "inode": "101", "root": 0, '
        '"volume": 0, "proof": "compared", "links": [], "symlinks": [], "mounted": []}]}],',
        '"problems": [],',
        '"folders": [',
        '{"path": "/data", "files": 3, "bytes": 20, "left_out": 1}]}',
    ]


def test_hostile_names_come_back_exactly() -> None:
    """Each name, link, root and problem is the same bytes after the way through JSON."""
    made = hostile_result()
    assert load_report(rendered("json", made), b"r.json") == made


def test_only_inexact_texts_have_base64() -> None:
    """Exact bytes stand beside a name that is not valid Unicode, and nowhere else."""
    document = json.loads(rendered("json", hostile_result()))
    files = document["groups"][0]["files"]
    assert {base64.b64decode(file["path_base64"])[6:] for file in files if "path_base64" in file} == {
        name for name in HOSTILE if b"\xe9" in name or b"\xed\xa0" in name
    }
    links = document["groups"][1]["files"][0]
    assert len(links["links_base64"]) == len(links["links"])
    assert links["mounted_base64"] == [base64.b64encode(b"/mnt/\xff").decode(), None]
    assert [volume.get("mount_point") for volume in document["volumes"]] == [None, "/media/\\xe9"]
    assert document["roots_base64"] == [None, base64.b64encode(b"/caf\xe9").decode()]


def test_the_folder_of_a_link_is_written() -> None:
    """A folder that holds nothing but a further name of a grouped file matters, too."""
    (first, second) = group(1, 5, [b"/data/a/1", b"/data/b/1"]).files
    linked = replace(group(1, 5, [b"/x", b"/y"]), files=(first._replace(links=(b"/data/c/link",)), second))
    counts = dict.fromkeys((b"/data/a", b"/data/b", b"/data/c"), FolderCount(1, 5, 0))
    document = json.loads(rendered("json", result([linked], folders=counts)))
    assert [folder["path"] for folder in document["folders"]] == ["/data/a", "/data/b", "/data/c"]


@pytest.mark.parametrize("name", ["json", "jsonl", "text", "db"])
def test_sentences_with_lone_surrogates_break_nothing(name: str) -> None:
    """A message or note that quotes an undecodable name, as the system writes it, is escaped in every format."""
    message = "cannot open caf\udce9"
    made = replace(result(problems=[Problem(b"/data/x", ProblemKind.IO, message)]), notes=(message,))
    assert rb"caf\udce9" in rendered(name, made).replace(rb"\\u", rb"\u")


def test_folders_without_copies_are_not_written() -> None:
    """Of all listed folders only those with a name of a group below them are in the report."""
    counts = dict.fromkeys((b"/data", b"/data/a", b"/data/b", b"/data/lonely"), FolderCount(1, 1, 0))
    made = result([group(1, 5, [b"/data/a/1", b"/data/b/1"])], folders=counts)
    document = json.loads(rendered("json", made))
    assert [folder["path"] for folder in document["folders"]] == ["/data", "/data/a", "/data/b"]
    assert "identical_folders" not in document
    asked = json.loads(rendered("json", made, Style(folders=True)))
    assert asked["identical_folders"][0]["folders"] == ["/data/a", "/data/b"]


def read_lines(made: ScanResult, style: Style | None = None) -> list[dict[str, Any]]:
    """Return the objects of a JSON lines report."""
    return [json.loads(line) for line in rendered("jsonl", made, style).decode().split("\n")[:-1]]


@few
@given(results())
def test_json_lines_say_what_json_says(made: ScanResult) -> None:
    """Header, groups, problems and totals of the two formats are the same objects."""
    lines = read_lines(made)
    kinds = [line.pop("type") for line in lines]
    document = json.loads(rendered("json", made))
    assert kinds == ["header", *["group"] * len(made.groups), *["problem"] * len(made.problems), "totals"]
    apart = ("totals", "groups", "problems", "folders")
    assert lines[0] == {key: value for key, value in document.items() if key not in apart}
    assert lines[1:-1] == document["groups"] + document["problems"]
    assert lines[-1] == document["totals"]


def test_json_lines_tell_folders_where_asked() -> None:
    """Folder comparisons are lines of their own."""
    counts = dict.fromkeys((b"/data/a", b"/data/b"), FolderCount(1, 5, 0))
    made = result([group(1, 5, [b"/data/a/1", b"/data/b/1"])], folders=counts)
    assert [line["type"] for line in read_lines(made, Style(folders=True))] == [
        "header",
        "group",
        "identical_folders",
        "totals",
    ]


def test_json_is_fast_and_comes_in_pieces() -> None:
    """30,000 files are written in a fraction of a second, and never as one text."""
    groups = [group(i, 5, [b"/data/a folder/%d.jpg" % (3 * i + j) for j in range(2 + i % 2)]) for i in range(1, 12_001)]
    made = result(groups, folders={b"/data": FolderCount(30_000, 1, 0)})
    started = time.process_time()
    style = Style()
    from dedupe.report.json_report import render

    longest = max(map(len, render(made, style)))
    assert time.process_time() - started < 0.5  # 0.05 s on a quiet machine
    assert longest < 200_000


def test_a_report_of_the_first_schema_is_read() -> None:
    """What a report of version 0.1 does not say is not known; written again, it is one of today's."""
    file = '{{"path": "/data/{}", "modified_ns": 1, "device": "2", "inode": "{}", "links": [{}]}}'
    files = ", ".join((file.format("a", 3, '"/data/c"'), file.format("b", 4, "")))
    written = (
        '{"schema": "dedupe-report/1", "version": "0.1.0", "started": "2026-01-02T03:04:05Z", "seconds": 1.25, '
        '"roots": ["/data"], "confirm": "sha256", "backend": {"name": "hashlib", "reason": "the only one here"}, '
        '"notes": [], "totals": {"files": 2, "bytes": 10, "skipped": {}, "groups": 1, "redundant_files": 1, '
        '"reclaimable_bytes": 5, "bytes_read": 0, "cache_hits": 0, "problems": 0}, "groups": [{"id": 1, "size": 5, '
        f'"algorithm": "sha256", "digest": "abcd", "reclaimable_bytes": 5, "files": [{files}]}}], "problems": [], '
        '"folders": []}'
    ).encode()
    read = load_report(written, b"old.json")
    assert list(read.groups[0].files) == [File(b"/data/a", 1, 2, 3, links=(b"/data/c",)), File(b"/data/b", 1, 2, 4)]
    assert (read.volumes, read.groups[0].proof) == ((), None)
    again = rendered("json", read)
    assert again.startswith(b'{"schema": "dedupe-report/2"')
    assert load_report(again, b"new.json") == read


def test_folders_that_say_nothing_are_not_taken() -> None:
    """A folder without a copy below it is left out on the way in, as it is on the way out."""
    document = json.loads(rendered("json", hostile_result()))
    document["folders"] = [{"path": path, "files": 1, "bytes": 2, "left_out": 3} for path in ("/data", "/data/", "/no")]
    read = load_report(json.dumps(document).encode(), b"r.json")
    assert read.folders == {b"/data": FolderCount(1, 2, 3)}


_PLACES = [
    "schema", "version", "started", "seconds", "roots", "roots.0", "volumes.0", "volumes.0.id", "volumes.0.mount_point",
    "confirm", "backend.name", "notes.0", "totals.files", "totals.bytes", "totals.skipped", "totals.problems", "groups",
    "groups.0.id", "groups.0.size", "groups.0.algorithm", "groups.0.digest", "groups.0.proof", "groups.0.files",
    "groups.0.files.0.path", "groups.0.files.1.path", "groups.0.files.1.path_base64", "groups.0.files.0.modified_ns",
    "groups.0.files.0.device", "groups.0.files.0.inode", "groups.0.files.0.root", "groups.0.files.0.volume",
    "groups.0.files.0.links", "groups.1.files.0.symlinks", "groups.1.files.0.mounted", "groups.1.id", "groups.2",
    "problems.0.kind", "problems.0.message", "problems.0.path", "folders", "folders.0.path", "folders.0.files",
]  # fmt: skip
_ODD = ("", "/", "/a", "/data/a", "C:\\", "\\\\s\\t", "\ud800", "\0", "//", "/a//b", "5", "00")
_numbers = st.sampled_from([-1, 0, 1, 2, 5, 2**53, 2**63 - 1, 2**63, 2**64, 2**99, 2**100, -(2**70), 0.5, 1e300, True])
_texts = st.text(max_size=5) | st.sampled_from(
    ["", "/", "/a", "/data/a", "C:\\", "\\\\s\\t", "\ud800", "\0", "//", "/a//b", "5", "00"]
)
_values = st.none() | _numbers | _texts | st.lists(_texts, max_size=2) | st.builds(dict) | st.just(...)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(_PLACES), _values), min_size=1, max_size=3))
def test_what_is_taken_can_be_written_and_is_taken_again(changes: list[tuple[str, object]]) -> None:
    """However a report was changed, it is refused in one sentence, or every format can be made of it and JSON read."""
    counts = {b"/data": FolderCount(9, 99, 1)}
    document = json.loads(rendered("json", replace(hostile_result(), folders=counts)))
    for where, value in changes:
        with contextlib.suppress(LookupError, TypeError):  # the place went with an earlier change
            change(document, where, value)
    try:
        taken = load_report(json.dumps(document).encode(), b"r.json")
    except DedupeError:
        return
    style = Style(folders=True, all_problems=True)
    for name in FORMATS:
        rendered(name, taken, style)
    assert load_report(rendered("json", taken, style), b"r.json") == taken


def change(document: dict[str, Any], where: str, value: object) -> None:
    """Set, or with ... remove, a value by its dotted place."""
    *steps, last = where.split(".")
    place: Any = document
    for step in steps:
        place = place[int(step) if isinstance(place, list) else step]
    key: Any = int(last) if isinstance(place, list) else last
    if value is ...:
        del place[key]
    else:
        place[key] = value


@pytest.mark.parametrize(
    ("where", "value", "words"),
    [
        ("schema", "dedupe-report/3", "this version reads"),
        ("schema", 1, "this version reads"),
        ("roots", "/data", "'roots' that is a list"),
        ("roots", [1], "no text"),
        ("roots.0", "data", "not absolute"),
        ("seconds", True, "'seconds' that is a number"),
        ("seconds", float("nan"), "'seconds' that is a number"),
        ("totals.bytes", 2**101, "too large"),
        ("backend", None, "'backend' that is an object"),
        ("totals.files", -1, "negative 'files'"),
        ("totals.files", 1.5, "'files' that is a whole number"),
        ("totals.files", ..., "'files' that is a whole number"),
        ("totals.skipped.aliens", 1, "'aliens'"),
        ("groups", {}, "'groups' that is a list"),
        ("groups.0", [], "groups number 1 is no object"),
        ("groups.0.size", "5", "groups number 1 has no 'size'"),
        ("groups.0.digest", "xyz", "not hexadecimal"),
        ("groups.0.digest", ..., "'digest'"),
        ("groups.0.files", [], "fewer than two files"),
        ("groups.0.files.1", 7, "no object"),
        ("groups.0.files.1.path", "/a\0b", "cannot be read"),
        ("groups.0.files.1.path", "/\udce9", "cannot be read"),
        ("groups.0.files.1.path_base64", "%", "cannot be read"),
        ("groups.0.files.1.path_base64", 5, "no text"),
        ("groups.0.files.1.inode", 5, "'inode' that is text"),
        ("groups.0.files.1.inode", "-5", "no number"),
        ("groups.0.files.1.links", ["/x"], None),
        ("groups.0.files.1.links", ["/data/a"], "path that was there before: /data/a"),
        ("groups.0.files.1.symlinks", ["/x", "/x"], "path that was there before: /x"),
        ("groups.0.files.1.path", "/data/ leading", "path that was there before"),
        ("groups.0.files.1.path", "data/x", "not absolute: data/x"),
        ("groups.0.files.1.path", "1:\\x", "not absolute"),
        ("groups.0.files.1.mounted", ..., "'mounted' that is a list"),
        ("groups.0.files.1.root", 2, "lists 2"),
        ("groups.0.files.1.root", -1, "negative 'root'"),
        ("groups.0.files.1.root", ..., "'root' that is a whole number"),
        ("groups.0.files.1.volume", "0", "'volume' that is a whole number"),
        ("groups.0.files.1.proof", "guessed", "'guessed'"),
        ("groups.0.files.1.proof", "remembered", "not the weakest"),
        ("groups.0.proof", None, "not the weakest"),
        ("groups.0.proof", ..., "'proof' that is text"),
        ("groups.0.files.1.modified_ns", 2**100, "no date"),
        ("groups.0.id", 0, "'id' of 0"),
        ("groups.1.id", 1, "two groups with the id 1"),
        ("groups.0.size", 4097, "make other 'reclaimable_bytes'"),
        ("groups.0.algorithm", "sha\ud800", "not valid Unicode"),
        ("groups.0.digest", "", "not hexadecimal"),
        ("groups.0.digest", "ab cd", "not hexadecimal"),
        ("started", "\udce9", "not valid Unicode"),
        ("version", "\udce9", "not valid Unicode"),
        ("confirm", "\udce9", "not valid Unicode"),
        ("backend.reason", "\udce9", "not valid Unicode"),
        ("notes.0", "\udce9", "not valid Unicode"),
        ("problems.0.message", "\udce9", "not valid Unicode"),
        ("problems", [], "'problems'"),
        ("totals.groups", 4, "its lists make 3"),
        ("totals.redundant_files", 1, "'redundant_files'"),
        ("totals.reclaimable_bytes", 1, "'reclaimable_bytes'"),
        ("volumes", ..., "'volumes' that is a list"),
        ("volumes.0.label", "\udce9", "not valid Unicode"),
        ("volumes.0.mount_point", "", "cannot be read"),
        ("volumes.0.mount_point", ..., "'mount_point' that is text"),
        ("seconds", 2**90, None),
        ("groups.0.files.1.links_base64", [None], "as many"),
        ("problems.0.kind", "aliens", "'aliens'"),
        ("folders", [{"path": "/data"}], "folders number 1"),
        ("folders", ..., None),
        ("notes", "x", "no text"),
    ],
)
def test_a_broken_value_is_told_with_its_place(where: str, value: object, words: str | None) -> None:
    """Each broken value gives one sentence with the file's name and the place, and no traceback of another kind."""
    from dedupe.errors import NothingUsableError

    document = json.loads(rendered("json", hostile_result()))
    if where.endswith("links_base64"):
        document["groups"][0]["files"][1]["links"] = ["/a", "/b"]
    change(document, where, value)
    data = json.dumps(document).encode()
    if words is None:
        taken = load_report(data, b"saved.json")
        assert all(rendered(name, taken) for name in FORMATS)
        return
    with pytest.raises(NothingUsableError, match=r"^The report saved\.json is broken: [^\n]*\.$") as error:
        load_report(data, b"saved.json")
    assert words in str(error.value)
