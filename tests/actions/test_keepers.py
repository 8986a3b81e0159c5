"""The copies that stay: what happens to them while others go, and what they must be to count."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dedupe.actions import engine, holding, keepers, proof
from dedupe.actions.apply import ActionName
from dedupe.actions.delete import Delete
from dedupe.actions.marks import MarkedFile
from dedupe.actions.proof import PlainReader
from dedupe.storage import durable
from tests.actions.common import LARGE, ON_LINUX, act, content, copies, edit, no_lease, reasons, snapshot
from tests.conftest import write

pytestmark = ON_LINUX
ACTIONS = [ActionName.MOVE_TO, ActionName.DELETE, ActionName.HARDLINK, ActionName.TRASH]
PAIRS = {"one": (["a1"], ["b1"]), "two": (["a2"], ["b2"]), "three": (["a3"], ["b3"])}


@pytest.mark.parametrize("action", ACTIONS)
def test_a_keeper_that_is_edited_after_the_proof_is_none(
    tmp_path: Path, journal: Path, action: ActionName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where size and date are what they were: the time of change is not."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    usual = engine.Engine._flush
    monkeypatch.setattr(holding.lease, "read_lease", no_lease)
    monkeypatch.setattr(engine.Engine, "_flush", lambda self: (edit(top / "a"), usual(self)))
    tally = act(marks, action, journal, target=tmp_path / "target")
    assert tally.done == 0
    assert "changed after it was compared" in reasons(tally)[0]
    assert (top / "b").read_bytes() == content("one")


def test_who_waits_to_write_to_a_keeper_is_seen(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease that somebody broke is no proof any more, whatever the file looks like."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    asked: list[bool] = []

    def kept(_: int) -> bool:
        asked.append(True)
        return len(asked) < 4

    monkeypatch.setattr(holding.lease, "is_kept", kept)
    monkeypatch.setattr("dedupe.storage.lease._take", lambda _: True)
    assert act(marks, ActionName.DELETE, journal).done == 0
    assert (tmp_path / "top/b").exists()


def test_nothing_proven_waits_for_a_long_reading(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was compared is acted on before a large group is read."""
    monkeypatch.setattr(engine, "_LONG", LARGE)
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"]), "two": (["c"], ["d"])})
    large = copies(top, {"big": (["x"], ["y"])}, size=LARGE)
    marks = replace(marks, groups=[*marks.groups, replace(large.groups[0], id=9)])
    usual, there = engine.prove, []

    def look(keeper: Any, *rest: Any) -> Any:
        if keeper.seen.size == LARGE:
            there.extend(name for name in "bd" if (top / name).exists())
        return usual(keeper, *rest)

    monkeypatch.setattr(engine, "prove", look)
    assert act(marks, ActionName.DELETE, journal).done == 3
    assert there == []


