"""Reading saved reports: which program wrote one, what a broken one is told, and what other finders really write."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.errors import DedupeError, NothingUsableError, UsageError
from dedupe.report import FORMATS
from dedupe.report.read.loader import load_report
from dedupe.result import ScanResult
from tests.conftest import need
from tests.report_helpers import few, hostile_result, rendered

NAMES = (
    b"plain",
    b"caf\xc3\xa9",
    b" lead",
    b"trail ",
    b'q",c',
    b"tab\t",
    b"esc\x1b[31m",
    b"=1+1",
    b"back\\x41",
    b"[2011] x",
)
RAW = (b"caf\xe9.bin", b"new\nline")  # what not every finder can write down


def make_tree(root: bytes, names: tuple[bytes, ...]) -> set[frozenset[bytes]]:
    """Make a tree with two groups, a hard link and a lonely file; return the groups, links apart."""
    os.makedirs(root + b"/sub dir")
    paths = [root + b"/" + name for name in names] + [root + b"/sub dir/x"]
    other = [root + b"/one", root + b"/sub dir/two"]
    for path in paths:
        _write(path, b"x" * 5000)
    for path in other:
        _write(path, b"y" * 9000)
    _write(root + b"/lonely", b"z" * 5000)
    os.link(root + b"/one", root + b"/one more name")
    return {frozenset(paths), frozenset(other)}


def _write(path: bytes, data: bytes) -> None:
    """Write a file whose name is bytes."""
    with open(path, "wb") as file:
        file.write(data)


def groups_of(found: ScanResult, extra: bytes) -> set[frozenset[bytes]]:
    """Return the groups as sets of names, under the first name of the one that has two."""
    return {
        frozenset(file.path.replace(b"/one more name", b"/one") for file in group.files if file.path != extra)
        for group in found.groups
    }


FINDERS = {
    "fclones-json": (["fclones", "group", ".", "-f", "json"], NAMES + RAW),
    "fclones-csv": (["fclones", "group", ".", "-f", "csv"], NAMES + RAW),
    "rmlint": (["rmlint", "-o", "json:stdout", "."], NAMES + RAW),
    "jdupes-json": (["jdupes", "-r", "-j", "."], (*NAMES, RAW[1])),
    "jdupes": (["jdupes", "-r", "."], NAMES + RAW),
    "jdupes-sizes": (["jdupes", "-r", "-S", "-H", "."], NAMES + RAW),
    "fdupes": (["fdupes", "-r", "."], NAMES + RAW),
    "fdupes-sizes": (["fdupes", "-r", "-S", "-H", "."], NAMES + RAW),
}


@pytest.mark.parametrize("finder", FINDERS)
def test_what_a_finder_writes_comes_back_as_the_same_groups(
    finder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The finder's own output on a tree with hard links and hostile names leads to exactly that tree's groups."""
    command, names = FINDERS[finder]
    program = shutil.which(command[0]) or shutil.which(command[0], path=os.path.expanduser("~/.cargo/bin"))
    if command[0] == "fclones" and not program:
        pytest.skip("fclones is in no Debian package: cargo install fclones")
    need(program, f"{command[0]} is not installed")
    assert program is not None
    root = os.fsencode(tmp_path) + b"/tree"
    expected = make_tree(root, names)
    monkeypatch.chdir(os.fsdecode(root))
    written = subprocess.run([program, *command[1:]], capture_output=True, check=True, timeout=60).stdout
    found = load_report(written, b"finder's")
    assert groups_of(found, b"") == expected
    assert {group.size for group in found.groups} == {5000, 9000}
    assert found.totals.reclaimable_bytes == 5000 * len(names) + 9000
    for group in found.groups:
        for file in group.files:
            status = os.lstat(file.path)
            assert (file.modified_ns, file.inode) == (status.st_mtime_ns, status.st_ino)
    assert found.folders == {}
    assert found.notes[0].startswith(f"Read from a report of {command[0] if finder != 'jdupes' else 'fdupes'}") or (
        finder == "jdupes-sizes"
    )


