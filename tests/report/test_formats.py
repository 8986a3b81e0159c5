"""The formats for people and scripts: text, CSV and paths; and the choice of a format."""

from __future__ import annotations

import base64
import csv
import io
import os
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.errors import UsageError
from dedupe.report import FORMATS, Style, format_for
from dedupe.report.csv_report import COLUMNS, kind_of
from dedupe.report.text import _KINDS, _REASONS, proofs
from dedupe.report.units import binary_size, counted, percent, utc_time
from dedupe.result import FolderCount, GroupList, NameKind, Problem, ProblemKind, Proof, ScanResult, SkipReason
from tests.report_helpers import few, group, hostile_result, rendered, result, results


def test_formats_are_sorted_and_their_endings_unique() -> None:
    """Formats are listed by name, and no ending belongs to two of them."""
    assert list(FORMATS) == sorted(FORMATS)
    assert all(name == each.name for name, each in FORMATS.items())
    endings = [ending for each in FORMATS.values() for ending in each.endings]
    assert len(endings) == len(set(endings))


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("json", "json"),
        ("out/Dups.CSV", "csv"),
        (os.fsencode("caf\udce9.db"), "db"),
        ("a.json.txt", "text"),
        ("page.htm", "html"),
    ],
)
def test_the_ending_chooses_the_format(asked: str | bytes, name: str) -> None:
    """A name or an ending, in any case, leads to its format."""
    assert format_for(asked).name == name


@pytest.mark.parametrize("asked", ["report", "report.xlsx", "", ".json/x", "JSON"])
def test_an_unknown_ending_is_told_in_one_sentence(asked: str) -> None:
    """The sentence names the file and the endings there are."""
    with pytest.raises(UsageError, match=r"^No report format goes with .*: its ending must be one of .*\.json .*\.$"):
        format_for(asked)


def test_text_tells_groups_sums_skips_and_problems() -> None:
    """The whole text of a small result, word by word."""
    problems = [Problem(b"/data/p%d" % i, ProblemKind.PERMISSION, "Permission denied") for i in range(7)]
    made = result(
        [group(1, 3 << 20, [b"/data/a", b"/data/b"]), group(2, 0, [b"/data/c", b"/data/d", b"/data/e"])],
        problems,
        {SkipReason.SYMLINK: 1, SkipReason.EMPTY: 1203},
    )
    files = tuple(
        file._replace(links=(file.path + b"2",), symlinks=(b"/data/a3",), mounted=(b"/mnt/a",))
        for file in made.groups[0].files[:1]
    )
    made = replace(
        made, groups=GroupList([replace(made.groups[0], files=(*files, *made.groups[0].files[1:])), made.groups[1]])
    )
    assert rendered("text", made).decode().splitlines() == [
        "Group 1: 2 files of 3.0 MiB, 3.0 MiB reclaimable",
        "  /data/a",
        "    = /data/a2 (hard link)",
        "    = /data/a3 (symbolic link)",
        "    = /mnt/a (same folder mounted twice)",
        "  /data/b",
        "",
        "Group 2: 3 empty files, equal only in holding nothing",
        "  /data/c",
        "  /data/d",
        "  /data/e",
        "",
        "2 groups, 3 redundant files, 3.0 MiB reclaimable",
        "Looked at 5 files, 6.0 MiB.",
        "Skipped: 1,203 empty files, 1 symbolic link.",
        "Could not be read, or changed meanwhile: 7 entries",
        *(f"  /data/p{i}: permission, Permission denied" for i in range(5)),
        "  and 2 more",
    ]
    assert b"/data/p6" in rendered("text", made, Style(all_problems=True))


def test_text_without_duplicates_says_so() -> None:
    """No groups is an answer, too."""
    assert rendered("text", result()).decode().splitlines() == ["No duplicates.", "Looked at 0 files, 0 bytes."]


