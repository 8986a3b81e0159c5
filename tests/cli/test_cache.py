"""`dedupe cache`: what it prints, what it drops, and how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import SETTLED, write

Cli = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def kept(tmp_path: Path, cli: Cli) -> Path:
    """Make a cache by a scan of three equal files."""
    for name in "abc":
        write(tmp_path / "root" / name, b"data")
    time.sleep(SETTLED)  # files not at rest have no rows
    assert cli("scan", tmp_path / "root", "--cache", "kept.db").returncode == 0
    return tmp_path / "kept.db"


def test_path_is_the_users_own_or_the_one_named(cli: Cli, no_users_cache: Path, tmp_path: Path) -> None:
    """The path is absolute and below the user's folder, also before there is a cache."""
    own = os.fsdecode(cli("cache", "path").stdout.strip())
    assert own.startswith(str(no_users_cache))
    assert cli("cache", "path", "--cache", "other.db").stdout == os.fsencode(tmp_path / "other.db") + b"\n"


@pytest.mark.parametrize(
    "command", ["scan kept.db", "hash kept.db", "cache path", "cache info", "cache prune", "cache clear"]
)
def test_an_empty_name_is_wrong_usage(cli: Cli, kept: Path, no_users_cache: Path, command: str) -> None:
    """An unset variable in a script means neither the user's own cache nor the current folder, in any command."""
    done = cli(*command.split(), "--cache", "", cwd=kept.parent)
    assert done.returncode == 2
    assert done.stderr.startswith(b"dedupe: --cache names no file:")
    assert not done.stdout
    assert not list(no_users_cache.rglob("*.db"))


def test_info_counts_files_digests_and_roots(cli: Cli, kept: Path) -> None:
    """Files, digests by algorithm, and the roots that were scanned."""
    lines = cli("cache", "info", "--cache", kept).stdout.decode().splitlines()
    assert lines[0] == f"cache    {kept}"
    assert lines[2:] == ["files    3", "digests  3 sha256", f"root     {kept.parent / 'root'}"]


def test_prune_drops_what_is_gone(cli: Cli, kept: Path) -> None:
    """A deleted file's row goes, the others stay."""
    (kept.parent / "root" / "a").unlink()
    assert cli("cache", "prune", "--cache", kept).stdout == b"dropped 1 file, kept 2\n"
    assert cli("cache", "prune", "--cache", kept).stdout == b"dropped 0 files, kept 2\n"


def test_prune_counts_files_as_info_does(cli: Cli, kept: Path) -> None:
    """A file that two algorithms were asked of has two rows, and is one file."""
    assert cli("scan", kept.parent / "root", "--cache", kept, "--confirm", "sha512").returncode == 0
    assert b"files    3\n" in cli("cache", "info", "--cache", kept).stdout
    assert cli("cache", "prune", "--cache", kept).stdout == b"dropped 0 files, kept 3\n"


def test_prune_root_drops_what_had_that_name(cli: Cli, kept: Path) -> None:
    """A folder that was renamed, or is gone for good, or several; what was not below it stays."""
    for name in ("x/a", "x/b", "y/c", "yy/d"):
        write(kept.parent / "more" / name, b"data")
    time.sleep(SETTLED)
    assert cli("scan", kept.parent / "more", "--cache", kept).returncode == 0
    (kept.parent / "more").rename(kept.parent / "renamed")
    assert cli("cache", "prune", "--cache", kept).stdout == b"dropped 0 files, kept 7\n"
    both = ("--root", kept.parent / "more" / "x", "--root", Path("more", "y"))
    assert cli("cache", "prune", "--cache", kept, *both).stdout == b"dropped 3 files, kept 4\n"
    assert cli("cache", "prune", "--cache", kept, "--root", kept.parent / "more").stdout == b"dropped 1 file, kept 3\n"
    assert cli("cache", "prune", "--cache", kept, "--root", "never").stdout == b"dropped 0 files, kept 3\n"


