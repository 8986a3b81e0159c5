"""Catalogs cut off, cut short, changed by a failing disk, without room: one sentence, and no wrong answer."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dedupe.catalog import database
from dedupe.cli.exits import Exit
from dedupe.config import ScanConfig
from dedupe.errors import DedupeError
from dedupe.find import find_duplicates
from dedupe.query.catalog_check import check
from dedupe.query.catalog_fill import create, update
from dedupe.query.missing import find_missing
from dedupe.query.settings import MissingConfig
from tests.catalog.test_catalogs import catalog_of, config, grow, plainly, rows_of
from tests.conftest import write
from tests.disks import mounted

Cli = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_kill_at_any_moment_is_gone_on_with(tmp_path: Path) -> None:
    """Killed again and again while it is made and while it is updated, it ends as if nothing had been."""
    dice = random.Random(3)
    root = grow(tmp_path / "disk", [(f"d{n % 7}", os.urandom(2000)) for n in range(400)])
    catalog = tmp_path / "disk.catalog"
    code = """
import sys
from dedupe.query import catalog_fill, catalog_filling
from dedupe.config import ScanConfig
from dedupe.compare.tuning import Tuning
catalog_filling._COMMIT = 0
catalog_fill.MEASURED = Tuning(hash_files=4)
print("ready", flush=True)
act = getattr(catalog_fill, sys.argv[1])
act(sys.argv[2], ScanConfig(roots=[sys.argv[3]], min_size=0, jobs=1))
"""
    for verb in ("create", "update"):
        for n in range(12):
            process = subprocess.Popen([sys.executable, "-c", code, verb, catalog, root], stdout=subprocess.PIPE)
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(dice.random() * 0.1)
            process.kill()
            process.communicate()
            if process.returncode == 0:  # it was faster
                break
            assert process.returncode == -signal.SIGKILL
            if verb == "update":
                write(root / "d0" / f"new{n}", os.urandom(50))
            with contextlib.suppress(DedupeError):  # finished by then, or it refuses
                told = find_missing(MissingConfig(card=[root], archive=[catalog], jobs=1))
                assert told.totals.held_files == 0  # of the disk itself, which is looked at
        with contextlib.suppress(DedupeError):
            create(str(catalog), config(root))
        update(str(catalog), config(root))
        assert rows_of(catalog) == plainly(root)
        assert check(str(catalog), config(root)).differences == []
        for path in sorted(root.rglob("f*"))[::3]:
            path.unlink()


def test_a_folder_that_cannot_be_listed_costs_no_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure before anything was learnt leaves the finished catalog what it was, and no new one behind."""
    root = grow(tmp_path / "disk", [("", b"one")])
    catalog = catalog_of(root)
    whole = catalog.read_bytes()

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(DedupeError, match="Nothing could be scanned"):
        update(str(catalog), config(root))
    with pytest.raises(DedupeError, match="Nothing could be scanned"):
        create(str(tmp_path / "new"), config(root))
    monkeypatch.undo()
    assert catalog.read_bytes() == whole
    assert not (tmp_path / "new").exists()


def test_an_empty_file_becomes_a_catalog(tmp_path: Path) -> None:
    """A kill right at the beginning leaves one, and the same command goes on."""
    root = grow(tmp_path / "disk", [("", b"one")])
    write(tmp_path / "disk.catalog", b"")
    assert rows_of(catalog_of(root)) == plainly(root)


def test_any_damage_is_a_sentence_or_a_row_less(tmp_path: Path) -> None:
    """Whatever bytes are lost: every command ends as it should or with one sentence, and nothing is held by them."""
    dice = random.Random(3)
    root = grow(tmp_path / "disk", [(f"d{n % 9}", os.urandom(100)) for n in range(120)])
    other = grow(tmp_path / "other", [("", os.urandom(100)) for n in range(20)])
    catalog = catalog_of(root)
    whole = catalog.read_bytes()
    broken = tmp_path / "broken"
    for n in range(60):
        damaged = bytearray(whole)
        for _ in range(dice.choice((1, 1, 5, 50))):
            at = dice.randrange(72, len(whole))
            damaged[at : at + 4] = dice.randbytes(4)
        for act in _ACTS:
            write(broken, bytes(damaged[: dice.randrange(100, len(whole))] if n % 4 == 0 else damaged))
            with contextlib.suppress(DedupeError):
                act(broken, root, other)
    updated = write(broken, bytes(damaged))
    with contextlib.suppress(DedupeError):
        update(str(updated), config(root))
        assert set(rows_of(updated)) == set(plainly(root))


def _missing(catalog: Path, root: Path, other: Path) -> None:
    del root
    found = find_missing(MissingConfig(card=[other], archive=[catalog], jobs=1))
    assert found.totals.held_files == 0


