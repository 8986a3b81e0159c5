"""`--trash` as an action: what is told of trashes, and what of them is on the disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dedupe.actions.apply import ActionName
from dedupe.actions.trash_slots import Trash
from dedupe.storage import durable
from tests import disks
from tests.actions.common import ON_LINUX, act, copies, reasons, tree
from tests.cli.test_mark import Run
from tests.conftest import write

pytestmark = ON_LINUX


def test_a_trash_that_got_nothing_is_not_told(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the files lie is said of trashes that have one, not of those that were only looked at."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    (tmp_path / "top/b").write_bytes(b"x" * 5000)
    tally = act(marks, ActionName.TRASH, journal)
    assert (tally.done, tally.places) == (0, [])

    def no(*_: object, **__: object) -> None:
        raise OSError(errno.EACCES, "no")

    marks = copies(tmp_path / "top2", {"one": (["a"], ["b"])})
    monkeypatch.setattr("dedupe.actions.trash.move", no)
    tally = act(marks, ActionName.TRASH, journal)
    assert (tally.done, tally.places, len(tally.failed)) == (0, [], 1)


def test_the_way_that_works_is_told_once(tmp_path: Path, journal: Path) -> None:
    """One reason, one advice."""
    with disks.mounted(tmp_path / "memory", "-t", "tmpfs", "tmpfs") as folder:
        marks = tree(folder / "top")
        (folder / f".Trash-{os.geteuid()}").mkdir()
        write(folder / f".Trash-{os.geteuid()}/files", b"in the way")
        for reason in reasons(act(marks, ActionName.TRASH, journal)):
            assert reason.count("--move-to") == 1
            assert reason.count("trash") == 2


def test_a_trash_that_is_passed_over_is_told(cli: Run, tmp_path: Path) -> None:
    """By the program, in a dry run and in a run."""
    with disks.mounted(tmp_path / "memory", "-t", "tmpfs", "tmpfs") as folder:
        for name in ("top/a/x", "top/b/x"):
            write(folder / name, b"same")
        write(folder / ".Trash", b"no folder")
        cli("scan", folder / "top", "--no-cache", "--output", "r.json")
        for option in ("--dry-run", "--yes"):
            done = cli("apply", "r.json", "--prefer", folder / "top/a", "--trash", option)
            assert done.returncode == 0, done.stderr
            told = done.stderr.decode()
            assert told.count(f"{folder}/.Trash is not used: it is no folder with the sticky bit.") == 1


def test_info_files_are_on_the_disk_with_the_batch(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the run ends each is written out, or a power cut leaves files that no desktop can restore."""
    usual, written = durable.write_volume, []

    def write_volume(descriptor: int) -> bool:
        written.append((os.readlink(f"/proc/self/fd/{descriptor}"), sorted(os.listdir(descriptor))))
        return usual(descriptor)

    monkeypatch.setattr(durable, "write_volume", write_volume)
    act(tree(tmp_path / "top"), ActionName.TRASH, journal)
    info = Path(os.environ["XDG_DATA_HOME"]) / "Trash/info"
    assert written[-1] == (str(info), sorted(path.name for path in info.iterdir()))
    assert len(written[-1][1]) == 3
    assert usual(os.open(tmp_path, os.O_RDONLY))


def test_folders_are_synced_where_volumes_cannot_be(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch, synced: list[str]
) -> None:
    """An old kernel, another system."""
    monkeypatch.setattr(durable, "write_volume", lambda _: False)
    act(tree(tmp_path / "top"), ActionName.TRASH, journal)
    place = Path(os.environ["XDG_DATA_HOME"]) / "Trash"
    assert {str(place / "info"), str(place / "files")} <= set(synced)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the paths that are synced."""
    usual: Callable[[int], None] = os.fsync
    found: list[str] = []

    def fsync(descriptor: int) -> None:
        found.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        usual(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    return found


def test_a_full_trash_is_told_as_that(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record of a file takes space where its rename takes none."""

    def full(*_: object, **__: object) -> bool:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Trash, "claim", full)
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])})
    assert reasons(act(marks, ActionName.TRASH, journal)) == ["its trash has no space left for the record of it"]
    assert (tmp_path / "top/b").exists()
