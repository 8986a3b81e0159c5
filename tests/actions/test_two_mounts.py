"""One file under two mounts that tell different devices: removing one of its names would remove the file."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dedupe.actions import aliases
from dedupe.actions import apply as applying
from dedupe.actions.apply import ActionName, Order
from tests import disks
from tests.actions.common import act, content, copies, marked, reasons, snapshot
from tests.cases.common import need_root
from tests.conftest import need, write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mounts of Linux")
ACTIONS = [ActionName.DELETE, ActionName.MOVE_TO, ActionName.TRASH]


@contextmanager
def overlaid(top: Path) -> Iterator[tuple[Path, Path]]:
    """Yield a folder and another mount of what it holds, of another device."""
    for name in ("low", "work"):
        (top / name).mkdir()
    layers = f"lowerdir={top / 'low'},upperdir={top / 'here'},workdir={top / 'work'}"
    with disks.mounted(top / "there", "-t", "overlay", "-o", layers, "overlay") as there:
        yield top / "here", there


@contextmanager
def by_program(top: Path, program: str) -> Iterator[tuple[Path, Path]]:
    """Yield the same by a program of FUSE that shows a folder once more, with its usual caches."""
    need_root()
    need(shutil.which(program), program)
    (top / "there").mkdir()
    disks.run(program, top / "here", top / "there")
    try:
        yield top / "here", top / "there"
    finally:
        disks.unmount(top / "there")


def shown_twice(top: Path, by: str) -> Iterator[tuple[Path, Path]]:
    """Yield a folder on a disk, and what shows it once more."""
    with disks.disk(top / "image", top / "disk") as disk:
        (disk.folder / "here").mkdir()
        with overlaid(disk.folder) if by == "overlay" else by_program(disk.folder, by) as found:
            yield found


@pytest.fixture(params=["overlay", "bindfs", "mergerfs"])
def twice(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """Return a folder and another mount of what it holds, by each of the ways there are."""
    yield from shown_twice(tmp_path, request.param)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("is_known", [True, False])
def test_the_only_copy_stays(
    twice: tuple[Path, Path],
    journal: Path,
    action: ActionName,
    reverse: bool,  # noqa: FBT001 - a parameter of the test
    is_known: bool,  # noqa: FBT001 - likewise
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file and itself by way of another mount: refused by its dates, and, were they to say nothing, by the look."""
    here, there = twice
    write(here / "photo", content("one"))
    names = [there / "photo", here / "photo"]
    keep, go = reversed(names) if reverse else names
    assert keep.read_bytes() == go.read_bytes()
    assert keep.stat().st_dev != go.stat().st_dev
    before = snapshot(here)
    marks = marked(here.parent, {"one": ([str(keep)], [str(go)])})
    if not is_known:
        monkeypatch.setattr(aliases, "_dates", lambda look: (look.device, look.size, 0))
    tally = act(marks, action, journal, target=here.parent / "target" if reverse else there.parent / "target")
    assert tally.done == 0
    assert len(reasons(tally)) == 1
    assert {name: told for name, told in snapshot(here).items() if not name.startswith(".Trash")} == before


def test_two_files_of_two_disks_are_two(tmp_path: Path, journal: Path) -> None:
    """Dates that are equal to the last digit make no alias of files that lie on disks of their own."""
    with (
        disks.mounted(tmp_path / "a", "-t", "tmpfs", "tmpfs") as a,
        disks.mounted(tmp_path / "b", "-t", "tmpfs", "t") as b,
    ):
        seen = aliases.Seen(aliases.Look(1, 2, 3, 4, 5, 1), os.fsencode(a))
        same = aliases.Seen(aliases.Look(2, 2, 3, 4, 5, 1), os.fsencode(b))
        devices = [os.stat(folder).st_dev for folder in (a, b)]
        seen, same = (s._replace(look=s.look._replace(device=d)) for s, d in zip((seen, same), devices, strict=True))
        assert not aliases.one_file(seen, same)
        marks = copies(tmp_path, {"one": (["a/x"], ["b/y"])})
        assert act(marks, ActionName.DELETE, journal).done == 1


def test_copies_are_counted_once(twice: tuple[Path, Path], journal: Path, tmp_path: Path) -> None:
    """A file that stays and itself by way of another mount are one copy that stays, not two."""
    here, there = twice
    write(here / "photo", content("one"))
    time.sleep(0.01)
    write(tmp_path / "more", content("one"))
    marks = marked(tmp_path, {"one": ([str(here / "photo"), str(there / "photo")], [str(tmp_path / "more")])})
    tally = act(marks, ActionName.DELETE, journal, copies=2)
    assert tally.done == 0
    assert "only 1 of 2 copies would stay" in reasons(tally)[0]


def test_what_another_run_made_one_file_is_no_alias(tmp_path: Path, journal: Path) -> None:
    """Both names were linked to a new file after the plan was made: that is nothing to refuse, and no other mount."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    prepared = applying.prepare(marks, Order(action=ActionName.HARDLINK), str(journal))
    made = write(tmp_path / "top/made", content("one"))
    for name in ("a", "b"):
        (tmp_path / "top" / name).unlink()
        os.link(made, tmp_path / "top" / name)
    tally = applying.carry_out(prepared)
    assert (tally.done, reasons(tally)) == (0, [])
    assert [each.reason for each in tally.already] == ["is the same file as a copy that stays"]


@pytest.mark.parametrize("action", [ActionName.DELETE, ActionName.HARDLINK])
def test_what_an_overlay_hides_is_not_free(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """A file of a layer below stays there, and a link to one is made of a copy in the upper layer."""
    low = tmp_path / "low"
    for name in "ab":
        write(low / name, content("one"))
    for name in ("up", "work"):
        (tmp_path / name).mkdir()
    layers = f"lowerdir={low},upperdir={tmp_path / 'up'},workdir={tmp_path / 'work'}"
    with disks.mounted(tmp_path / "there", "-t", "overlay", "-o", layers, "overlay"):
        marks = marked(tmp_path, {"one": (["there/a"], ["there/b"])})
        prepared = applying.prepare(marks, Order(action=action), str(journal))
        summary = applying.foresee(prepared)
        assert (set(summary.freed.values()), summary.shared) == ({0}, set(summary.freed))
        tally = applying.carry_out(prepared)
        assert (tally.done, tally.freed, tally.freed_more, reasons(tally)) == (1, 0, True, [])
    assert (low / "b").read_bytes() == content("one")
