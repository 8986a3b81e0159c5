"""Where there is no trash that is known, it is said, with what works instead."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from dedupe.actions.trash_xdg import NoTrashError, Trashes, find_trash, open_trash
from tests.conftest import write


@pytest.mark.skipif(sys.platform == "linux", reason="it has one")
def test_there_is_no_trash_elsewhere(tmp_path: Path) -> None:
    """A system with another kind of trash is told so."""
    path = os.fsencode(write(tmp_path / "a", b"x"))
    with pytest.raises(NoTrashError, match="Linux desktops only"):
        find_trash(path, device=0)
    with pytest.raises(NoTrashError, match="Linux desktops only"):
        open_trash(os.fsencode(tmp_path))
    with Trashes() as trashes, pytest.raises(NoTrashError, match="Linux desktops only"):
        trashes.find(path, device=0)
