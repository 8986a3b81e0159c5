"""A catalog knows what it lacks and whether it is whole: flipped bits, unreadable files, rules, earlier versions."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dedupe.catalog import database
from dedupe.catalog.recognise import is_catalog
from dedupe.cli.exits import Exit
from dedupe.config import ScanConfig
from dedupe.errors import NothingUsableError
from dedupe.find import find_duplicates
from dedupe.query.catalog_check import check
from dedupe.query.catalog_fill import create, update
from dedupe.query.missing import find_missing
from dedupe.query.settings import MissingConfig
from tests.catalog.test_catalogs import catalog_of, config, grow, plainly, rows_of
from tests.conftest import need, write

Cli = Callable[..., "subprocess.CompletedProcess[bytes]"]


def change(catalog: Path, *statements: str) -> None:
    """Write into a catalog as a failing disk may."""
    with contextlib.closing(sqlite3.connect(catalog)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


FLIPPED = [
    "UPDATE files SET digest = (SELECT digest FROM files WHERE name = x'6631')",
    "UPDATE files SET name = x'7878' WHERE name = x'6630'",
    "UPDATE files SET size = 3.5 WHERE name = x'6630'",
    "UPDATE files SET inode = inode + 1",
    "UPDATE files SET fingerprint = 5",
    "UPDATE folders SET path = x'78'",
    "UPDATE folders SET inside = x'78'",
    "UPDATE folders SET number = 77",
    "DELETE FROM files WHERE name = x'6630'",
    "DELETE FROM folders",
]


@pytest.mark.parametrize("flip", FLIPPED)
def test_a_row_that_changed_is_told_and_never_believed(tmp_path: Path, flip: str) -> None:
    """Whatever of a row is lost: nothing is held by it, the loss is a problem, and an update mends it."""
    root = grow(tmp_path / "disk", [("a", b"one"), ("a", b"two")])
    card = grow(tmp_path / "card", [("", b"one")])
    catalog = catalog_of(root)
    change(catalog, flip)
    scan = find_duplicates(ScanConfig(roots=[catalog], min_size=0, jobs=1))
    assert [p.path for p in scan.problems] == [os.fsencode(catalog)]
    assert "is damaged" in scan.problems[0].message
    assert len(find_duplicates(ScanConfig(roots=[catalog, root], jobs=1)).groups) == 0
    found = find_missing(MissingConfig(card=[card], archive=[catalog], jobs=1))
    assert (found.totals.held_files, found.totals.missing_files) == (0, 1)
    assert not found.is_certain
    asked = check(str(catalog), config(root))
    assert any("damaged" in p.message for p in asked.problems)
    update(str(catalog), config(root))
    assert rows_of(catalog) == plainly(root)
    assert not check(str(catalog), config(root)).problems


@pytest.mark.parametrize(
    "flip",
    [
        "UPDATE catalog SET value = x'78' WHERE key = 'inside'",
        "UPDATE catalog SET value = 5 WHERE key = 'unread'",
        "DELETE FROM catalog WHERE key = 'rules'",
        "DELETE FROM catalog WHERE key = 'checksum'",
        "UPDATE volumes SET id = 'uuid:other'",
    ],
)
def test_what_it_says_of_itself_is_not_believed_either(tmp_path: Path, flip: str) -> None:
    """A catalog of another volume or place would hold what lies on the card: it is refused as a whole."""
    root = grow(tmp_path / "disk", [("", b"one")])
    catalog = catalog_of(root)
    change(catalog, flip)
    with pytest.raises(NothingUsableError, match="damaged"):
        find_missing(MissingConfig(card=[root], archive=[catalog], jobs=1))


def earlier(catalog: Path) -> Path:
    """Make a catalog what the first version wrote: without checksums, problems, counts and rules."""
    made = database.tables(1)
    change(
        catalog,
        *(
            each
            for table in ("volumes", "folders", "files")
            for each in (
                f"CREATE TEMP TABLE old AS SELECT * FROM main.{table}",
                f"DROP TABLE main.{table}",
                made[table],
                "ALTER TABLE temp.old DROP COLUMN checksum",
                f"INSERT INTO main.{table} SELECT * FROM temp.old",
                "DROP TABLE temp.old",
            )
        ),
        "DROP TABLE problems",
        "DELETE FROM catalog WHERE key IN ('checksum', 'files', 'unread', 'left_out', 'rules', 'size')",
        "PRAGMA user_version = 1",
    )
    return catalog


def test_an_earlier_catalog_answers_with_a_note_until_it_is_updated(cli: Cli, tmp_path: Path) -> None:
    """It has no checksums, which is said; an update adds them and reads nothing again."""
    root, card = grow(tmp_path / "disk", [("a", b"one")]), grow(tmp_path / "card", [("", b"one")])
    for path in root.rglob("f*"):
        os.utime(path, (1, 1))
    catalog = earlier(catalog_of(root))
    assert b"Rules: it does not say" in cli("catalog", "info", catalog).stdout
    assert cli("catalog", "verify", catalog, "disk").returncode == Exit.DONE
    found = find_missing(MissingConfig(card=[card], archive=[catalog], jobs=1))
    assert (found.totals.held_files, found.is_certain) == (1, True)
    assert any("without checksums" in note for note in found.notes)
    update(str(catalog), config(root))
    assert rows_of(catalog) == plainly(root)
    again = find_missing(MissingConfig(card=[card], archive=[catalog], jobs=1))
    assert not any("without checksums" in note for note in again.notes)


def test_what_could_not_be_read_is_kept_and_told(cli: Cli, tmp_path: Path) -> None:
    """A catalog names what it lacks: as a card it promises nothing, as an archive its note says how much."""
    need(sys.platform == "linux", "setpriv takes root's rights away")
    write(tmp_path / "disk/a", b"one")
    write(tmp_path / "disk/.Trash-1000/b", b"two")
    write(tmp_path / "card/a", b"one")
    (tmp_path / "disk/locked").mkdir(mode=0o000)
    without_rights = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    command = [sys.executable, "-m", "dedupe", "catalog", "create", tmp_path / "disk", "--output", tmp_path / "c"]
    assert subprocess.run([*without_rights, *command, "--no-cache"], check=False).returncode == Exit.INCOMPLETE
    told = cli("catalog", "info", "c").stdout.decode()
    assert "Could not be read: 1\n" in told
    assert f"Not read: {tmp_path / 'disk/locked'}: permission" in told
    assert "Left out: 1 entry excluded by default" in told
    asked = cli("missing", "c", "--from", "card", "--no-cache")
    assert asked.returncode == Exit.INCOMPLETE
    assert b"1 entry could not be read for this catalog" in asked.stdout
    held = cli("missing", "card", "--from", "c", "--no-cache")
    assert held.returncode == Exit.DONE
    assert b"of its files and folders 1 could not be read then" in held.stderr
    (tmp_path / "disk/locked").rmdir()
    assert cli("catalog", "update", "c", "disk", "--no-cache").returncode == Exit.DONE
    assert b"Could not be read: 0\n" in cli("catalog", "info", "c").stdout


@pytest.mark.parametrize("command", ["missing", "scan"])
def test_each_catalog_that_takes_part_says_how_old_it_is(cli: Cli, tmp_path: Path, command: str) -> None:
    """A stale archive is not taken for a fresh one."""
    root, _ = grow(tmp_path / "disk", [("", b"one")]), grow(tmp_path / "card", [("", b"one")])
    catalog = catalog_of(root)
    with contextlib.closing(database.opened(str(catalog), change=True)) as connection, connection:
        head = replace(database.head_of(connection, str(catalog)), updated="2024-12-01T14:02:33+00:00")
        database.write_head(connection, head)
    between = ["--from"] if command == "missing" else []
    done = cli(command, "card", *between, "disk.catalog", "--no-cache")
    assert b"disk.catalog was last updated 2024-12-01 14:02 UTC" in done.stderr


def test_a_catalog_keeps_its_rules(cli: Cli, tmp_path: Path) -> None:
    """What was left out when it was made is not extra, and an update by other rules says so."""
    write(tmp_path / "disk/a", b"one")
    write(tmp_path / "disk/.Trash-1000/b", b"two")
    for options in ([], ["--no-default-excludes"]):
        made = cli("catalog", "create", "disk", "--output", f"c{len(options)}", "--no-cache", *options)
        assert made.returncode == Exit.DONE
        assert cli("catalog", "verify", f"c{len(options)}", "disk").returncode == Exit.DONE
        same = cli("catalog", "update", f"c{len(options)}", "disk", "--no-cache")
        assert b"1 file," in same.stderr if not options else b"2 files," in same.stderr
        assert b"other rules" not in same.stderr
    assert b"Rules: default excludes False\n" in cli("catalog", "info", "c1").stdout
    done = cli("catalog", "update", "c0", "disk", "--no-cache", "--no-default-excludes")
    assert b"was made by other rules" in done.stderr
    assert b"from now on: default excludes" in done.stderr
    assert cli("catalog", "verify", "c0", "disk", "--default-excludes").stdout == b"missing: .Trash-1000/b\n"
    assert cli("catalog", "verify", "c0", "disk").returncode == Exit.DONE


def test_rot_is_no_reading_error(tmp_path: Path) -> None:
    """Other content under the same size and times is told by name, and read as any other file."""
    root = grow(tmp_path / "disk", [("", b"a" * 100_000)])
    catalog = catalog_of(root)
    seen = (root / "f0").stat()
    write(root / "f0", b"b" * 100_000)
    os.utime(root / "f0", ns=(seen.st_atime_ns, seen.st_mtime_ns))
    checked = check(str(catalog), config(root))
    assert [str(found.difference) for found in checked.differences] == ["rot"]
    assert checked.problems == []


def test_cloud_files_are_asked_for_on_both_sides(tmp_path: Path) -> None:
    """`--cloud-files` reaches the walk of the card and that of the archive."""
    for wanted in (False, True):
        asked = MissingConfig(card=[tmp_path], archive=[tmp_path], cloud_files=wanted)
        assert (asked.card_scan().cloud_files, asked.archive_scan().cloud_files) == (wanted, wanted)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_kill_while_the_tables_are_written_leaves_an_empty_file(tmp_path: Path) -> None:
    """What lies half written under a journal looks like a catalog, and `create` begins anew."""
    root, catalog = grow(tmp_path / "disk", [("", b"one")]), tmp_path / "disk.catalog"
    code = f"""
import os, signal, sqlite3
from dedupe.catalog import database
connection = sqlite3.connect({str(catalog)!r})
connection.execute("PRAGMA cache_size = 1")  # so that pages are written before the commit
connection.executescript(f"BEGIN; PRAGMA application_id = {{database.sqlite_owner.CATALOG}}; CREATE TABLE t (x)")
connection.execute("INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999) "
    "SELECT zeroblob(5000) FROM n")
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode != 0
    whole = catalog_of(root, name="whole").read_bytes()
    with open(catalog, "r+b") as file:  # the first page, which SQLite writes last
        file.write(whole[:4096])
    assert is_catalog(os.fsencode(catalog))
    create(str(catalog), config(root))
    assert rows_of(catalog) == plainly(root)
