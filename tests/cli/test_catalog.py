"""`dedupe catalog` as people run it: codes, sentences, and files that are away in every format."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dedupe.cli.exits import Exit
from tests.conftest import write

Cli = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def disk(cli: Cli, tmp_path: Path) -> Path:
    """Make a disk, its catalog, and a folder with two copies of what is on it."""
    write(tmp_path / "disk/sub/a", b"a" * 5000)
    for name in ("1", "2"):
        write(tmp_path / "photos" / name, b"a" * 5000)
    done = cli("catalog", "create", "disk", "--output", "disk.catalog", "--no-cache")
    assert (done.returncode, done.stdout) == (Exit.DONE, b"")
    assert b"1 file, 4.9 KiB in the catalog" in done.stderr
    return tmp_path / "disk"


def test_info_tells_what_it_is_of(cli: Cli, disk: Path) -> None:
    """Folder, volume, amount and digests are named."""
    told = cli("catalog", "info", "disk.catalog").stdout.decode()
    assert f"Folder: {disk}" in told
    assert "Holds: 1 file, 4.9 KiB" in told
    assert "Digests: sha256" in told


def test_verify_ends_with_no_for_a_difference(cli: Cli, disk: Path) -> None:
    """0 while all is as it was, 4 with the difference named, and 0 again after an update."""
    assert cli("catalog", "verify", "disk.catalog", "disk").returncode == Exit.DONE
    (disk / "sub/a").rename(disk / "b")
    done = cli("catalog", "verify", "disk.catalog", "disk")
    assert (done.returncode, done.stdout) == (Exit.NO, b"moved: sub/a -> b\n")
    assert cli("catalog", "update", "disk.catalog", "disk", "--no-cache").returncode == Exit.DONE
    assert cli("catalog", "verify", "disk.catalog", "disk").returncode == Exit.DONE


def test_files_that_are_away_are_told_in_every_format(cli: Cli, disk: Path, tmp_path: Path) -> None:
    """None is taken for a copy that can be freed, kept or acted on."""
    ends = ("json", "csv", "jsonl", "html", "db", "txt", "paths")
    outputs = [part for end in ends for part in ("--output", f"r.{end}")]
    asked = ("scan", "photos", "disk.catalog", "--no-cache")
    assert cli(*asked, *outputs).returncode == Exit.DONE
    away = str(tmp_path / "disk.catalog/sub/a")
    for name in ("r.json", "r.jsonl"):
        text = (tmp_path / name).read_bytes().splitlines()
        group = json.loads((tmp_path / name).read_bytes())["groups"][0] if name == "r.json" else json.loads(text[1])
        assert group["reclaimable_bytes"] == 5000
        assert {f["path"]: f["proof"] == "offline" for f in group["files"]}[away]
        assert group["proof"] == "offline"
    rows = list(csv.DictReader(io.StringIO((tmp_path / "r.csv").read_bytes().decode("utf-8-sig"), newline="")))
    assert {row["path"]: row["kind"] for row in rows}[away] == "offline"
    with sqlite3.connect(tmp_path / "r.db") as database:
        assert database.execute("SELECT kind FROM files WHERE path = ?", (away,)).fetchall() == [("offline",)]
        assert database.execute("SELECT reclaimable_bytes FROM groups").fetchall() == [(5000,)]
    database.close()
    assert f"{away} (offline)" in (tmp_path / "r.txt").read_text(encoding="utf-8")
    assert away not in (tmp_path / "r.paths").read_text(encoding="utf-8")
    assert cli("report", "r.json", "--format", "json").returncode == Exit.DONE
    redundant = cli("scan", "disk.catalog", "photos", "--no-cache", "--redundant", "--format", "paths").stdout.decode()
    assert redundant == f"{tmp_path / 'photos/2'}\n"


def test_missing_says_what_only_a_catalog_has(cli: Cli, disk: Path) -> None:
    """A catalog may answer, and the answer says what it rests on; a quick one proves nothing."""
    done = cli("missing", "photos", "--from", "disk.catalog", "--no-cache")
    assert done.returncode == Exit.DONE
    assert b"Only in catalogs of disks that are away: 2 files." in done.stdout
    assert cli("catalog", "create", "disk", "--output", "q", "--quick", "--no-cache").returncode == Exit.DONE
    done = cli("missing", "photos", "--from", "q", "--no-cache")
    assert done.returncode == Exit.INCOMPLETE
    assert b"Probably held, by a catalog without digests: 2 files." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["create", "disk", "--output", "disk.catalog"], "is a catalog already"),
        (["create", "disk", "--output", "photos/1"], "is there"),
        (["create", "disk", "--output", ""], "--output is an empty text"),
        (["create", "", "--output", "x"], "PATH is an empty text"),
        (["update", "photos/1", "disk"], "is no catalog"),
        (["verify", "disk.catalog", "photos"], "another place"),
        (["info", "photos/1"], "is no catalog"),
    ],
)
def test_wrong_usage_is_one_sentence(cli: Cli, disk: Path, arguments: list[str], words: str) -> None:
    """What makes no sense ends with 2, and changes nothing."""
    done = cli("catalog", *arguments)
    assert done.returncode == Exit.USAGE
    assert words in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
