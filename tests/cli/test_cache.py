"""`dedupe cache`: what it prints, what it drops, and how it ends."""

from __future__ import annotations

import os
import subprocess
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


@pytest.mark.parametrize("command", ["scan kept.db", "hash kept.db", "cache path", "cache info", "cache clear"])
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


def test_clear_forgets_everything(cli: Cli, kept: Path) -> None:
    """Afterwards nothing is remembered, and a scan starts anew."""
    assert cli("cache", "clear", "--cache", kept).stdout.startswith(b"the cache is empty")
    assert b"files    0" in cli("cache", "info", "--cache", kept).stdout
    assert b"root " not in cli("cache", "info", "--cache", kept).stdout


@pytest.mark.parametrize("command", ["info", "prune", "clear"])
def test_what_is_not_there_or_not_ours_is_told_in_one_sentence(cli: Cli, tmp_path: Path, command: str) -> None:
    """Exit 1, nothing made, nothing changed."""
    gone = cli("cache", command, "--cache", "gone.db")
    assert (gone.returncode, gone.stdout) == (1, b"")
    assert gone.stderr.startswith(b"dedupe: There is no cache at ")
    assert not (tmp_path / "gone.db").exists()
    folder = cli("cache", command, "--cache", tmp_path)
    assert (folder.returncode, folder.stderr.count(b"\n")) == (1, 1)


def test_no_command_shows_the_help(cli: Cli) -> None:
    """All four commands are named."""
    done = cli("cache")
    assert done.returncode == 2
    assert all(name in done.stdout + done.stderr for name in (b"path", b"info", b"prune", b"clear"))