def test_hard_links_of_a_finder_become_links(tmp_path: Path) -> None:
    """Names that the disk knows to be one file are one file of the result, and free nothing."""
    paths = [tmp_path / name for name in ("a", "b", "c")]
    paths[0].write_bytes(b"x")
    paths[1].write_bytes(b"x")
    paths[2].hardlink_to(paths[0])
    lines = b"1 byte each:\n" + b"".join(os.fsencode(path) + b"\n" for path in paths) + b"\n"
    (group,) = load_report(lines, b"list").groups
    assert [(file.path, file.links) for file in group.files] == [
        (os.fsencode(paths[0]), (os.fsencode(paths[2]),)),
        (os.fsencode(paths[1]), ()),
    ]
    only_links = b"1 byte each:\n" + os.fsencode(paths[0]) + b"\n" + os.fsencode(paths[2]) + b"\n"
    assert list(load_report(only_links, b"list").groups) == []


def test_a_report_from_elsewhere_keeps_what_it_says() -> None:
    """Files that are not here keep the finder's sizes and dates, and a note says so."""
    written = b"""[{"description": "rmlint json-dump of lint files", "checksum_type": "blake2b", "version": "2.9.0"},
    {"type": "emptyfile", "path": "/gone/e", "size": 0},
    {"type": "duplicate_file", "path": "/gone/caf\xe9", "size": 7, "checksum": "ab", "inode": 5, "disk_id": 3,
     "is_original": true, "mtime": 1.5},
    {"type": "duplicate_file", "path": "/gone/b", "size": 7, "checksum": "ab", "inode": 6, "disk_id": 3, "mtime": 2},
    {"aborted": false}]"""
    found = load_report(written, b"r", look=lambda _: None)
    (group,) = found.groups
    assert [(f.path, f.modified_ns, f.device, f.inode) for f in group.files] == [
        (b"/gone/b", 2_000_000_000, 3, 6),
        (b"/gone/caf\xe9", 1_500_000_000, 3, 5),
    ]
    assert (group.size, group.algorithm, group.digest) == (7, "blake2b", b"\xab")


def test_rmlint_without_checksums_is_grouped_by_its_originals() -> None:
    """A comparison byte by byte leaves no checksum: an original starts each group."""
    entries = ",".join(
        f'{{"type": "duplicate_file", "path": "/{name}", "size": 7, "is_original": {str(first).lower()}}}'
        for name, first in (("a", True), ("b", False), ("c", True), ("d", False))
    )
    written = f'[{{"description": "rmlint json-dump of lint files"}},{entries}]'.encode()
    found = load_report(written, b"r", look=lambda _: None)
    assert [[file.path for file in group.files] for group in found.groups] == [[b"/a", b"/b"], [b"/c", b"/d"]]
    assert "4 are not here" in found.notes[1]


def test_fclones_escapes_lead_to_the_bytes() -> None:
    """Bytes, line ends, backslashes and Windows' lone surrogates are told apart; the hash's name is kept."""
    names = r'"/t/caf\\xE9", "/t/a\\\\x41", "/t/n\\nx\\t\\r", "/t/\\u00D800"'
    written = (
        '{"header": {"version": "0.35.0", "timestamp": "T", "base_dir": "/t", "command": ["fclones", "--hash-fn", '
        f'"blake3"]}}, "groups": [{{"file_len": 3, "file_hash": "ab", "files": [{names}]}}]}}'
    ).encode()
    found = load_report(written, b"r", look=lambda _: None)
    assert {file.path for file in found.groups[0].files} == {
        b"/t/caf\xe9",
        b"/t/a\\x41",
        b"/t/n\nx\t\r",
        b"/t/\xed\xa0\x80",
    }
    assert (found.confirm, found.started, found.backend.name) == ("blake3", "T", "fclones 0.35.0")


def test_names_in_fclones_csv_are_unescaped_before_they_are_made_absolute(tmp_path: Path) -> None:
    """A doubled backslash is one, also where it separates folders: the names of Windows come back whole."""
    paths = sorted(os.fsencode(tmp_path / name) for name in ("a", "b"))
    row = b",".join([b"5", b"ab", b"2", *(path.replace(b"\\", b"\\\\") for path in paths)])
    found = load_report(b"size,hash,count,files\n" + row + b"\n", b"r", look=lambda _: None)
    assert [file.path for file in found.groups[0].files] == paths


