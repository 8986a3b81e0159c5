"""Fixtures of the cases: a program that runs beside the test, and a hand between two phases of a scan."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dedupe import find


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Return a function that starts the real program in a session of its own, and ends it with the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*args: str | Path, **options: Any) -> subprocess.Popen[bytes]:
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **options.pop("env", {})}
        options = {"cwd": tmp_path, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        command = [sys.executable, "-m", "dedupe", *map(os.fspath, args)]
        started.append(subprocess.Popen(command, env=env, start_new_session=True, **options))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[], object]], None]:
    """Return a function that has something happen right before a phase of the next scans, by the name `find` calls."""

    def before(phase: str, happen: Callable[[], object]) -> None:
        usual = getattr(find, phase)

        def hooked(*args: Any) -> Any:
            happen()
            return usual(*args)

        monkeypatch.setattr(find, phase, hooked)

    return before
