"""Undo: some files, elsewhere, what is no longer as the run left it; the journal itself; runs that are alive."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from dedupe.actions import journal as journals
from dedupe.actions import runs, settle
from dedupe.actions.apply import ActionName
from dedupe.actions.delete import Delete
from dedupe.actions.journal import Journal
from dedupe.actions.records import Intent
from dedupe.errors import NothingUsableError, UsageError
from tests import disks
from tests.actions.common import ON_LINUX, act, content, copies, killed_in, reasons, snapshot, take_back, tree
from tests.cases.common import MODES_OF_POSIX, need_root, not_on_windows

pytestmark = ON_LINUX
GIVING_BACK = [ActionName.MOVE_TO, ActionName.DELETE, ActionName.HARDLINK]


def test_names_of_one_file_go_and_come_back_together(tmp_path: Path, journal: Path) -> None:
    """Space is gained when the last name goes; what comes back is one file under its names again."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    os.link(top / "b", top / "c")
    (file,) = marks.groups[0].redundant
    linked = file._replace(links=(os.fsencode(top / "c"),))
    group = marks.groups[0]
    object.__setattr__(group, "redundant", (linked,))
    before = snapshot(top)
    for action in GIVING_BACK:
        tally = act(marks, action, journal)
        assert (tally.done, reasons(tally)) == (2, [])
        assert bool(tally.freed) == (action is not ActionName.MOVE_TO)
        assert take_back(journal).done == 2
        assert snapshot(top) == before


def test_some_files_of_a_run(tmp_path: Path, journal: Path) -> None:
    """By the names that the marks had; the others can be undone later."""
    top = tmp_path / "top"
    marks = tree(top)
    before = snapshot(top)
    act(marks, ActionName.DELETE, journal)
    assert take_back(journal, files=[os.fsencode(top / "go/b")]).done == 1
    assert (top / "go/b").exists()
    assert not (top / "go/e").exists()
    with pytest.raises(UsageError, match="No run did anything about"):
        take_back(journal, files=[os.fsencode(top / "keep/a")])
    back = take_back(journal)
    assert (back.done, len(back.already)) == (2, 1)
    assert snapshot(top) == before