RMLINT = b'[{"description": "rmlint"}, {"type": "duplicate_file", "path": "/a", "size": 1, '
HEADER = b'{"header": {"base_dir": "/"}, "groups": '


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (b'{"schema": "dedupe-report/1"', NothingUsableError, "no whole JSON"),
        (b'{"schema": "dedupe-report/1"}', NothingUsableError, "no 'backend'"),
        (b"[" * 100_000, NothingUsableError, "no whole JSON"),
        (b"[]", NothingUsableError, "without rmlint's header"),
        (b"[1, 2]", NothingUsableError, "without rmlint's header"),
        (b'{"name": "package.json"}', UsageError, "no report of dedupe"),
        (HEADER + b"[1]}", NothingUsableError, "group 1 is no object"),
        (HEADER + b'[{"file_len": 1, "file_hash": "zz", "files": ["/a"]}]}', NothingUsableError, "not hexadecimal"),
        (
            HEADER + b'[{"file_len": 1, "file_hash": "aa", "files": ["/a\\u0000"]}]}',
            NothingUsableError,
            "without a name",
        ),
        (HEADER + b'[{"file_len": 1, "file_hash": "aa", "files": [7, "/a"]}]}', NothingUsableError, "no text"),
        (HEADER + b'[{"file_len": 1, "file_hash": "", "files": ["/a", "/b"]}]}', NothingUsableError, "not hexadecimal"),
        (
            HEADER + b'[{"file_len": 1, "file_hash": "aa", "files": ["/a", "/b", "/a"]}]}',
            NothingUsableError,
            "path that was there before: /a",
        ),
        (
            HEADER.replace(b'"/"', b'"some/folder"') + b'[{"file_len": 1, "file_hash": "aa", "files": ["a", "b"]}]}',
            NothingUsableError,
            "not absolute: some/folder",
        ),
        (
            HEADER.replace(b'"/"', b'"/", "timestamp": "\\ud800"') + b"[]}",
            NothingUsableError,
            "a time that is not valid Unicode",
        ),
        (b'{"matchSets": 5}', NothingUsableError, "'matchSets' that is a list"),
        (b'{"matchSets": [5]}', NothingUsableError, "match set 1 is no object"),
        (b'{"matchSets": [{"fileSize": 1, "fileList": [5]}]}', NothingUsableError, "match set 1 has a file"),
        (b"size,hash,count,files\n5,ab,3,/a,/b\n", NothingUsableError, "row 1 has not"),
        (b'size,hash,count,files\n5,ab,2,"/a,/b\n', NothingUsableError, "no CSV"),
        ("size,hash,count,files\n\u00b2,ab,2,/a,/b\n".encode(), NothingUsableError, "row 1 has not"),
        (b"size,hash,count,files\n" + b"9" * 5000 + b",ab,2,/a,/b\n", NothingUsableError, "row 1 has not"),
        (b"size,hash,count,files\n9223372036854775808,ab,2,/a,/b\n", NothingUsableError, "too large"),
        (b"9999999999999999999 bytes each:\n/a\n/b\n", NothingUsableError, "too large"),
        (b"1 byte each:\n/a\n/b\n\n1 byte each:\n/b\n/c\n", NothingUsableError, "was there before: /b"),
        (b"9" * 5000 + b" bytes each:\n/a\n/b\n", UsageError, "no report of dedupe"),
        (RMLINT + b'"mtime": Infinity, "inode": 1}]', NothingUsableError, "no date"),
        (RMLINT + b'"mtime": 1, "inode": "x"}]', NothingUsableError, "'inode'"),
        (b'{"matchSets": [{"fileSize": %d, "fileList": []}]}' % 2**101, NothingUsableError, "too large"),
        (b"# Report by fclones 0.35.0\n", UsageError, "--format json"),
        (
            b"\xef\xbb\xbfgroup,file,size,algorithm,digest,modified,path,path_base64,kind,root\r\n",
            UsageError,
            "use the JSON report",
        ),
        (b"Dear diary,\ntoday\n\nI found\nnothing\n", UsageError, "no report of dedupe"),
        (b"\x7fELF\0\0\0", UsageError, "no report of dedupe"),
        (b"SQLite format 3\0", UsageError, "no report of dedupe"),
    ],
)
def test_a_broken_or_foreign_file_gets_one_sentence(data: bytes, error: type[DedupeError], words: str) -> None:
    """One sentence with the file's name tells what is wrong: broken is exit 1, no report at all is exit 2."""
    with pytest.raises(error, match=r"^[^\n]*odd\\nname[^\n]*\.$") as caught:
        load_report(data, b"odd\nname", look=lambda _: None)
    assert words in str(caught.value)


