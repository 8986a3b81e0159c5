"""Marks: the page's own format, read unchanged, written the same, and hostile input refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dedupe
from dedupe.actions.marks import MarkedFile, MarkedGroup, Marks, Rule, is_marks, read, write
from dedupe.errors import UsageError
from tests import schemas
from tests.report_helpers import HOSTILE

SCHEMA = json.loads((Path(dedupe.__file__).parent / "report/marks-schema.json").read_text(encoding="utf-8"))
# as the HTML report saves it
PAGE: dict[str, Any] = {
    "schema": "dedupe-marks/1",
    "saved": "2026-01-02T03:04:05.678Z",
    "report": {"version": "0.1.0", "started": "2026-01-02T03:04:05Z", "roots": [{"path": "/data"}]},
    "groups": [
        {
            "id": 2,
            "size": 10,
            "algorithm": "sha256",
            "digest": "ab" * 32,
            "keep": [{"path": "/data/b", "links": [{"path": "/data/other"}]}],
            "redundant": [
                {
                    "path": "/data/caf\\xe9",
                    "path_base64": "L2RhdGEvY2Fm6Q==",
                    "symlinks": [{"path": "/data/s"}],
                    "mounted": [{"path": "/data/m"}],
                }
            ],
        }
    ],
}

paths = st.one_of(
    st.sampled_from([b"/" + name for name in HOSTILE]),
    st.binary(min_size=1, max_size=9).map(lambda name: b"/x" + name.replace(b"\0", b"0").replace(b"/", b"_")),
)
names = st.lists(paths, max_size=2).map(tuple)
numbers = st.one_of(st.none(), st.integers(0, 2**128))
files = st.builds(
    MarkedFile, paths, names, names, names, st.one_of(st.none(), st.integers(-(2**70), 2**70)), numbers, numbers
)
groups = st.builds(
    MarkedGroup,
    st.integers(0, 2**40),
    st.integers(0, 2**62),
    st.sampled_from(["sha256", "bytes"]),
    st.one_of(st.none(), st.binary(min_size=1, max_size=32)),
    st.lists(files, max_size=3).map(tuple),
    st.lists(files, max_size=3).map(tuple),
)


def test_a_file_of_the_page_is_read_unchanged() -> None:
    """Exact bytes win over text, and each kind of name is kept."""
    schemas.validate(PAGE, SCHEMA)
    found = read(json.dumps(PAGE).encode(), "m.json")
    (group,) = found.groups
    assert found.roots == (b"/data",)
    assert group.keep == (MarkedFile(b"/data/b", (b"/data/other",)),)
    assert group.redundant == (MarkedFile(b"/data/caf\xe9", (), (b"/data/s",), (b"/data/m",)),)
    assert found.sha256


@given(st.lists(groups, max_size=3).map(tuple), st.lists(paths, min_size=1, max_size=2).map(tuple), paths)
def test_what_is_written_is_read_again(made: tuple[MarkedGroup, ...], roots: tuple[bytes, ...], rule: bytes) -> None:
    """Any names and numbers survive, and the file follows its schema."""
    marks = Marks(roots=roots, groups=made, rules=(Rule("protect", rule),), undecided=3, host="h")
    data = b"".join(write(marks))
    schemas.validate(json.loads(data), SCHEMA)
    assert is_marks(data)
    assert read(data, "m.json") == marks


def _with(**changes: object) -> object:
    return {**PAGE, **changes}


def _group(**changes: object) -> object:
    return _with(groups=[{**PAGE["groups"][0], **changes}])


@pytest.mark.parametrize(
    "document",
    [
        [],
        None,
        _with(schema="dedupe-marks/2"),
        _with(groups={}),
        _with(groups=[1]),
        _with(report={}),
        _with(report={"roots": ["/data"]}),
        _with(rules=[{"rule": 1, "value": "/x"}]),
        _group(size=-1),
        _group(size=True),
        _group(size=2**63),
        _group(digest="xyz"),
        _group(keep="no"),
        _group(keep=[{"path": "relative"}]),
        _group(keep=[{"path": "/a/../b"}]),
        _group(keep=[{"path": "/a\0"}]),
        _group(keep=[{"path": "/a", "path_base64": "!"}]),
        _group(keep=[{"path": "/a", "links": "no"}]),
        _group(keep=[{"path": "/a", "inode": "-1"}]),
        _group(keep=[{"path": "\ud800"}]),
        _group(algorithm="\ud800"),
    ],
    ids=lambda document: str(document)[-60:],
)
def test_hostile_marks_are_refused_in_one_sentence(document: object) -> None:
    """Nothing of a file that is not what the schema says is acted on."""
    with pytest.raises(UsageError, match=r"^The marks m\.json cannot be acted on: .*\.$"):
        read(json.dumps(document).encode(), "m.json")


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe{", b"[" * 200_000, b'{"schema": 1' + b"0" * 9000 + b"}"])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    """So is what is cut, nested without end, or of another encoding."""
    with pytest.raises(UsageError, match="cannot be acted on"):
        read(data, "m.json")


def test_a_rule_that_is_not_known_refuses_the_marks() -> None:
    """A newer version's rule, or one that was misspelt by hand, may forbid what would be done."""
    made = b"".join(write(Marks(roots=(b"/r",), groups=[], rules=[Rule("protect", b"/r/p")])))
    assert read(made, "m.json").rules == (Rule("protect", b"/r/p"),)
    with pytest.raises(UsageError, match="rule number 1 is 'proteckt', which this version does not know"):
        read(made.replace(b'"protect"', b'"proteckt"'), "m.json")