@pytest.mark.parametrize("action", GIVING_BACK)
def test_undo_to_another_folder(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """With their whole paths, so that nothing that is there now is in the way."""
    top = tmp_path / "top"
    marks = tree(top)
    act(marks, action, journal)
    assert take_back(journal, to=os.fsencode(tmp_path / "out")).done == 3
    found = next((tmp_path / "out").rglob("b"))
    assert str(found).endswith(str((top / "go/b").relative_to(top.anchor)))
    assert found.read_bytes() == content("one")


@pytest.mark.parametrize("action", GIVING_BACK)
def test_what_took_the_place_is_left_alone(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """A name that is taken, or means another file by now: told, and the rest goes on."""
    top = tmp_path / "top"
    act(tree(top), action, journal)
    (top / "go/b").unlink(missing_ok=True)
    (top / "go/b").write_bytes(b"newer")
    tally = take_back(journal)
    assert tally.done == 2
    assert reasons(tally) in (
        ["its name is taken by now: --to DIR puts it elsewhere"],
        ["its name means another file by now"],
    )
    assert (top / "go/b").read_bytes() == b"newer"


def test_a_keeper_that_changed_restores_nothing(tmp_path: Path, journal: Path) -> None:
    """What was deleted is made again only from the content that the journal has."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    act(marks, ActionName.DELETE, journal)
    (top / "a").write_bytes(b"x" * 5000)
    tally = take_back(journal)
    assert reasons(tally) == ["its copy does not have the content any more that the journal says"]
    assert sorted(path.name for path in top.iterdir()) == ["a"]
    (top / "a").unlink()
    assert "is gone" in reasons(take_back(journal))[0]


def test_what_was_moved_and_changed_is_not_moved_back(tmp_path: Path, journal: Path) -> None:
    """Somebody works with it there."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    act(marks, ActionName.MOVE_TO, journal)
    (tmp_path / "state/target/top/b").write_bytes(b"edited")
    assert "has changed since" in reasons(take_back(journal))[0]
    assert (tmp_path / "state/target/top/b").read_bytes() == b"edited"


def test_a_dry_run_of_undo_changes_nothing(tmp_path: Path, journal: Path) -> None:
    """It tells how much there is."""
    act(tree(tmp_path / "top"), ActionName.DELETE, journal)
    after = snapshot(tmp_path)
    assert take_back(journal, dry_run=True).done == 3
    assert snapshot(tmp_path) == after


def test_undo_of_nothing(journal: Path) -> None:
    """No run at all is no error; a run that is not there is one."""
    assert take_back(journal).notes
    with pytest.raises(UsageError, match="no run abcdefgh"):
        take_back(journal, run="abcdefgh")


def test_an_undo_is_not_undone(tmp_path: Path, journal: Path) -> None:
    """Its name is told apart from those of runs."""
    act(tree(tmp_path / "top"), ActionName.DELETE, journal)
    undone = take_back(journal).run
    with pytest.raises(UsageError, match="is an undo itself"):
        take_back(journal, run=undone)


@not_on_windows(MODES_OF_POSIX)
def test_the_journal_is_the_users_alone_and_complete(tmp_path: Path, journal: Path) -> None:
    """Head, intents, outcomes and foot, in that order; mode 600; what undo needs is there."""
    tally = act(tree(tmp_path / "top"), ActionName.DELETE, journal)
    (path,) = journal.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["kind"] for line in lines] == ["head", *["intent"] * 3, *["outcome"] * 3, "foot"]
    assert lines[0]["schema"] == "dedupe-journal/1"
    assert lines[0]["run"] == tally.run == path.name.removesuffix(".jsonl")
    assert len(lines[1]["temporary"]) <= 24
    assert {"path", "size", "digest", "inode", "metadata", "keeper", "nlink"} <= lines[1].keys()
    assert lines[-1]["totals"]["done"] == 3


def test_torn_and_foreign_lines_are_passed_over(tmp_path: Path, journal: Path) -> None:
    """Whatever is in the folder, the runs that can be read are there."""
    act(tree(tmp_path / "top"), ActionName.DELETE, journal)
    (path,) = journal.iterdir()
    with path.open("ab") as file:
        file.write(b'{"kind": "outcome", "n": 1, "resu')
    (journal / "zz.jsonl").write_bytes(b"\0\xff\n[1]\n{}\n" + b"[" * 100_000)
    known = runs.all_runs(str(journal))
    (run,) = known.runs
    assert (len(run.done()), run.broken, known.unreadable) == (3, [], [])
    with journals.taken(run.path) as descriptor:
        assert descriptor is not None
        journals.append(descriptor, [run.outcomes[1].as_object()])
    run.read_again()
    assert (len(run.done()), run.broken) == (3, [])


def test_journals_that_cannot_be_read_are_told(tmp_path: Path, journal: Path) -> None:
    """Another version's, a damaged one: never as if nothing had been done."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"]), "two": (["c"], ["d"])})
    act(marks, ActionName.DELETE, journal)
    (path,) = journal.iterdir()
    path.write_bytes(path.read_bytes().replace(b'"algorithm"', b'"algorithX"', 1))
    (journal / "zzzzzzzz.jsonl").write_bytes(b'{"kind": "head", "schema": "dedupe-journal/2"}\n')
    run = path.name.removesuffix(".jsonl")
    with pytest.raises(UsageError, match=rf"zzzzzzzz.*another version.*nothing was undone.*`dedupe undo {run}`"):
        take_back(journal)
    with pytest.raises(UsageError, match="another version"):
        take_back(journal, run="zzzzzzzz")
    assert not (tmp_path / "top/b").exists()
    tally = take_back(journal, run=run)
    assert tally.done == 1
    assert [reason[:40] for reason in reasons(tally)] == [
        "this journal cannot be read: another ver",
        "this journal is damaged in line 2: what ",
    ]
    path.rename(tmp_path / "kept")
    with pytest.raises(UsageError, match="name a run"):
        take_back(journal)


def test_a_folder_of_journals_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    """It is not as if nothing had been done."""
    (tmp_path / "journal").write_bytes(b"")
    with pytest.raises(NothingUsableError, match="cannot be read"):
        take_back(tmp_path / "journal")


def test_a_run_that_is_alive_is_left_alone(journal: Path) -> None:
    """Its intents without outcome are its own; once it has ended they are settled."""
    with Journal(str(journal), "delete", {}) as written:
        assert journals.is_alive(written.path)
    assert not journals.is_alive(written.path)


def test_a_journal_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    """And nothing is done without it."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NothingUsableError, match="Without it nothing is done"):
        Journal(str(tmp_path / "file" / "journal"), "delete", {})


@pytest.mark.skipif(sys.platform == "win32", reason="a thread of Wine's is no process of its own")
def test_runs_begun_at_once_have_names_of_their_own(journal: Path) -> None:
    """Names sort by time and are made exclusively."""
    names: list[str] = []

    def begin() -> None:
        with Journal(str(journal), "delete", {}) as written:
            names.append(written.run)

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(names)) == 8
    assert all(len(name) == 8 for name in names)