def judged(data: bytes) -> str:
    """Return the sentence that refuses a report, empty for one that is read."""
    try:
        load_report(data, b"r", look=lambda _: None)
    except DedupeError as error:
        return str(error)
    return ""


@few
@given(st.data())
def test_no_damage_ends_in_a_traceback(data: st.DataObject) -> None:
    """A report cut short or with changed bytes is read or refused, never a crash of another kind."""
    whole = rendered("json", hostile_result())
    cut = bytearray(whole[: data.draw(st.integers(0, len(whole)))])
    for _ in range(data.draw(st.integers(0, 4))):
        if cut:
            cut[data.draw(st.integers(0, len(cut) - 1))] = data.draw(st.integers(0, 255))
    assert "\n" not in judged(bytes(cut))


def test_any_bytes_are_judged_calmly() -> None:
    """Random bytes behind each beginning that is known are refused or read, never a crash of another kind."""
    noise = random.Random(5)
    begins = (b"", b"{", b"[", b"size,hash,count,files\n", b"5 bytes each:\n", b'{"matchSets":', HEADER)
    for number in range(700):
        tail = noise.randbytes(noise.randrange(40))
        assert "\n" not in judged(begins[number % len(begins)] + tail)


@pytest.mark.parametrize("data", [b"", b"\n", b" \r\n\t\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_no_report(data: bytes) -> None:
    """A list that was never written is not taken for one that says "no duplicates"."""
    with pytest.raises(UsageError, match=r"^r is empty, and so no report of dedupe .*\.$"):
        load_report(data, b"r")


def test_a_finders_report_can_be_written_and_read_again(tmp_path: Path) -> None:
    """Whatever is taken from another finder is taken back from our own JSON of it, the same."""
    paths = [os.fsencode(tmp_path / name) for name in "abc"]
    for path in paths:
        _write(path, b"x")
    os.link(paths[0], paths[0] + b" too")
    for data in (
        b"1 byte each:\n" + b"\n".join([*paths, paths[0] + b" too"]) + b"\n",
        b"size,hash,count,files\n9223372036854775807,AB,2,/gone/1,/gone/2\n",
        b'[{"description": "rmlint"}, {"type": "duplicate_file", "path": "/a\xff", "size": 1, "mtime": 9e18}, '
        b'{"type": "duplicate_file", "path": "/b", "size": 1, "inode": 340282366920938463463374607431768211455}]',
    ):
        taken = load_report(data, b"r")
        assert len(taken.groups) == 1
        for name in FORMATS:
            rendered(name, taken)
        assert load_report(rendered("json", taken), b"r") == taken


@pytest.fixture
def listing(tmp_path: Path) -> Callable[[str], bytes]:
    """Return a function that makes two equal files and lists them."""

    def make(name: str) -> bytes:
        for path in (tmp_path / name, tmp_path / ("b" + name)):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"12345")
        return b"".join(os.fsencode(path) + b"\n" for path in (tmp_path / name, tmp_path / ("b" + name)))

    return make


def test_sizes_that_fdupes_leaves_out_come_from_the_disk(listing: Callable[[str], bytes]) -> None:
    """A block whose files are here has their size, one whose files are gone is left out."""
    found = load_report(listing("a") + b"\n/gone/1\n/gone/2\n\n", b"r")
    assert [group.size for group in found.groups] == [5]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_symbolic_link_in_a_foreign_list_is_a_further_name(tmp_path: Path) -> None:
    """Finders that follow links list them among the files: the real name comes first, and the size is the file's."""
    (tmp_path / "m").write_bytes(b"x" * 5000)
    (tmp_path / "z").write_bytes(b"x" * 5000)
    (tmp_path / "0lnk").symlink_to("m")
    (tmp_path / "out").symlink_to(tmp_path / "z")
    listed = "\n".join(os.fspath(tmp_path / name) for name in ("0lnk", "m", "out")).encode() + b"\n"
    (group,) = load_report(listed, b"list").groups
    names = [[os.path.basename(n) for n in (f.path, *f.links)] for f in group.files]
    assert (group.size, names) == (5000, [[b"m"], [b"z"]])
    assert [[os.path.basename(n) for n in f.symlinks] for f in group.files] == [[b"0lnk"], [b"out"]]
