"""Undo of a link where two names cannot be exchanged, as on FUSE, NFS and exFAT: nothing that took the name is lost."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dedupe.actions import restoring, runs, settle, undoing
from dedupe.actions.apply import ActionName
from dedupe.storage.temporary_names import is_temporary
from tests.actions.common import ON_LINUX, act, content, copies, killed_in, reasons, take_back

pytestmark = ON_LINUX
MEANWHILE = "something else took its name meanwhile"


def no_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the system exchange nothing."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(restoring, "exchange", refuse)


def before_call(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, number: int, do: Callable[[], object]) -> None:
    """Do something right before the n-th call of a function."""
    usual, calls = getattr(owner, name), []

    def call(*args: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) == number:
            do()
        return usual(*args, **more)

    monkeypatch.setattr(owner, name, call)


def saved(top: Path, data: bytes = b"NEW WORK") -> Callable[[], object]:
    """Return what an editor does: a new file beside the name, and that name over it."""

    def save() -> None:
        (top / "new").write_bytes(data)
        (top / "new").rename(top / "b")

    return save


@pytest.fixture
def top(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a keeper and a link to it, where nothing can be exchanged."""
    top = tmp_path / "top"
    assert act(copies(top, {"one": (["a"], ["b"])}), ActionName.HARDLINK, journal).done == 1
    no_exchange(monkeypatch)
    return top


@pytest.mark.parametrize(
    ("owner", "name", "number"),
    [(undoing, "put_over", 1), (restoring.os, "rename", 1), (restoring, "rename", 1), (restoring, "rename", 2)],
)
def test_a_file_that_takes_the_name_meanwhile_has_it_still(
    top: Path, journal: Path, owner: Any, name: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any moment, from the copying on to the last step: it is told, and nothing lies beside it."""
    if number == 2:  # the first is refused, so that what was taken aside has to go back
        before_call(monkeypatch, restoring, "rename", 1, saved(top))
    before_call(monkeypatch, owner, name, number, saved(top, b"NEWER WORK" if number == 2 else b"NEW WORK"))
    tally = take_back(journal)
    assert (tally.done, reasons(tally)) == (0, [MEANWHILE])
    assert (top / "b").read_bytes().endswith(b" WORK")
    assert (top / "a").read_bytes() == content("one")
    assert sorted(path.name for path in top.iterdir()) == ["a", "b"]


def test_two_files_that_take_the_name_one_after_the_other_stay_both(
    top: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first was taken aside, and the second has the name by now: where the first lies is told."""
    before_call(monkeypatch, restoring.os, "rename", 1, saved(top))
    before_call(monkeypatch, restoring, "_put_again", 1, saved(top, b"NEWER"))
    (told,) = reasons(take_back(journal))
    (beside,) = top.glob(".dedupe-*")
    assert beside.name in told
    assert is_temporary(os.fsencode(beside.name))  # so that a scan tells of it
    assert {path.read_bytes() for path in top.iterdir()} == {content("one"), b"NEW WORK", b"NEWER"}


def test_a_link_that_was_edited_meanwhile_is_not_given_up(
    top: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its keeper may be gone, and the edited bytes be nowhere else."""
    (top / "a").unlink()
    before_call(monkeypatch, undoing, "put_over", 1, lambda: (top / "b").write_bytes(b"edited"))
    assert reasons(take_back(journal)) == [MEANWHILE]
    assert [(path.name, path.read_bytes()) for path in top.iterdir()] == [("b", b"edited")]


def test_a_kill_after_another_file_was_taken_aside_is_settled(
    top: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has its name again, and nothing lies beside it."""
    with monkeypatch.context() as patch:
        before_call(patch, restoring.os, "rename", 1, saved(top))
        killed_in(patch, restoring, "_put_again", lambda: take_back(journal))
    assert not (top / "b").exists()
    settle.settle_all(runs.all_runs(str(journal)).runs)
    assert {path.name: path.read_bytes() for path in top.iterdir()} == {"a": content("one"), "b": b"NEW WORK"}


def test_what_has_the_name_by_then_leaves_the_file_that_was_taken_aside(
    top: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settling gives no file up that is no copy: both stay, and that is told."""
    with monkeypatch.context() as patch:
        before_call(patch, restoring.os, "rename", 1, saved(top))
        killed_in(patch, restoring, "_put_again", lambda: take_back(journal))
    saved(top, b"NEWER")()
    (told,) = settle.settle_all(runs.all_runs(str(journal)).runs).left
    assert "what had it lies beside it" in told.reason
    assert {b"NEW WORK", b"NEWER"} < {path.read_bytes() for path in top.iterdir()}
