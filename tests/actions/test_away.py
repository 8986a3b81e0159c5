"""Marks of a disk that is not there: its files are not "gone", and nothing about them counts as done."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from dedupe.actions.apply import ActionName
from tests import disks
from tests.actions.common import ON_LINUX, act, content, copies, reasons
from tests.conftest import write

pytestmark = ON_LINUX
Cli = Callable[..., subprocess.CompletedProcess[bytes]]


def applied(cli: Cli, *args: str | Path) -> tuple[int, str]:
    """Apply a report by the real program, keeping what lies in keep; return its code and what it said."""
    done = cli("apply", "report.json", "--prefer", "keep", "--delete", "--yes", *args)
    return done.returncode, done.stderr.decode()


def scanned(cli: Cli, top: Path) -> None:
    """Make a copy in keep and one below a folder, and scan both."""
    for place in (top.parent / "keep", top):
        write(place / "f", content("one"))
    done = cli("scan", "keep", top, "--output", "report.json")
    assert done.returncode == 0, done.stderr


def test_a_disk_that_is_not_mounted_is_not_done_already(tmp_path: Path, cli: Cli) -> None:
    """Its empty mount point says nothing; mounted again it is acted on, and then it is done already."""
    image, top = tmp_path / "image", tmp_path / "stick"
    disks.run("truncate", "-s", "32M", image)
    disks.run("mkfs.ext4", "-q", "-F", image)
    with disks.mounted(top, "-o", "loop", image):
        scanned(cli, top)
    code, said = applied(cli)
    assert (code, "Already done" in said) == (1, False)
    assert "its volume is not there: mount it" in said
    top.rmdir()
    code, said = applied(cli)
    assert (code, "its volume is not there: mount it" in said) == (1, True)
    with disks.mounted(top, "-o", "loop", image):
        assert applied(cli)[0] == 0
        code, said = applied(cli)
        assert (code, "Already done: 1 name." in said) == (0, True)
    with another(tmp_path), disks.mounted(top, "-o", "loop", image):  # its device has another number by now
        code, said = applied(cli)
        assert (code, "Already done: 1 name." in said) == (0, True)


def another(tmp_path: Path) -> AbstractContextManager[Path]:
    """Mount another disk, so that devices get other numbers."""
    image = tmp_path / "other-image"
    disks.run("truncate", "-s", "32M", image)
    disks.run("mkfs.ext4", "-q", "-F", image)
    return disks.mounted(tmp_path / "other", "-o", "loop", image)


def test_another_disk_in_its_place_is_not_it(tmp_path: Path, cli: Cli) -> None:
    """Volumes are told apart by their ids, whatever numbers their devices have."""
    image, top = tmp_path / "image", tmp_path / "other"
    disks.run("truncate", "-s", "32M", image)
    disks.run("mkfs.ext4", "-q", "-F", image)
    with disks.mounted(top, "-o", "loop", image):
        scanned(cli, top)
    with another(tmp_path):
        code, said = applied(cli)
        assert (code, "its volume is not there: mount it" in said) == (1, True)


def test_a_folder_that_was_removed_since_is_done_already(tmp_path: Path, cli: Cli) -> None:
    """On a volume that is there: nothing else can have become of it."""
    top = tmp_path / "go"
    scanned(cli, top)
    assert applied(cli)[0] == 0
    top.rmdir()
    code, said = applied(cli)
    assert (code, "Already done: 1 name." in said) == (0, True)


def test_a_root_that_is_not_there_is_not_done_already(tmp_path: Path, journal: Path) -> None:
    """Marks that were made by hand, or by the page, say nothing of volumes: it may have been a disk's."""
    marks = copies(tmp_path / "top", {"one": (["keep/a"], ["go/b"])})
    object.__setattr__(marks, "roots", tuple(os.fsencode(tmp_path / "top" / name) for name in ("keep", "go")))
    (tmp_path / "top/go/b").unlink()
    assert len(act(marks, ActionName.DELETE, journal).already) == 1
    (tmp_path / "top/go").rmdir()
    tally = act(marks, ActionName.DELETE, journal)
    assert tally.already == []
    assert "the folder that was scanned is not there" in reasons(tally)[0]
