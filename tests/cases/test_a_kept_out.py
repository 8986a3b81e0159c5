"""Trashes, snapshots and backups that rotate: no copy there stays for others, and none is acted on; by the program."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.actions.common import ON_LINUX, content, snapshot
from tests.conftest import write

pytestmark = ON_LINUX
Cli = Callable[..., subprocess.CompletedProcess[bytes]]
PLACES = ("daily.1", "timeshift/snapshots/1", "lost+found", ".Trash-0/files", "Trash/files")


def _scanned(cli: Cli, top: Path) -> None:
    assert cli("scan", top.name, "--no-cache", "--no-default-excludes", "--output", "r.json").returncode == 0


@pytest.mark.parametrize("action", ["--delete", "--trash", "--hardlink"])
def test_a16_a_further_name_in_a_backup_keeps_all_names(cli: Cli, tmp_path: Path, action: str) -> None:
    """Names of one file go together: where one is a backup's, none goes, and the backup is whole."""
    top = tmp_path / "top"
    for name in ("keep/a", "b"):
        write(top / name, content("one"))
    (top / "bak/daily.1").mkdir(parents=True)
    os.link(top / "b", top / "bak/daily.1/b")
    _scanned(cli, top)
    before = snapshot(top)
    done = cli("apply", "r.json", "--prefer", "top/keep", action, "--yes")
    assert (done.returncode, snapshot(top)) == (1, before)
    assert b"has a name that lies in a snapshot" in done.stderr


@pytest.mark.parametrize("place", PLACES)
def test_a16_a_copy_by_a_good_name_counts(cli: Cli, tmp_path: Path, place: str) -> None:
    """That it has another name in such a place, which the report lists first, takes nothing from it."""
    top = tmp_path / "top"
    write(top / "z/keep", content("one"))
    write(top / "zz", content("one"))
    (top / place).mkdir(parents=True)
    os.link(top / "z/keep", top / place / "keep")
    _scanned(cli, top)
    done = cli("apply", "r.json", "--prefer", "top/z", "--delete", "--yes")
    assert (done.returncode, (top / "z/keep").exists(), (top / "zz").exists()) == (0, True, False), done.stderr


@pytest.mark.parametrize("place", PLACES)
def test_a16_rules_choose_a_copy_that_lasts(cli: Cli, tmp_path: Path, place: str) -> None:
    """Though the oldest copy lies in a trash or snapshot, one elsewhere stays, and nothing there is touched."""
    top = tmp_path / "top"
    for second, name in enumerate((f"{place}/x", "a", "b")):
        os.utime(write(top / name, content("one")), (second, second))
    _scanned(cli, top)
    done = cli("apply", "r.json", "--then", "oldest", "--delete", "--yes")
    assert done.returncode == 3, done.stderr
    assert sorted(str(path.relative_to(top)) for path in top.rglob("*") if path.is_file()) == sorted(
        (f"{place}/x", "a")
    )


def test_a16_a_protected_backup_stays_for_nobody(cli: Cli, tmp_path: Path) -> None:
    """To protect it is no reason that the originals go: they are refused, with the reason."""
    top = tmp_path / "top"
    for name in ("weekly.2/x", "a"):
        write(top / name, content("one"))
    _scanned(cli, top)
    before = snapshot(top)
    done = cli("apply", "r.json", "--protect", "top/weekly.2", "--delete", "--yes")
    assert (done.returncode, snapshot(top)) == (1, before)
    assert b"only 0 of 1 copies would stay" in done.stderr
    assert b"weekly.2/x lies in a snapshot" in done.stderr


@pytest.mark.parametrize("gone", ["b", "c"])
def test_a34_a_name_that_is_gone_hides_no_other_name_of_its_file(cli: Cli, tmp_path: Path, gone: str) -> None:
    """Of two names of a victim one went by other means: the other is acted on all the same, and comes back."""
    top = tmp_path / "top"
    for name in ("keep/a", "b"):
        write(top / name, content("one"))
    os.link(top / "b", top / "c")
    _scanned(cli, top)
    (top / gone).unlink()
    before = snapshot(top)
    done = cli("apply", "r.json", "--prefer", "top/keep", "--delete", "--yes")
    assert (done.returncode, sorted(os.listdir(top))) == (0, ["keep"]), done.stderr
    assert b"1 name removed" in done.stderr
    assert b"Already done: 1 name" in done.stderr
    assert cli("undo").returncode == 0
    assert snapshot(top) == before
