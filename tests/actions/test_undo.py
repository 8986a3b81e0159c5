"""Undo: some files, elsewhere, what is no longer as the run left it; the journal itself; runs that are alive."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from dedupe.actions import journal as journals
from dedupe.actions import runs, settle
from dedupe.actions.apply import ActionName
from dedupe.actions.journal import Journal
from dedupe.errors import NothingUsableError, UsageError
from tests.actions.common import act, content, copies, reasons, snapshot, take_back, tree
from tests.cases.common import MODES_OF_POSIX, not_on_windows

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
    with pytest.raises(UsageError, match="did nothing about"):
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
    assert reasons(tally) in (["its name is taken by now"], ["its name means another file by now"])
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
    (journal / "new.jsonl").write_bytes(b'{"kind": "head", "schema": "dedupe-journal/2"}\n')
    (run,) = runs.all_runs(str(journal))
    assert len(run.done()) == 3
    journals.append(run.path, [run.outcomes[1]])
    assert len(runs.read(run.path).done()) == 3


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
    assert settle.settle_all(runs.all_runs(str(journal))) == []
    assert path.read_bytes() == before