def _card(catalog: Path, root: Path, other: Path) -> None:
    del root
    assert not find_missing(MissingConfig(card=[catalog], archive=[other], jobs=1)).is_certain


def _scan(catalog: Path, root: Path, other: Path) -> None:
    del root
    assert len(find_duplicates(ScanConfig(roots=[catalog, other], jobs=1)).groups) == 0


def _update(catalog: Path, root: Path, other: Path) -> None:
    del other
    update(str(catalog), config(root))


def _check(catalog: Path, root: Path, other: Path) -> None:
    del other
    check(str(catalog), config(root))


def _create(catalog: Path, root: Path, other: Path) -> None:
    del other
    create(str(catalog), config(root))


_ACTS = (_missing, _card, _scan, _update, _check, _create)


@pytest.mark.parametrize("size", [100, 1000, 5000, 8192])
def test_one_that_was_cut_short_is_no_file_of_the_archive(cli: Cli, tmp_path: Path, size: int) -> None:
    """Half a copy is told as such, whatever its length, by every command that takes a root."""
    root = grow(tmp_path / "disk", [("", os.urandom(100)) for _ in range(60)])
    short = write(tmp_path / "short", catalog_of(root).read_bytes()[:size])
    for asked in (["missing", "disk", "--from", short], ["missing", short, "--from", "disk"], ["scan", short, "disk"]):
        done = cli(*asked, "--no-cache")
        assert (done.returncode, done.stdout) == (Exit.NOTHING, b"")
        assert f"The catalog {short} cannot be used".encode() in done.stderr
        assert done.stderr.count(b"\n") == 1
    assert cli("catalog", "info", "short").returncode == Exit.NOTHING


def test_a_newer_catalog_is_left_alone(cli: Cli, tmp_path: Path) -> None:
    """Whoever made it knows more: wrong usage for every command, and not a byte of it changes."""
    catalog = catalog_of(grow(tmp_path / "disk", [("", b"one")]))
    with contextlib.closing(sqlite3.connect(catalog)) as connection:
        connection.execute(f"PRAGMA user_version = {database.VERSION + 1}")
    before = catalog.read_bytes()
    for asked in (
        ["catalog", "create", "disk", "--output", catalog],
        ["catalog", "update", catalog, "disk"],
        ["catalog", "info", catalog],
        ["catalog", "verify", catalog, "disk"],
        ["scan", "disk", catalog],
        ["missing", "disk", "--from", catalog],
    ):
        done = cli(*asked, *([] if asked[1] in ("info", "verify") else ["--no-cache"]))
        assert (done.returncode, done.stdout) == (Exit.USAGE, b"")
        assert b"was made by a newer dedupe" in done.stderr
        assert done.stderr.count(b"\n") == 1
    assert catalog.read_bytes() == before


@pytest.mark.skipif(sys.platform != "linux", reason="mounting")
def test_a_place_without_room_is_one_sentence(cli: Cli, tmp_path: Path) -> None:
    """Full from the start nothing is left; full on the way it is gone on with once there is room."""
    root = grow(tmp_path / "disk", [("", b"%d" % n) for n in range(2000)])
    place = tmp_path / "place"
    with mounted(place, "-t", "tmpfs", "-o", "size=4k", "tmpfs"):
        done = cli("catalog", "create", "disk", "--output", place / "c", "--no-cache")
        assert done.returncode == Exit.NOTHING
        assert done.stderr.endswith(b"c cannot be used: database or disk is full.\n")
        assert list(place.iterdir()) == []
    with mounted(place, "-t", "tmpfs", "-o", "size=100k", "tmpfs"):
        done = cli("catalog", "create", "disk", "--output", place / "c", "--no-cache", "--quiet")
        assert (done.returncode, done.stderr.count(b"\n")) == (Exit.NOTHING, 1)
        subprocess.run(["mount", "-o", "remount,size=4m", place], check=True)
        assert cli("catalog", "create", "disk", "--output", place / "c", "--no-cache").returncode == Exit.DONE
        assert rows_of(place / "c") == plainly(root)
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)
        done = cli("catalog", "update", place / "c", "disk", "--no-cache")
        assert (done.returncode, done.stderr.count(b"\n")) == (Exit.NOTHING, 1)
        assert b"readonly" in done.stderr
        assert cli("catalog", "info", place / "c").returncode == Exit.DONE
        assert cli("catalog", "verify", place / "c", "disk").returncode == Exit.DONE
        done = cli("catalog", "create", "disk", "--output", place / "new", "--no-cache")
        assert done.returncode == Exit.NOTHING
        assert b"cannot be made: Read-only file system" in done.stderr
