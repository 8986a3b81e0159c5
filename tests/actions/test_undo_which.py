"""Which run an undo means: the last one, or none where that is not known; files and folders that are named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dedupe.actions.apply import ActionName
from dedupe.actions.journal import Journal
from dedupe.errors import NothingUsableError, UsageError
from tests.actions.common import ON_LINUX, act, copies, reasons, snapshot, take_back
from tests.cases.common import MODES_OF_POSIX, need_root, not_on_windows

pytestmark = ON_LINUX


def test_a_run_at_work_that_began_nothing_yet_is_the_last_run(tmp_path: Path, journal: Path) -> None:
    """It reads its first group, for hours maybe: the run before is not taken for the last one."""
    act(copies(tmp_path / "top", {"one": (["a"], ["b"])}), ActionName.DELETE, journal)
    with Journal(str(journal), "trash", {}) as written:
        with pytest.raises(UsageError, match=f"{written.run} is still at work"):
            take_back(journal)
        assert not (tmp_path / "top/b").exists()
    assert take_back(journal).done == 1  # it ended, and had begun nothing


def test_an_undo_at_work_is_waited_for(tmp_path: Path, journal: Path) -> None:
    """Two undos of one run would get into each other's way."""
    run = act(copies(tmp_path / "top", {"one": (["a"], ["b"])}), ActionName.DELETE, journal).run
    with Journal(str(journal), "undo", {}, undoes=run) as written:
        for name in ("", run):
            with pytest.raises(UsageError, match=f"{written.run} is an undo of {run} that is still at work"):
                take_back(journal, run=name)


@pytest.mark.parametrize("files", [False, True])
def test_a_newer_journal_that_cannot_be_read_refuses(tmp_path: Path, journal: Path, files: bool) -> None:  # noqa: FBT001
    """What the last run did is not known: an older one is taken back only by its name."""
    run = act(copies(tmp_path / "one", {"one": (["a"], ["b"])}), ActionName.DELETE, journal).run
    newer = act(copies(tmp_path / "two", {"two": (["a"], ["b"])}), ActionName.DELETE, journal).run
    path = journal / f"{newer}.jsonl"
    path.write_bytes(path.read_bytes().replace(b"dedupe-journal/1", b"dedupe-journal/9", 1))
    named = [os.fsencode(tmp_path / "one/b")] if files else []
    with pytest.raises(UsageError, match=f"{newer}.*`dedupe undo {run}`"):
        take_back(journal, files=named)
    assert not (tmp_path / "one/b").exists()
    tally = take_back(journal, run=run, files=named)
    assert (tally.done, len(tally.unknown)) == (1, 1)


def test_an_older_journal_that_cannot_be_read_is_only_told(tmp_path: Path, journal: Path) -> None:
    """The last run is known."""
    older = act(copies(tmp_path / "one", {"one": (["a"], ["b"])}), ActionName.DELETE, journal).run
    act(copies(tmp_path / "two", {"two": (["a"], ["b"])}), ActionName.DELETE, journal)
    (journal / f"{older}.jsonl").write_bytes(b"\0" * 100)
    tally = take_back(journal)
    assert (tally.done, len(tally.unknown)) == (1, 1)


def test_a_journal_without_its_head_is_undone_by_its_name(tmp_path: Path, journal: Path) -> None:
    """What its other lines say is enough, and that it is damaged is told."""
    run = act(copies(tmp_path / "top", {"one": (["a"], ["b"])}), ActionName.DELETE, journal).run
    path = journal / f"{run}.jsonl"
    head, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(head[:50] + b"}\n" + rest)
    with pytest.raises(UsageError, match=run):
        take_back(journal)
    tally = take_back(journal, run=run)
    assert (tally.done, tally.is_complete) == (1, False)
    assert tally.about == f"Run {run}: delete."