def test_text_says_how_many_groups_stand_by_memory() -> None:
    """A group is as well proven as its weakest file; a report that does not say is no proof."""
    groups = [group(number, 5, [b"/%d/a" % number, b"/%d/b" % number]) for number in range(1, 1205)]
    for at, proof in ((0, Proof.REMEMBERED), (1, Proof.HASHED), (2, None)):
        files = groups[at].files
        groups[at] = replace(groups[at], files=(files[0], files[1]._replace(proof=proof)))
    assert proofs(result(groups)) == "Proof: 1,202 groups read now, 1 group by remembered digests, 1 group not known."
    assert proofs(result()) == "Proof: no group needed one."


def test_every_reason_has_words() -> None:
    """Text never meets a reason for which it has no words."""
    assert set(_REASONS) == set(SkipReason)
    assert set(_KINDS) == set(NameKind)


def test_text_tells_folders_where_asked() -> None:
    """Identical folders and shares are told, with what was not compared."""
    groups = [
        group(1, 1024, [b"/data/a/1", b"/data/b/1"]),
        group(2, 2048, [b"/data/c/x", b"/data/d/y"]),
    ]
    counts = {
        b"/data": FolderCount(7, 9999, 0),
        b"/data/a": FolderCount(1, 1024, 2),
        b"/data/b": FolderCount(1, 1024, 0),
    }
    counts |= {b"/data/c": FolderCount(2, 4096, 1), b"/data/d": FolderCount(3, 9999, 0)}
    made = result(groups, folders=counts)
    lines = rendered("text", made, Style(folders=True)).decode().splitlines()
    start = lines.index("Identical folders: 1 set")
    assert lines[start : start + 9] == [
        "Identical folders: 1 set",
        "  1 file, 1.0 KiB in each, 1.0 KiB reclaimable (2 entries not compared)",
        "    /data/a",
        "    /data/b",
        "",
        "Folders that another holds: 1",
        "  /data/d holds 50 % of /data/c:",
        "    1 of 2 files, 2.0 KiB (1 entry not compared)",
        "",
    ]
    assert "Identical" not in rendered("text", made).decode()
    assert "were not compared" in rendered("text", replace(made, folders={}), Style(folders=True)).decode()


def test_only_a_style_with_colour_brings_escapes() -> None:
    """Text is plain unless colours are wanted; then only our own codes are in it, whatever names hold."""
    assert b"\x1b" not in rendered("text", hostile_result())
    coloured = rendered("text", hostile_result(), Style(colour=True, all_problems=True))
    assert set(re.findall(rb"\x1b\[?[^m]*m?", coloured)) == {b"\x1b[0m", b"\x1b[1m", b"\x1b[2m", b"\x1b[33m"}


def test_text_shows_one_line_a_name() -> None:
    """A name with a new line, a bidi mark or a carriage return cannot make or change a line."""
    made = hostile_result()
    lines = rendered("text", made, Style(all_problems=True)).decode().splitlines()
    names = sum(len(file.names) for each in made.groups for file in each.files)
    assert (
        sum(line.startswith("  /data/") and ": permission, " not in line for line in lines)
        + sum(line.startswith("    = ") for line in lines)
        == names
    )


def read_csv(data: bytes, encoding: str = "utf-8") -> list[dict[str, str]]:
    """Read a CSV report as any strict reader does."""
    return list(csv.DictReader(io.StringIO(data.decode(encoding), newline=""), strict=True))


def exact_path(row: dict[str, str]) -> bytes:
    """Return the bytes of a row's path."""
    return base64.b64decode(row["path_base64"]) or row["path"].encode()


@few
@given(results())
def test_csv_gives_back_every_name(made: ScanResult) -> None:
    """Rows read back by the standard library name exactly the files of the result, in its order."""
    rows = read_csv(rendered("csv", made))
    expected = [
        (str(each.id), str(number), str(each.size), kind, path, "/data" if file.root == 0 else "")
        for each in made.groups
        for number, file in enumerate(each.files, 1)
        for kind, names in zip(
            (kind_of(file.proof), *NameKind), ((file.path,), file.links, file.symlinks, file.mounted), strict=True
        )
        for path in names
    ]
    found = [(*map(row.get, ("group", "file", "size", "kind")), exact_path(row), row["root"]) for row in rows]
    assert found == expected


