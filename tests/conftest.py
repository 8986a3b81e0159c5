"""Fixtures that every test may use, and the guard that keeps tests away from the user's own cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dedupe.cache import store

IN_CI = bool(os.environ.get("CI")) and sys.platform != "win32"  # finders, coreutils and Chromium are for the others
SETTLED = 2.1  # seconds after which a new file counts as at rest


def need(condition: object, reason: str) -> None:
    """Skip a test where the machine lacks something; in CI nothing may be lacking."""
    if not condition:
        if IN_CI:
            pytest.fail(f"CI must have it: {reason}")
        pytest.skip(reason)


@pytest.fixture(autouse=True)
def no_users_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the default cache raise in this process, and lie in a folder of its own in processes that tests start."""

    def refuse() -> str:
        raise AssertionError("a test must name its cache")

    home = tmp_path_factory.mktemp("home")
    for name in (
        "HOME",
        "XDG_CACHE_HOME",
        "XDG_STATE_HOME",
        "XDG_DATA_HOME",
        "LOCALAPPDATA",
        "USERPROFILE",
        "WIN_PD_OVERRIDE_LOCAL_APPDATA",
    ):
        monkeypatch.setenv(name, str(home))
    for name in ("CI", "NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(store, "default_path", refuse)
    return home


@pytest.fixture
def cli(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Return a function that runs the real program and returns what it printed, as bytes."""

    def run(*args: str | bytes | Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "dedupe", *map(os.fspath, args)]
        options.setdefault("cwd", tmp_path)
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **options.pop("env", {})}
        return subprocess.run(
            command, capture_output=True, check=False, timeout=options.pop("timeout", 120), env=env, **options
        )

    return run


@pytest.fixture
def scan_json(cli: Callable[..., subprocess.CompletedProcess[bytes]]) -> Callable[..., dict[str, Any]]:
    """Return a function that scans by the real program and returns its JSON report."""

    def run(*args: str | bytes | Path, **options: Any) -> dict[str, Any]:
        done = cli("scan", *args, "--format", "json", **options)
        assert done.returncode in (0, 3), done.stderr.decode(errors="replace")
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return run


def groups(report: dict[str, Any]) -> set[frozenset[str]]:
    """Return the groups of a JSON report as sets of paths, links apart."""
    return {frozenset(f["path"] for f in g["files"]) for g in report["groups"]}


def write(path: Path, data: bytes) -> Path:
    """Write a file, with its folders, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def slow(path: Path, size: int) -> Path:
    """Write a sparse file that is read all the same: there is a byte in each of the windows that are read at a time."""
    write(path, b"")
    with path.open("r+b") as file:
        for offset in range(0, size, 4 << 20):
            file.seek(offset)
            file.write(b"x")
        file.truncate(size)
    return path