def test_a_head_that_a_kill_tore_is_no_run(tmp_path: Path, journal: Path) -> None:
    """It began nothing: the last run is the one before."""
    run = act(copies(tmp_path / "top", {"one": (["a"], ["b"])}), ActionName.DELETE, journal).run
    head = (journal / f"{run}.jsonl").read_bytes().partition(b"\n")[0]
    for number, length in enumerate((0, 5, len(head) - 1)):
        (journal / f"zzzzzzz{number}.jsonl").write_bytes(head[:length])
    assert take_back(journal).done == 1


def test_a_folder_means_all_below(tmp_path: Path, journal: Path) -> None:
    """Also one that is gone, and one that is named through a link; not one whose name only begins alike."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["go/b", "go/deep/c"]), "two": (["d"], ["gone"])})
    before = snapshot(top)
    run = act(marks, ActionName.DELETE, journal).run
    (top / "go/deep").rmdir()
    assert take_back(journal, files=[os.fsencode(top / "go/deep")]).refused == []
    (top / "go/deep").mkdir()
    (tmp_path / "link").symlink_to(top)
    assert take_back(journal, run=run, files=[os.fsencode(tmp_path / "link/go") + b"/"]).done == 2
    assert not (top / "gone").exists()
    assert take_back(journal).done == 1
    assert snapshot(top) == before


def test_files_of_two_runs_are_not_guessed_at(tmp_path: Path, journal: Path) -> None:
    """What one undo takes back is of one run."""
    ran = [act(copies(tmp_path / w, {w: (["a"], ["b"])}), ActionName.DELETE, journal).run for w in ("one", "two")]
    with pytest.raises(UsageError, match="No run did something about all of these") as error:
        take_back(journal, files=[os.fsencode(tmp_path / word / "b") for word in ("one", "two")])
    for run, word in zip(ran, ("one", "two"), strict=True):
        assert f"`dedupe undo {run}` with {tmp_path / word / 'b'}" in str(error.value)
    with pytest.raises(UsageError, match="No run did anything about"):
        take_back(journal, files=[os.fsencode(tmp_path / "one/b"), os.fsencode(tmp_path / "other")])


def test_what_other_runs_did_below_a_folder_is_told(tmp_path: Path, journal: Path) -> None:
    """Of a folder that two runs did something about: with the command for the other one, until that is undone too."""
    old = [os.fsencode(tmp_path / "old")]
    marks = [copies(tmp_path, {word: ([f"{word}/a"], [f"old/{word}"])}) for word in ("one", "two")]
    first, _ = (act(each, ActionName.TRASH, journal).run for each in marks)
    tally = take_back(journal, files=old)
    assert (tally.done, len(tally.notes)) == (1, 1)
    assert f"Run {first} (trash, " in tally.notes[0]
    assert f"did something about 1 name of these too: `dedupe undo {first}`" in tally.notes[0]
    assert take_back(journal, run=first, files=old).done == 1
    assert sorted(path.name for path in (tmp_path / "old").iterdir()) == ["one", "two"]
    assert take_back(journal, files=old).notes == []


def test_reflink_last_is_the_last_run(sharing_disk: Path, journal: Path) -> None:
    """There is nothing to undo of it, and the run before is left alone."""
    act(copies(sharing_disk / "one", {"one": (["a"], ["b"])}), ActionName.DELETE, journal)
    marks = copies(sharing_disk / "two", {"two": (["a"], ["b"])}, size=1 << 20)
    assert act(marks, ActionName.REFLINK, journal).done == 1
    tally = take_back(journal)
    assert (tally.done, reasons(tally)) == (0, [])
    assert "Sharing blocks needs no undoing" in tally.notes[0]
    assert not (sharing_disk / "one/b").exists()


@not_on_windows(MODES_OF_POSIX)
def test_root_writes_no_journal_among_another_users(tmp_path: Path, journal: Path) -> None:
    """Its owner could neither read nor undo it, and could not tell any more which run of theirs is the last."""
    need_root()
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    journal.mkdir(parents=True)
    os.chown(journal, 1, 1)
    with pytest.raises(NothingUsableError, match=r"another user's.*sudo -H"):
        act(marks, ActionName.DELETE, journal)
    assert (tmp_path / "top/b").exists()
    assert list(journal.iterdir()) == []
