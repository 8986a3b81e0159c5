"""Names of one file that come back one by one: links to the file that undo made, and to no other."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from dedupe.actions import runs, settle, undoing
from dedupe.actions.apply import ActionName
from dedupe.actions.marks import Marks
from tests.actions.common import ON_LINUX, act, copies, killed_in, reasons, snapshot, take_back

pytestmark = ON_LINUX
GIVING_UP = [ActionName.DELETE, ActionName.HARDLINK]


def two_names(top: Path) -> Marks:
    """Make a file that stays and one with two names that goes, of other rights and another date."""
    marks = copies(top, {"one": (["k"], ["b"])})
    (top / "k").chmod(0o644)
    (top / "b").chmod(0o644)
    os.link(top / "b", top / "c")
    (group,) = marks.groups
    (file,) = group.redundant
    return replace(marks, groups=(replace(group, redundant=(file._replace(links=(os.fsencode(top / "c"),)),)),))


@pytest.mark.parametrize("action", GIVING_UP)
@pytest.mark.parametrize("same", [False, True])
def test_a_further_name_is_no_link_to_the_copy_that_stayed(
    tmp_path: Path,
    journal: Path,
    action: ActionName,
    same: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """The name that came back means another file by now, be it of the same content and date: a copy is made."""
    top = tmp_path / "top"
    marks = two_names(top)
    if same:
        os.utime(top / "k", ns=(10**18, (top / "b").stat().st_mtime_ns))
    before = snapshot(top)
    run = act(marks, action, journal).run
    assert take_back(journal, files=[os.fsencode(top / "b")]).done == 1
    (top / "new").hardlink_to(top / "k")
    (top / "new").rename(top / "b")
    assert take_back(journal, run=run).done == 1
    assert not (top / "c").samefile(top / "k")
    assert snapshot(top)["c"][:5] == before["c"][:5]


@pytest.mark.parametrize("action", GIVING_UP)
def test_a_further_name_is_no_link_to_a_file_of_the_users(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """Who copies a file over the name that came back has a file of his own there."""
    top = tmp_path / "top"
    marks = two_names(top)
    before = snapshot(top)
    run = act(marks, action, journal).run
    assert take_back(journal, files=[os.fsencode(top / "b")]).done == 1
    (top / "new").write_bytes((top / "b").read_bytes())
    (top / "new").rename(top / "b")
    assert take_back(journal, run=run).done == 1
    assert not (top / "c").samefile(top / "b")
    assert snapshot(top)["c"][:5] == before["c"][:5]


@pytest.mark.parametrize("action", GIVING_UP)
def test_a_further_name_is_a_link_to_what_a_killed_undo_made(
    tmp_path: Path, journal: Path, action: ActionName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is known again after it was settled."""
    top = tmp_path / "top"
    marks = two_names(top)
    before = snapshot(top)
    run = act(marks, action, journal).run
    name = os.fsencode(top / "b")
    killed_in(monkeypatch, undoing.Undoing, "_tell", lambda: take_back(journal, files=[name]))
    settle.settle_all(runs.all_runs(str(journal)).runs)
    tally = take_back(journal, run=run)
    assert (tally.done, reasons(tally)) == (1, [])
    assert snapshot(top) == before
