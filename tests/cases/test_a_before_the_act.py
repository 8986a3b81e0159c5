"""Public reports of lost files, by their numbers; the rule stands in each test."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dedupe.actions import hardlink, holding, looks
from dedupe.actions.apply import ActionName
from dedupe.actions.marking import mark
from dedupe.actions.marks import MarkedFile, Rule
from dedupe.actions.plan import Limits, make
from dedupe.config import Rules
from dedupe.errors import UsageError
from tests.actions.common import ON_LINUX, act, content, contents, copies, reasons, snapshot, take_back
from tests.actions.test_plan import changed
from tests.cases.common import LINKS, find, not_on_windows
from tests.conftest import write

pytestmark = ON_LINUX
ACTIONS = [ActionName.MOVE_TO, ActionName.DELETE, ActionName.HARDLINK]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Return where the journals of a test lie."""
    return tmp_path / "journal"


@pytest.mark.parametrize("action", ACTIONS)
def test_a01_a_file_replaced_under_the_same_size_and_date(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """Bytes decide at the moment of the act, whatever size and dates say."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    path = tmp_path / "top/b"
    kept = path.stat()
    path.write_bytes(content("other"))
    os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert reasons(act(marks, action, journal)) == ["differs from the copy that stays"]
    assert path.read_bytes() == content("other")


def test_a04_dates_and_inodes_that_wobble_lead_to_reading(tmp_path: Path, journal: Path) -> None:
    """Facts of the scan that no longer hold are no reason to refuse, nor to skip the proof: the bytes are read."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    (top / "b").unlink()
    write(top / "b", content("one"))
    os.utime(top / "a", ns=(5, 5))
    (file,) = marks.groups[0].redundant
    marks = changed(marks, redundant=(file._replace(modified_ns=1, device=2, inode=3),))
    assert act(marks, ActionName.DELETE, journal).done == 1


def test_a06_a_copy_that_came_since_stays(tmp_path: Path, journal: Path) -> None:
    """Only names that were weighed are acted on."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    write(tmp_path / "top/c", content("one"))
    assert act(marks, ActionName.DELETE, journal).done == 1
    assert (tmp_path / "top/c").exists()


def test_a08_tomorrow_is_the_normal_case(tmp_path: Path, journal: Path) -> None:
    """Marks of yesterday, part of whose files are gone or changed, serve for the rest."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"]), "two": (["c"], ["d"]), "three": (["e"], ["f"])})
    (top / "b").unlink()
    (top / "d").write_bytes(b"edited")
    tally = act(marks, ActionName.DELETE, journal)
    assert (tally.done, len(tally.already), len(tally.refused)) == (1, 1, 1)


