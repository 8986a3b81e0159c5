"""The summary before the act promises only what the action's own checks will let happen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dedupe.actions import apply as applying
from dedupe.actions.apply import ActionName, Order
from dedupe.actions.marks import Marks
from dedupe.actions.summary import Summary
from tests import disks
from tests.actions.common import ON_LINUX, act, content, copies, marked, reasons, snapshot
from tests.cases.common import need_root
from tests.conftest import write

pytestmark = ON_LINUX


def foreseen(marks: Marks, action: ActionName, journal: Path, target: Path | None = None) -> Summary:
    """Return the summary of an action."""
    order = Order(action=action, target=None if target is None else os.fsencode(target))
    return applying.foresee(applying.prepare(marks, order, str(journal)))


@pytest.mark.parametrize("action", [ActionName.HARDLINK, ActionName.MOVE_TO, ActionName.REFLINK])
def test_what_lies_on_another_volume_frees_nothing(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """Its bytes are in no promise, it is told, and the act refuses it for the same reason."""
    with disks.disk(tmp_path / "image", tmp_path / "disk") as made:
        write(tmp_path / "top/a", content("one"))
        write(made.folder / "b", content("one"))
        marks = marked(tmp_path, {"one": (["top/a"], ["disk/b"])})
        target = tmp_path / "away" if action is ActionName.MOVE_TO else None
        told = foreseen(marks, action, journal, target)
        assert (told.files, told.freed, told.bytes, list(told.refused.values())) == (0, {}, 0, [1])
        assert reasons(act(marks, action, journal, target=target)) == list(told.refused)


def test_metadata_that_a_link_would_lose_is_seen_before(tmp_path: Path, journal: Path) -> None:
    """Of two victims the one that can be linked is promised."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b", "c"])})
    (tmp_path / "top/c").chmod(0o600)
    told = foreseen(marks, ActionName.HARDLINK, journal)
    assert (told.files, told.bytes, sum(told.freed.values())) == (1, 5000, 8192)
    (reason,) = told.refused
    assert reasons(act(marks, ActionName.HARDLINK, journal)) == [reason]


@pytest.mark.parametrize("action", ActionName)
def test_looking_ahead_changes_nothing(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """No folder, trash or journal is made; where the act does it all, nothing is foreseen to be refused."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", "btrfs") as made:
        marks = copies(made.folder / "top", {"one": (["a"], ["go/b"]), "two": (["c"], ["go/d"])}, size=1 << 20)
        before = snapshot(made.folder)
        told = foreseen(marks, action, journal, made.folder / "away" if action is ActionName.MOVE_TO else None)
        assert (told.files, told.refused) == (2, {})
        assert snapshot(made.folder) == before
        assert not journal.exists()
        assert act(marks, action, journal, target=made.folder / "away").done == 2


def test_copies_are_told_apart_by_volume(tmp_path: Path, journal: Path) -> None:
    """Two copies on one disk are not the same as two on two."""
    need_root()
    with disks.disk(tmp_path / "image", tmp_path / "disk") as made:
        for path in (tmp_path / "a", tmp_path / "b", made.folder / "c", made.folder / "d"):
            write(path, content("one"))
        marks = marked(tmp_path, {"one": (["a", "b", "disk/c"], ["disk/d"])})
        assert sorted(foreseen(marks, ActionName.DELETE, journal).stays.values()) == [1, 2]


def test_shared_blocks_are_promised_as_at_least(tmp_path: Path, journal: Path) -> None:
    """Victims that share with each other only free more than each for itself, once all are gone."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", "btrfs") as made:
        marks = copies(made.folder / "top", {"one": (["a"], ["b", "c"])}, size=1 << 20)
        disks.run("cp", "--reflink=always", made.folder / "top/b", made.folder / "top/c")
        disks.run("sync")
        told = foreseen(marks, ActionName.DELETE, journal)
        assert list(told.freed) == list(told.shared)


def test_nothing_is_done_that_was_not_promised(tmp_path: Path, journal: Path) -> None:
    """What the summary leaves out stays, even if it could be acted on by the time of the act."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b", "c"])})
    (tmp_path / "top/c").chmod(0o600)
    prepared = applying.prepare(marks, Order(action=ActionName.HARDLINK), str(journal))
    assert applying.foresee(prepared).files == 1
    (tmp_path / "top/c").chmod(0o644)
    tally = applying.carry_out(prepared)
    assert (tally.done, len(tally.refused)) == (1, 1)
    assert (tmp_path / "top/c").stat().st_nlink == 1


def test_a_copy_that_cannot_be_opened_makes_way_for_the_next(tmp_path: Path, journal: Path) -> None:
    """As in the act: the one that is being written to is not asked about."""
    marks = copies(tmp_path / "top", {"one": (["a", "b"], ["c"])})
    with (tmp_path / "top/a").open("r+b"):
        told = foreseen(marks, ActionName.DELETE, journal)
        assert (told.files, told.refused) == (1, {})
        assert act(marks, ActionName.DELETE, journal).done == 1


def test_what_shares_its_blocks_already_is_no_refusal(tmp_path: Path, journal: Path) -> None:
    """It is done, as a second run finds it."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", "xfs") as made:
        marks = copies(made.folder / "top", {"one": (["a"], ["b"])}, size=1 << 20)
        act(marks, ActionName.REFLINK, journal)
        prepared = applying.prepare(marks, Order(action=ActionName.REFLINK), str(journal))
        told = applying.foresee(prepared)
        assert (told.files, told.refused, prepared.plan.groups) == (0, {}, [])
        tally = applying.carry_out(prepared)
        assert (tally.done, len(tally.already), tally.is_complete) == (0, 1, True)
