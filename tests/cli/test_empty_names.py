"""Names without a character, as unset variables in scripts make them: refused, never taken for another."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from dedupe.config import ScanConfig
from dedupe.errors import UsageError
from dedupe.storage.paths import absolute
from tests.conftest import write

Cli = Callable[..., CompletedProcess[bytes]]

_COMMANDS = {
    "scan": ["scan", ""],
    "scan, beside another": ["scan", "d", ""],
    "--files-from": ["scan", "d", "--files-from", ""],
    "--output": ["scan", "d", "--output", ""],
    "--cache": ["scan", "d", "--cache", ""],
    "--format": ["scan", "d", "--format", ""],
    "--include": ["scan", "d", "--include", ""],
    "--exclude": ["scan", "d", "--exclude", ""],
    "--exclude of slashes": ["scan", "d", "--exclude", "//"],
    "hash": ["hash", ""],
    "hash, beside another": ["hash", "d/a", ""],
    "hash --recursive": ["hash", "--recursive", ""],
    "--check": ["hash", "--check", ""],
    "--algorithm": ["hash", "--algorithm", "", "d/a"],
    "report": ["report", ""],
    "report --output": ["report", "saved.json", "--output", ""],
    "cache": ["cache", "info", "--cache", ""],
    "--json": ["bench", "--rounds", "1", "--size", "1k", "--algorithm", "md5", "--json", ""],
    "--compare": ["bench", "--compare", ""],
    "--baseline": ["bench", "--rounds", "1", "--size", "1k", "--baseline", ""],
    "bench --algorithm": ["bench", "--rounds", "1", "--size", "1k", "--algorithm", ""],
}


@pytest.mark.parametrize("case", _COMMANDS)
def test_an_empty_name_is_refused(cli: Cli, tmp_path: Path, case: str) -> None:
    """One sentence, exit code 2, no result, and the current folder is left alone."""
    write(tmp_path / "d" / "a", b"same")
    write(tmp_path / "d" / "b", b"same")
    done = cli(*_COMMANDS[case], env={"CI": "1"})
    assert (done.returncode, done.stdout) == (2, b""), done.stderr
    assert done.stderr.count(b"\n") == 1
    assert done.stderr.startswith(b"dedupe: ")
    assert os.listdir(tmp_path) == ["d"]


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        (b"d\n\n", [], b"line 2"),
        (b"\nd\n", [], b"line 1"),
        (b"\n", [], b"line 1"),
        (b"d\r\n\r\nd\r\n", [], b"line 2"),
        (b"d\0\0", ["--null"], b"record 2"),
        (b"\0", ["--null"], b"record 1"),
    ],
)
def test_an_empty_line_of_a_list_is_refused(
    cli: Cli, tmp_path: Path, data: bytes, options: list[str], said: bytes
) -> None:
    """The sentence says which line or record; only the end of the last one may have nothing after it."""
    write(tmp_path / "d" / "a", b"same")
    write(tmp_path / "list", data)
    done = cli("scan", "--no-cache", "--files-from", "list", *options)
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        {"roots": [""]},
        {"roots": [b""]},
        {"roots": ["d", ""]},
        {"cache": ""},
        {"cache": b""},
        {"own_files": [""]},
        {"include": [""]},
        {"exclude": ["*.jpg", ""]},
        {"include": ["/"]},
    ],
)
def test_the_library_refuses_them_too(options: dict[str, list[str]]) -> None:
    """A configuration with an empty name is never made."""
    with pytest.raises(UsageError, match="is empty"):
        ScanConfig(**({"roots": ["."]} | options))  # type: ignore[arg-type]


def test_no_path_is_made_of_nothing() -> None:
    """What makes paths absolute does not make the current folder of an empty one."""
    with pytest.raises(UsageError, match="is empty"):
        absolute(b"")