@pytest.mark.parametrize("number", [10, 12, 13, 49])
def test_a10_a12_a13_a49_a_link_that_fails_costs_nothing(
    tmp_path: Path, journal: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old name goes last: whatever the system says to a link, the file stays under its name."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    before = snapshot(tmp_path / "top")
    code = {10: 13, 12: 1, 13: 18, 49: 22}[number]

    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(hardlink, "link_open", refuse)
    monkeypatch.setattr(hardlink, "link_at", refuse)
    for exchanges in (True, False):
        monkeypatch.setattr(hardlink, "can_exchange", lambda _, answer=exchanges: answer)
        tally = act(marks, ActionName.HARDLINK, journal)
        assert (tally.done, len(tally.failed)) == (0, 1)
        assert snapshot(tmp_path / "top") == before
    assert list(journal.iterdir())


@pytest.mark.parametrize("action", ACTIONS)
def test_a14_a_name_of_full_length(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """Temporary names are short and our own, never the victim's with something added."""
    name = "n" * 255 if sys.platform != "win32" else "n" * 100
    marks = copies(tmp_path / "top", {"one": (["a"], [name])})
    before = snapshot(tmp_path / "top")
    assert act(marks, action, journal, target=tmp_path / "target").done == 1
    take_back(journal)
    assert snapshot(tmp_path / "top") == before


def test_a16_all_of_a_group_marked(tmp_path: Path) -> None:
    """The guard sits in the engine, whatever made the plan."""
    marks = copies(tmp_path, {"one": (["a"], ["b"])})
    (group,) = marks.groups
    everything = changed(marks, keep=(), redundant=(*group.keep, *group.redundant))
    with pytest.raises(UsageError, match="keep no copy of group 1"):
        make(everything, Limits())


@not_on_windows("case does not count there")
@pytest.mark.parametrize("action", ACTIONS)
def test_a17_two_folders_that_differ_in_case(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """Names are bytes: two real folders are two, and one copy stays in one of them."""
    marks = copies(tmp_path / "top", {"one": (["Downloads/x"], ["downloads/x"])})
    assert act(marks, action, journal, target=tmp_path / "target").done == 1
    assert (tmp_path / "top/Downloads/x").read_bytes() == content("one")


@not_on_windows(LINKS)
@pytest.mark.parametrize("action", ACTIONS)
def test_a19_a_branch_that_leads_to_another(
    tmp_path: Path, journal: Path, action: ActionName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A keeper that is gone by its own path once the victim was set aside was the victim itself: it is put back."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    before = snapshot(tmp_path / "top")
    usual, asked = holding.Held.is_by_its_path, []

    def gone_once_aside(self: holding.Held, expected: looks.Look) -> bool:
        asked.append(self)
        return usual(self, expected) and len(asked) == 1

    monkeypatch.setattr(holding.Held, "is_by_its_path", gone_once_aside)
    assert "it was put back" in reasons(act(marks, action, journal, target=tmp_path / "target"))[0]
    assert snapshot(tmp_path / "top") == before


def test_a21_symbolic_links_that_lead_to_a_victim(tmp_path: Path, journal: Path) -> None:
    """They are told, and their targets stay unless asked for."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    (file,) = marks.groups[0].redundant
    marks = changed(marks, redundant=(file._replace(symlinks=(os.fsencode(tmp_path / "s"),)),))
    assert "symlink-targets" in reasons(act(marks, ActionName.DELETE, journal))[0]
    assert (tmp_path / "top/b").exists()


def test_a24_a_folder_is_a_folder(tmp_path: Path) -> None:
    """No pattern is needed to mean what lies below one, and one that holds nothing is an error."""
    for name in ("keep/deep/x", "other/x"):
        write(tmp_path / name, content("one"))
    found = mark(find(tmp_path), Rules(protect=[os.fsencode(tmp_path / "keep")]))
    assert [file.path for file in found.marks.groups[0].redundant] == [os.fsencode(tmp_path / "other/x")]
    with pytest.raises(UsageError, match="matches no file"):
        mark(find(tmp_path), Rules(protect=[os.fsencode(tmp_path / "kee")]))


def test_a26_what_may_go_is_said_apart(tmp_path: Path) -> None:
    """With A protected and B the only place where files may go, copies within A and elsewhere all stay."""
    for name in ("a/1", "a/2", "b/1", "c/1"):
        write(tmp_path / name, content("one"))
    folder = os.fsencode(tmp_path)
    found = mark(find(tmp_path), Rules(protect=[folder + b"/a"], only_in=[folder + b"/b"]))
    assert [os.path.basename(os.path.dirname(f.path)) for f in found.marks.groups[0].redundant] == [b"b"]


@pytest.mark.parametrize("action", ACTIONS)
def test_a27_a29_protection_is_asked_again_for_every_action(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """On the very path, by the engine, whatever the marks say."""
    rules = [Rule("protect", os.fsencode(tmp_path / "top/safe"))]
    marks = copies(tmp_path / "top", {"one": (["a"], ["safe/b"])}, rules=rules)
    assert reasons(act(marks, action, journal)) == ["lies in a protected folder"]
    assert (tmp_path / "top/safe/b").exists()


def test_a31_what_was_not_done_has_a_reason(tmp_path: Path, journal: Path) -> None:
    """Nothing is refused in silence."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["X.app/b", "c"])})
    (tmp_path / "top/c").write_bytes(b"x")
    tally = act(marks, ActionName.DELETE, journal)
    assert (tally.done, len(tally.refused)) == (0, 2)
    assert all(refusal.reason for refusal in tally.refused)


def test_a32_files_inside_a_bundle_belong_together(tmp_path: Path, journal: Path) -> None:
    """Equal inner files of two bundles stay."""
    marks = copies(tmp_path / "top", {"one": (["a.screenflow/m"], ["b.screenflow/m"])})
    assert "held back (bundles)" in reasons(act(marks, ActionName.DELETE, journal))[0]


@pytest.mark.parametrize("action", ACTIONS)
def test_a34_the_same_again_does_nothing(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """Never new victims."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b", "c"])})
    act(marks, action, journal)
    held = contents(tmp_path)
    tally = act(marks, action, journal)
    assert (tally.done, len(tally.already)) == (0, 2)
    assert contents(tmp_path) == held


def test_a35_back_is_back(tmp_path: Path, journal: Path) -> None:
    """After an undo the other choice finds both copies."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    act(marks, ActionName.DELETE, journal)
    take_back(journal)
    (group,) = marks.groups
    other = replace(marks, groups=(replace(group, keep=group.redundant, redundant=group.keep),))
    assert act(other, ActionName.DELETE, journal).done == 1
    assert [path.name for path in top.iterdir()] == ["b"]


def test_a79_one_file_by_two_names_is_one(tmp_path: Path, journal: Path) -> None:
    """Identity is device and inode, not the path."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    os.link(top / "a", top / "c")
    marks = changed(marks, redundant=(MarkedFile(os.fsencode(top / "c")),))
    tally = act(marks, ActionName.DELETE, journal)
    assert (tally.done, len(tally.already)) == (0, 1)
