"""A kill at any moment leaves nothing that the next undo cannot settle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.actions.common import ON_LINUX

pytestmark = ON_LINUX
ACTIONS = ["move-to", "delete", "hardlink", "trash"]


@pytest.mark.parametrize("what", ["lines", "journal", "undo"])
@pytest.mark.parametrize("action", ACTIONS)
def test_a_kill_then_undo_is_as_before(tmp_path: Path, action: str, what: str) -> None:
    """Killed at lines of the code or of the journal, in the act or in its undoing: then undo gives all back."""
    command = [sys.executable, "-m", "tests.actions.killed", action, str(tmp_path / "place"), what]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(command, capture_output=True, check=False, env=env, timeout=280)
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    assert found["kills"] >= (8 if what == "journal" else 50)
    assert found["wrong"] == []