@pytest.mark.parametrize("action", [ActionName.DELETE, ActionName.HARDLINK])
def test_a_keeper_is_on_its_disk_before_its_copy_goes(
    tmp_path: Path, journal: Path, action: ActionName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its date may be old, as of what `cp -p` made a moment ago; one that cannot be written saves nothing."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    usual, synced = os.fsync, []

    def fsync(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        if synced[-1].endswith("/a"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        usual(descriptor)

    monkeypatch.setattr(durable.os, "fsync", fsync)
    tally = act(marks, action, journal)
    assert str(tmp_path / "top/a") in synced
    assert tally.done == 0
    assert "could not be written to its disk" in reasons(tally)[0]
    assert (tmp_path / "top/b").read_bytes() == content("one")


@pytest.mark.parametrize("tells", [True, False])
def test_many_new_keepers_are_written_to_their_disk_by_one_call(
    tmp_path: Path, journal: Path, synced: list[str], monkeypatch: pytest.MonkeyPatch, *, tells: bool
) -> None:
    """Each by itself where the system cannot do that, or cannot say that it did; and what is younger than the call."""
    top = tmp_path / "top"
    marks = copies(top, {f"{n:02}": ([f"a{n:02}"], [f"b{n:02}"]) for n in range(20)})
    usual, calls = durable.write_volume, list[int]()

    def write_volume(descriptor: int) -> bool:
        calls.append(descriptor)
        is_written = usual(descriptor) and tells
        time.sleep(0.1)
        os.utime(top / "a19")
        return is_written

    monkeypatch.setattr(keepers, "_COARSE", 0.05)
    time.sleep(0.1)
    monkeypatch.setattr(engine, "_FILES", 10)
    monkeypatch.setattr(durable, "write_volume", write_volume)
    assert act(marks, ActionName.DELETE, journal).done == 20
    assert len(calls) == 1
    assert [name for name in synced if name.startswith("a")] == [f"a{n:02}" for n in range(20) if n == 19 or not tells]


def test_the_name_of_a_new_keeper_is_on_its_disk_too(tmp_path: Path, journal: Path, synced: list[str]) -> None:
    """FAT writes a file without the folder that leads to it."""
    marks = copies(tmp_path / "top", {"one": (["keep/a"], ["b"])})
    there = list[bool]()
    usual = Delete.commit

    def commit(self: Delete, item: Any) -> None:
        there.append(synced.index("a") < synced.index("keep"))
        usual(self, item)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Delete, "commit", commit)
        assert act(marks, ActionName.DELETE, journal).done == 1
    assert there == [True]


@pytest.mark.parametrize("size", [5000, LARGE])
def test_a_keeper_that_cannot_be_read_ends_nothing(
    tmp_path: Path, journal: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its group stays, with the reason; the others are acted on."""
    marks = copies(tmp_path / "top", PAIRS, size=size)

    def broken(usual: Callable[..., Any]) -> Callable[..., Any]:
        def read(first: Any, *rest: Any) -> Any:
            descriptor = first._file.fileno() if isinstance(first, PlainReader) else first
            if os.readlink(f"/proc/self/fd/{descriptor}").endswith("/a2"):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return usual(first, *rest)

        return read

    monkeypatch.setattr(proof, "read_at", broken(proof.read_at))
    monkeypatch.setattr(PlainReader, "window", broken(PlainReader.window))
    tally = act(marks, ActionName.DELETE, journal)
    assert tally.done == 2
    assert ["cannot be read: Input/output error" in reason for reason in reasons(tally)] == [True]
    assert (tmp_path / "top/b2").exists()


def test_few_open_files_are_enough(tmp_path: Path, journal: Path) -> None:
    """With 64 at a time, and groups of as many files, each in a folder of its own."""
    groups = {str(n): ([f"a{n}"], [f"b{n}/{m}/x" for m in range(60)]) for n in range(3)}
    marks = copies(tmp_path / "top", groups, size=LARGE)
    import resource  # which Windows has not

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    try:
        tally = act(marks, ActionName.DELETE, journal)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (tally.done, reasons(tally)) == (180, [])


def test_of_several_keepers_the_good_ones_count(tmp_path: Path, journal: Path) -> None:
    """Where two have to stay and three are marked so, one that changed makes way for the third."""
    marks = copies(tmp_path / "top", {"one": (["a", "b", "c"], ["d"])})
    (tmp_path / "top/b").write_bytes(content("other"))
    assert act(marks, ActionName.DELETE, journal, copies=2).done == 1


def test_why_a_keeper_does_not_count_is_told(tmp_path: Path, journal: Path) -> None:
    """It is open for writing, say: not "what the report says no more"."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    with (tmp_path / "top/a").open("r+b"):
        (reason,) = reasons(act(marks, ActionName.DELETE, journal))
    assert "is open for writing by another program" in reason


@pytest.mark.parametrize("action", [ActionName.DELETE, ActionName.HARDLINK])
def test_names_of_one_file_that_are_listed_apart_go_together(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """However many there are, as other finders list them."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    for number in range(70):
        os.link(top / "b", top / f"c{number}")
    (group,) = marks.groups
    apart = [MarkedFile(os.fsencode(top / f"c{number}")) for number in range(70)]
    marks = replace(marks, groups=[replace(group, redundant=(*group.redundant, *apart))])
    tally = act(marks, action, journal)
    assert (tally.done, reasons(tally)) == (71, [])


def test_what_is_linked_still_is_what_was_compared(tmp_path: Path, journal: Path) -> None:
    """Our own links move a keeper's time of change: further victims are linked all the same."""
    marks = copies(tmp_path / "top", {"one": (["a"], [f"b{n}" for n in range(130)])})
    tally = act(marks, ActionName.HARDLINK, journal)
    assert (tally.done, reasons(tally)) == (130, [])
    assert (tmp_path / "top/a").stat().st_nlink == 131


def test_two_opposite_runs_lose_nothing(tmp_path: Path, journal: Path) -> None:
    """What one keeps the other takes: whichever comes second finds no copy that stays."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    (group,) = marks.groups
    other = replace(marks, groups=[replace(group, keep=group.redundant, redundant=group.keep)])
    assert act(marks, ActionName.DELETE, journal).done == 1
    assert act(other, ActionName.DELETE, journal).done == 0
    assert list(snapshot(top)) == ["a"]
    write(top / "b", content("one"))
    assert act(other, ActionName.DELETE, journal).done == 1
