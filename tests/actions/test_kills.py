"""A kill at any moment leaves nothing that the next undo cannot settle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import disks
from tests.actions.common import ON_LINUX

pytestmark = ON_LINUX
ACTIONS = ["move-to", "delete", "hardlink", "trash"]


@pytest.mark.parametrize("what", ["lines", "journal", "undo", "settle"])
@pytest.mark.parametrize("action", ACTIONS)
def test_a_kill_then_undo_is_as_before(tmp_path: Path, action: str, what: str) -> None:
    """Killed at lines of the code or of the journal, in the act, its undoing or its settling: undo gives all back."""
    check(tmp_path, action, what)


@pytest.mark.parametrize("action", ["move-to", "delete", "trash"])
def test_a_kill_where_names_are_claimed(tmp_path: Path, action: str) -> None:
    """On file systems without links and without a rename that replaces nothing."""
    check(tmp_path, action, "claims")


@pytest.mark.parametrize("what", ["steps", "settle-steps"])
def test_a_kill_where_names_are_not_exchanged(tmp_path: Path, what: str) -> None:
    """On file systems that know links only: what a link had for a moment goes, or has its name again."""
    check(tmp_path, "hardlink", what)


@pytest.mark.parametrize("action", ["delete", "hardlink"])
def test_a_kill_of_an_undo_to_another_volume(tmp_path: Path, action: str) -> None:
    """Done once more all files are there, once, and undone in place all is as before."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", "ext4"):
        check(tmp_path, action, "elsewhere")


def check(tmp_path: Path, action: str, what: str) -> None:
    """Kill, and make sure that all is as before afterwards."""
    command = [sys.executable, "-m", "tests.actions.killed", action, str(tmp_path / "place"), what]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(command, capture_output=True, check=False, env=env, timeout=280)
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    assert found["kills"] >= (8 if what == "journal" else 50)
    assert found["wrong"] == []
