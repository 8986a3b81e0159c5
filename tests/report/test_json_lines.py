"""The JSON lines report read back: whole, broken off, out of order, or with lines of something else."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given

from dedupe.errors import NothingUsableError
from dedupe.report import Style
from dedupe.report.read.loader import load_report
from dedupe.result import FolderCount, ScanResult
from tests.report_helpers import group, hostile_result, rendered, result, results


@given(results())
def test_json_lines_to_result_to_json_lines_is_identical(made: ScanResult) -> None:
    """What was written is read, but for what lies in folders, which the lines do not say."""
    lines = rendered("jsonl", made)
    read = load_report(lines, b"saved.jsonl")
    assert rendered("jsonl", read) == lines
    assert rendered("json", read) == rendered("json", replace(made, folders={}))


def test_answers_about_folders_are_passed_over() -> None:
    """They follow from the groups, and stand in no result."""
    counts = dict.fromkeys((b"/data/a", b"/data/b"), FolderCount(1, 5, 0))
    made = result([group(1, 5, [b"/data/a/1", b"/data/b/1"])], folders=counts)
    lines = rendered("jsonl", made, Style(folders=True))
    assert b'"identical_folders"' in lines
    assert rendered("jsonl", load_report(lines, b"saved.jsonl")) == rendered("jsonl", made)


_LINES = rendered("jsonl", hostile_result()).splitlines(keepends=True)
_HEADER, _GROUP, _TOTALS = _LINES[0], _LINES[1], _LINES[-1]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (_LINES[:-1], "ends before its totals"),
        ([*_LINES[:-1], _TOTALS[:-5]], f"line {len(_LINES)} is no whole JSON"),
        ([_HEADER, b"[1]\n", *_LINES[1:]], "line 2 is no object"),
        ([_HEADER, b'"type"\n', *_LINES[1:]], "line 2 is no object"),
        ([_HEADER, b"{}\n", *_LINES[1:]], "line 2 has no 'type' that is text"),
        ([_HEADER, b"[" * 100_000 + b"\n", *_LINES[1:]], "line 2 is no whole JSON"),
        ([_HEADER, _HEADER, *_LINES[1:]], "line 2 has the type 'header'"),
        ([*_LINES, _TOTALS], f"line {len(_LINES) + 1} has the type 'totals'"),
        ([*_LINES, _GROUP], f"line {len(_LINES) + 1} has the type 'group'"),
        ([_HEADER, b'{"type": "hint"}\n', *_LINES[1:]], "line 2 has the type 'hint'"),
        ([_HEADER, b'{"type": ["group"]}\n', *_LINES[1:]], "line 2 has no 'type' that is text"),
        ([_HEADER, *_LINES[2:]], "totals has"),
        ([b'{"type": "header", "groups": 5}\n', *_LINES[1:]], "line 1 has the type 'header'"),
    ],
)
def test_what_is_no_whole_report_is_told_in_one_sentence(lines: list[bytes], words: str) -> None:
    """The sentence says in which line it is wrong."""
    with pytest.raises(NothingUsableError, match=r"^The report saved\.jsonl is broken: ") as told:
        load_report(b"".join(lines), b"saved.jsonl")
    assert words in str(told.value)
    assert str(told.value).count("\n") == 0


def test_a_header_cannot_bring_groups() -> None:
    """What counts is the lines: a header with keys of the whole report replaces none of them."""
    header = json.dumps({**json.loads(_HEADER), "groups": [], "problems": []}).encode()
    read = load_report(b"".join([header + b"\n", *_LINES[1:]]), b"saved.jsonl")
    assert rendered("jsonl", read) == b"".join(_LINES)