def test_csv_has_its_columns_marks_and_line_ends() -> None:
    """The header is the contract's, a file starts with the mark that Excel needs, lines end as RFC 4180 says."""
    made = hostile_result()
    assert ",".join(COLUMNS) == "group,file,size,algorithm,digest,modified,path,path_base64,kind,root"
    assert rendered("csv", made, Style(to_file=True)) == b"\xef\xbb\xbf" + rendered("csv", made)
    assert rendered("csv", made).startswith(",".join(COLUMNS).encode() + b"\r\n")
    assert rendered("csv", result()) == ",".join(COLUMNS).encode() + b"\r\n"
    first = read_csv(rendered("csv", made))[0]
    assert first["modified"] == "2023-11-14T22:13:20.123456789Z"
    assert first["digest"] == "ab" * 32


def test_no_csv_cell_starts_a_formula() -> None:
    """A spreadsheet finds nothing to calculate in a name: paths are absolute."""
    for row in read_csv(rendered("csv", hostile_result())):
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row.values())


@few
@given(results())
def test_paths_with_null_give_back_every_name(made: ScanResult) -> None:
    """NUL-ended names, with an empty one between blocks, are the groups again, but for what is away."""
    data = rendered("paths", made, Style(null=True))
    blocks = [block.split(b"\0") for block in data.removesuffix(b"\0").split(b"\0\0")] if data else []
    here = [[file.path for file in each.files if file.proof is not Proof.OFFLINE] for each in made.groups]
    assert blocks == [paths for paths in here if paths]


def test_paths_are_blocks_of_lines() -> None:
    """Without `--null` a line is a name and a blank line stands between groups, as fdupes has it."""
    made = result([group(1, 5, [b"/data/a", b"/data/caf\xe9"]), group(2, 4, [b"/data/c", b"/data/d"])])
    assert rendered("paths", made) == b"/data/a\n/data/caf\xe9\n\n/data/c\n/data/d\n"


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1,023 bytes"),
        (1024, "1.0 KiB"),
        (1024**2 - 1, "1.0 MiB"),
        (44_023_414_784, "41.0 GiB"),
        (2**63, "8.0 EiB"),
        (2**70, "1,024.0 EiB"),
    ],
)
def test_sizes_are_binary(size: int, text: str) -> None:
    """Sizes have binary units, never 1024.0 of one."""
    assert binary_size(size) == text


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_a_share_is_all_or_nothing_only_if_it_is(part: int, whole: int) -> None:
    """100 % means every one and 0 % means none."""
    part = min(part, whole)
    assert (percent(part, whole) == "100 %") == (part == whole)
    assert (percent(part, whole) == "0 %") == (part == 0)
    assert percent(1203, 1230) == "98 %"


def test_words_are_counted() -> None:
    """One is singular; thousands are grouped."""
    assert [counted(1, "file"), counted(1203, "file"), counted(2, "entry", "entries")] == [
        "1 file",
        "1,203 files",
        "2 entries",
    ]


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000000000Z"),
        (-1, "1969-12-31T23:59:59.999999999Z"),
        (1_700_000_000_123_456_789, "2023-11-14T22:13:20.123456789Z"),
        (253_402_300_799_000_000_000, "9999-12-31T23:59:59.000000000Z"),
        (253_402_300_800_000_000_000, ""),
        (-(2**80), ""),
    ],
)
def test_times_keep_nanoseconds(nanoseconds: int, text: str) -> None:
    """Every nanosecond stays; a date that no calendar has is empty and no error."""
    assert utc_time(nanoseconds) == text