def test_export_and_import_take_rows_along(cli: Cli, kept: Path) -> None:
    """A cache made from an export spares the reading that the first one spares."""
    done = cli("cache", "export", "e.db", "--cache", kept)
    assert (done.returncode, done.stdout) == (0, b"exported 3 files\n")
    done = cli("cache", "import", "e.db", "--cache", "other.db")
    assert (done.returncode, done.stdout) == (0, b"imported 3 rows, 0 known already\n")
    report = json.loads(cli("scan", kept.parent / "root", "--cache", "other.db", "--format", "json").stdout)
    assert report["totals"]["bytes_read"] == 0
    assert len(report["groups"]) == 1


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="names are text there")
def test_a_cache_whose_name_is_no_text_is_a_cache(cli: Cli, kept: Path) -> None:
    """Its rows are used, exported to such a name, and imported from there."""
    names = [kept.parent / os.fsdecode(name) for name in (b"caf\xe9 %41?#.db", b"e\xe9.db", b"o\xe9.db")]
    kept.rename(names[0])
    assert cli("cache", "export", names[1], "--cache", names[0]).stdout == b"exported 3 files\n"
    assert cli("cache", "import", names[1], "--cache", names[2]).stdout == b"imported 3 rows, 0 known already\n"
    report = json.loads(cli("scan", kept.parent / "root", "--cache", names[2], "--format", "json").stdout)
    assert report["totals"]["bytes_read"] == 0


def test_export_of_a_folder(cli: Cli, kept: Path) -> None:
    """Only what is remembered below it; nothing is an error, and no file is made."""
    assert cli("cache", "export", "e.db", "--cache", kept, "--root", "root").stdout == b"exported 3 files\n"
    done = cli("cache", "export", "none.db", "--cache", kept, "--root", kept.parent / "other")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"Nothing is remembered below" in done.stderr
    assert not (kept.parent / "none.db").exists()


def test_export_replaces_nothing_but_an_export(cli: Cli, kept: Path) -> None:
    """The cache itself least of all."""
    for _ in range(2):
        assert cli("cache", "export", "e.db", "--cache", kept).returncode == 0
    before = kept.read_bytes()
    done = cli("cache", "export", kept, "--cache", kept)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (1, b"", 1)
    assert kept.read_bytes() == before


def test_import_tells_rows_that_are_damaged(cli: Cli, kept: Path) -> None:
    """They are left out and counted."""
    with contextlib.closing(sqlite3.connect(kept)) as database, database:
        database.execute("UPDATE files SET size = size + 1 WHERE path = (SELECT min(path) FROM files)")
    done = cli("cache", "import", kept, "--cache", "other.db")
    assert (done.returncode, done.stdout) == (0, b"imported 2 rows, 0 known already, 1 damaged row left out\n")


@pytest.mark.parametrize(
    "command", ["prune --root", "export e.db --root", "export", "import"], ids=["prune", "export", "file", "import"]
)
def test_names_that_are_empty_are_wrong_usage(cli: Cli, kept: Path, command: str) -> None:
    """An unset variable in a script is no folder and no file."""
    done = cli("cache", *command.split(), "", "--cache", kept)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)


def test_clear_forgets_everything(cli: Cli, kept: Path) -> None:
    """Afterwards nothing is remembered, and a scan starts anew."""
    assert cli("cache", "clear", "--cache", kept).stdout.startswith(b"the cache is empty")
    assert b"files    0" in cli("cache", "info", "--cache", kept).stdout
    assert b"root " not in cli("cache", "info", "--cache", kept).stdout


@pytest.mark.parametrize("command", ["info", "prune", "prune --root x", "export e.db", "clear"])
def test_what_is_not_there_or_not_ours_is_told_in_one_sentence(cli: Cli, tmp_path: Path, command: str) -> None:
    """Exit 1, nothing made, nothing changed."""
    gone = cli("cache", *command.split(), "--cache", "gone.db")
    assert (gone.returncode, gone.stdout) == (1, b"")
    assert gone.stderr.startswith(b"dedupe: There is no cache at ")
    assert not (tmp_path / "gone.db").exists()
    folder = cli("cache", *command.split(), "--cache", tmp_path)
    assert (folder.returncode, folder.stderr.count(b"\n")) == (1, 1)


def test_no_command_shows_the_help(cli: Cli) -> None:
    """All commands are named."""
    done = cli("cache")
    assert done.returncode == 2
    assert all(
        name in done.stdout + done.stderr for name in (b"path", b"info", b"prune", b"export", b"import", b"clear")
    )
