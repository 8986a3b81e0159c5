"""Only the command that is run is imported, and a user sees nothing of that; what start-up may bring along."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import write

Run = Callable[..., subprocess.CompletedProcess[bytes]]
COMMANDS = ["scan", "report", "mark", "apply", "undo", "journal", "missing", "catalog", "hash", "bench", "cache"]


def imported(*args: str | Path) -> set[str]:
    """Return the modules that a run of the real program imports, with the packages they lie in."""
    command = [sys.executable, "-X", "importtime", "-m", "dedupe", *map(os.fspath, args)]
    done = subprocess.run(command, capture_output=True, check=True)
    return set(re.findall(r"^import time:.*\| +(\S+)$", done.stderr.decode(), re.MULTILINE))


def test_help_lists_all_commands_in_their_order(cli: Run) -> None:
    """Each with the first sentence of its own help."""
    shown = cli("--help").stdout.decode()
    listed = re.findall(r"^  (\w+) {2,}(\S.*)$", shown[shown.index("Commands:") :], re.MULTILINE)
    assert [name for name, _ in listed] == COMMANDS
    for name, sentence in listed:
        own = cli(name, "--help").stdout.decode()
        assert own.split("\n")[2] == f"  {sentence}"
        assert "Exit status: 0 done;" in own
        assert "completion" not in own


def test_a_command_that_is_not_there_is_wrong_usage(cli: Run) -> None:
    """The nearest name is proposed; a module of the package that is no command is none."""
    done = cli("scna")
    assert done.returncode == 2
    assert b"No such command 'scna'. Did you mean 'scan'?" in done.stderr
    assert cli("console").returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows needs more: its streams, paths and files")
def test_the_version_needs_no_command() -> None:
    """Neither those nor what they bring along, nor the parts of typer that draw."""
    there = imported("--version")
    assert not there & {f"dedupe.cli.{name}" for name in COMMANDS}
    assert not there & {
        "dedupe.config",
        "dedupe.storage.display",
        "dedupe.storage.windows",
        "sqlite3",
        "hashlib",
        "tqdm",
        "rich",
    }


@pytest.mark.skipif(sys.platform == "win32", reason="Windows needs more: its streams, paths and files")
@pytest.mark.parametrize("again", [False, True])
def test_a_small_scan_brings_only_what_it_uses(tmp_path: Path, *, again: bool) -> None:
    """Neither other commands nor workers, bars or what only report files need; no maker of caches once there is one."""
    for name in "ab":
        write(tmp_path / "tree" / name, b"same")
    command = ("scan", tmp_path / "tree", "--format", "json", "--cache", tmp_path / "c.db")
    there = imported(*command[:-2], "--no-cache")
    if again:
        imported(*command)
        there = imported(*command)
        assert "dedupe.cache.store" in there
    assert not there & {f"dedupe.cli.{name}" for name in COMMANDS if name != "scan"}
    assert not there & {"multiprocessing", "concurrent.futures", "tqdm", "rich", "sqlite_utils", "platformdirs"}
    assert not there & {"dedupe.digests.memory", "ctypes"} or sys.platform == "win32"
    assert not there & {
        "tempfile",
        "random",
        "decimal",
        "dedupe.checksums.formats",
        "dedupe.workers.processes",
        "dedupe.workers.dispatch",
        "dedupe.digests.speeds",
    }


@pytest.mark.skipif(sys.platform == "win32", reason="Windows needs more: its streams, paths and files")
def test_a_plain_report_brings_nothing_that_only_others_need(tmp_path: Path) -> None:
    """What is redundant, and how folders compare, is loaded where it is asked for."""
    for name in "ab":
        write(tmp_path / "tree" / name, b"same")
    dear = {"dedupe.report.redundant", "dedupe.folders.compare", "dedupe.storage.lasting"}
    command = ("scan", tmp_path / "tree", "--no-cache", "--format", "text")
    assert not imported(*command) & dear
    assert imported(*command, "--folders") & dear == {"dedupe.folders.compare"}
    assert "dedupe.report.redundant" in imported(*command, "--redundant")


def test_workers_that_cannot_be_forked_import_no_command_line() -> None:
    """They import the module that the program began with: it brings neither typer nor anything else of ours."""
    program = "import sys, dedupe.__main__; print(*(m for m in sys.modules if m.startswith(('typer', 'dedupe.'))))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.split() == [b"dedupe.__main__"]