def test_nothing_is_settled_where_nothing_is_open(tmp_path: Path, journal: Path) -> None:
    """A run that came to its end is not touched."""
    act(tree(tmp_path / "top"), ActionName.DELETE, journal)
    (path,) = journal.iterdir()
    before = path.read_bytes()
    assert settle.settle_all(runs.all_runs(str(journal)).runs) == settle.Settled()
    assert path.read_bytes() == before


def test_a_killed_run_is_the_last_run(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are put back and told; the run before stays done, and is named."""
    first = copies(tmp_path / "first", {"one": (["a"], ["b"])})
    second = copies(tmp_path / "second", {"two": (["c"], ["d"])})
    run = act(first, ActionName.DELETE, journal).run
    before = snapshot(tmp_path / "second")
    killed_in(monkeypatch, Delete, "commit", lambda: act(second, ActionName.DELETE, journal))
    assert snapshot(tmp_path / "second") != before
    assert any("1" in note for note in take_back(journal, dry_run=True).notes)
    tally = take_back(journal)
    assert (tally.done, reasons(tally)) == (0, [])
    assert snapshot(tmp_path / "second") == before
    assert not (tmp_path / "first/b").exists()
    assert "1 name was put back" in tally.notes[0]
    assert f"dedupe undo {run}" in tally.notes[-1]


def test_undoing_twice_does_nothing_more(tmp_path: Path, journal: Path) -> None:
    """The run before is named, and left alone."""
    run = act(copies(tmp_path / "first", {"one": (["a"], ["b"])}), ActionName.DELETE, journal).run
    act(copies(tmp_path / "second", {"two": (["c"], ["d"])}), ActionName.MOVE_TO, journal)
    assert take_back(journal).done == 1
    again = take_back(journal)
    assert (again.done, len(again.already)) == (0, 1)
    assert f"`dedupe undo {run}` takes back one before: delete" in again.notes[0]
    assert not (tmp_path / "first/b").exists()


def test_runs_are_in_order_whatever_the_clock_says(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within one moment, or after a clock was set back, the later one sorts later."""
    now = journals.time.time_ns()
    monkeypatch.setattr(journals.time, "time_ns", lambda: now)
    names = [act(copies(tmp_path / w, {w: (["a"], ["b"])}), ActionName.DELETE, journal).run for w in ("one", "two")]
    monkeypatch.setattr(journals.time, "time_ns", lambda: now - 10**12)
    names.append(act(copies(tmp_path / "three", {"three": (["a"], ["b"])}), ActionName.DELETE, journal).run)
    assert names == sorted(set(names))
    assert take_back(journal).run > names[-1]
    assert (tmp_path / "three/b").exists()


def test_a_file_is_looked_for_in_all_runs(tmp_path: Path, journal: Path) -> None:
    """The last run that did something about it is meant."""
    act(copies(tmp_path / "first", {"one": (["a"], ["b"])}), ActionName.DELETE, journal)
    act(copies(tmp_path / "second", {"two": (["c"], ["d"])}), ActionName.DELETE, journal)
    assert take_back(journal, files=[os.fsencode(tmp_path / "first/b")]).done == 1
    assert (tmp_path / "first/b").exists()
    assert not (tmp_path / "second/d").exists()


@pytest.mark.parametrize("named", [True, False])
def test_a_run_at_work_is_not_undone(tmp_path: Path, journal: Path, named: bool) -> None:  # noqa: FBT001
    """Whether it is named or the last one."""
    with Journal(str(journal), "delete", {}) as written:
        written.put([{"kind": "intent", "n": 1}])
        act(copies(tmp_path / "first", {"one": (["a"], ["b"])}), ActionName.DELETE, journal)
        found = runs.all_runs(str(journal)).runs[-1]
        with journals.taken(found.path):
            found.foot = None
            data = Path(found.path).read_bytes().splitlines(keepends=True)
            Path(found.path).write_bytes(b"".join(data[:-1]))
            with pytest.raises(UsageError, match="still at work"):
                take_back(journal, run=found.name if named else "")


def test_a_run_that_ended_meanwhile_is_not_settled(tmp_path: Path, journal: Path) -> None:
    """What was read of a journal while its run was alive is read again under its lock."""
    act(copies(tmp_path / "top", {"one": (["a"], ["b"])}), ActionName.MOVE_TO, journal)
    (path,) = journal.iterdir()
    whole = path.read_bytes()
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
    known = runs.all_runs(str(journal))
    assert known.runs[0].open_intents
    path.write_bytes(whole)
    assert settle.settle_all(known.runs) == settle.Settled()
    assert not (tmp_path / "top/b").exists()


@pytest.mark.parametrize("action", [ActionName.DELETE, ActionName.HARDLINK])
def test_a_file_that_was_undone_elsewhere_can_be_undone_in_place(
    tmp_path: Path, journal: Path, action: ActionName
) -> None:
    """What was made in another folder is extra: the name itself still is as the run left it."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    before = snapshot(tmp_path / "top")
    act(marks, action, journal)
    assert take_back(journal, to=os.fsencode(tmp_path / "out")).done == 1
    assert take_back(journal).done == 1
    assert snapshot(tmp_path / "top") == before


def test_names_of_one_file_that_come_back_one_by_one_are_one_file(tmp_path: Path, journal: Path) -> None:
    """Also where each is undone for itself."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    os.link(top / "b", top / "c")
    (group,) = marks.groups
    (file,) = group.redundant
    linked = file._replace(links=(os.fsencode(top / "c"),))
    before = snapshot(top)
    act(replace(marks, groups=(replace(group, redundant=(linked,)),)), ActionName.DELETE, journal)
    for name in "bc":
        assert take_back(journal, files=[os.fsencode(top / name)]).done == 1
    assert snapshot(top) == before


def test_a_dry_run_of_undo_looks(tmp_path: Path, journal: Path) -> None:
    """What undo would refuse is refused by its dry run, and nothing is changed."""
    top = tmp_path / "top"
    act(copies(top, {w: ([f"{w}/a"], [f"{w}/b"]) for w in "xyz"}), ActionName.DELETE, journal)
    (top / "x/b").write_bytes(b"newer")
    (top / "y/a").write_bytes(b"edited")
    after = snapshot(tmp_path)
    tally = take_back(journal, dry_run=True)
    assert (tally.done, len(tally.refused)) == (1, 2)
    assert snapshot(tmp_path) == after
    real = take_back(journal)
    assert (real.done, real.refused) == (tally.done, tally.refused)


def test_an_undo_that_ends_early_tells_what_it_did(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its journal cannot be written any more: what is back by then is counted."""
    marks = copies(tmp_path / "top", {str(n): ([f"a{n}"], [f"b{n}"]) for n in range(70)})
    act(marks, ActionName.DELETE, journal)
    usual, asked = Journal.intend, []

    def full(self: Journal, intents: Iterable[Intent]) -> None:
        asked.append(1)
        if len(asked) > 1:
            raise NothingUsableError("no space")
        usual(self, intents)

    monkeypatch.setattr(Journal, "intend", full)
    tally = take_back(journal)
    assert (tally.done, tally.stopped) == (64, "no space")


@pytest.mark.skipif(sys.platform != "linux", reason="mounts of Linux")
@pytest.mark.parametrize("killed", [True, False])
def test_an_empty_mount_point_is_not_believed(
    tmp_path: Path,
    journal: Path,
    killed: bool,  # noqa: FBT001 - a parameter of the test
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While a volume is away nothing is put back, made or written down; once it is there all is as before."""
    disks.run("truncate", "-s", "32M", tmp_path / "image")
    disks.run("mkfs.ext4", "-q", "-F", tmp_path / "image")
    stick = tmp_path / "top/stick"
    stick.parent.mkdir()
    with disks.mounted(stick, "-o", "loop", tmp_path / "image"):
        marks = copies(tmp_path / "top", {"one": (["keep"], ["stick/b"])})
        before = (stick / "b").read_bytes()
        if killed:
            killed_in(monkeypatch, Delete, "commit", lambda: act(marks, ActionName.DELETE, journal))
        else:
            assert act(marks, ActionName.DELETE, journal).done == 1
    (told,) = reasons(take_back(journal))
    run = sorted(journal.iterdir())[0].name.removesuffix(".jsonl")
    assert "its volume is not there: mount it, then run" in told
    assert killed or f"`dedupe undo {run}`" in told
    assert not list(stick.iterdir())
    other = act(copies(tmp_path / "else", {"two": (["c"], ["d"])}), ActionName.DELETE, journal)
    assert (other.done, other.is_complete) == (1, True)
    with disks.mounted(stick, "-o", "loop", tmp_path / "image"):
        assert reasons(take_back(journal, run=run)) == []
        assert (stick / "b").read_bytes() == before
        assert not list(stick.glob(".dedupe-*"))


@pytest.mark.parametrize("lost", ["gone", "with its folder", "changed"])
def test_what_was_deleted_comes_back_from_any_copy_that_stayed(tmp_path: Path, journal: Path, lost: str) -> None:
    """Not only from the one that it was compared with; the content decides."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["1/a", "2/a", "3/a"], ["b"])})
    before = snapshot(top)["b"]
    assert act(marks, ActionName.DELETE, journal).done == 1
    (top / "2/a").write_bytes(content("another"))
    if lost == "gone":
        (top / "1/a").unlink()
    elif lost == "changed":
        (top / "1/a").write_bytes(content("another"))
    else:
        (top / "1").rename(tmp_path / "away")
    for dry_run in (True, False):
        tally = take_back(journal, dry_run=dry_run)
        assert (tally.done, reasons(tally)) == (1, [])
    assert snapshot(top)["b"] == before


def test_a_killed_run_whose_folder_is_gone_ends(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told once, with what is known, and troubles no later run."""
    marks = copies(tmp_path / "top", {"one": (["keep"], ["sub/b"])})
    killed_in(monkeypatch, Delete, "commit", lambda: act(marks, ActionName.DELETE, journal))
    shutil.rmtree(tmp_path / "top/sub")
    other = copies(tmp_path / "else", {"two": (["c"], ["d"])})
    tally = act(other, ActionName.DELETE, journal)
    assert (tally.done, tally.is_complete) == (1, True)
    assert any("its folder is gone" in note for note in tally.notes)
    take_back(journal)
    assert act(other, ActionName.DELETE, journal).notes == []


@not_on_windows("owners of POSIX")
def test_nothing_is_made_in_another_users_home(tmp_path: Path) -> None:
    """As root with the user's HOME: folders made there would shut their owner out."""
    need_root()
    (tmp_path / "home").mkdir()
    os.chown(tmp_path / "home", 1, 1)
    with pytest.raises(NothingUsableError, match="sudo -H"):
        Journal(str(tmp_path / "home/.local/state/journal"), "delete", {})
    assert not list((tmp_path / "home").iterdir())
