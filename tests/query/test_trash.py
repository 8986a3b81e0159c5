"""Trash and snapshots of the card count and are told; pseudo file systems are entered on no side."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dedupe.cli.exits import Exit
from dedupe.query.missing import find_missing
from dedupe.query.settings import MissingConfig
from dedupe.result import SkipReason
from tests.conftest import write
from tests.disks import mounted

Cli = Callable[..., "subprocess.CompletedProcess[bytes]"]


def test_trash_of_the_card_is_told(cli: Cli, tmp_path: Path) -> None:
    """Whoever wonders why a file of a recycle bin is missing, or why a snapshot was read, is told."""
    write(tmp_path / "card/.Trash-1000/files/in/old", b"old")
    write(tmp_path / "card/.snapshots/1/older", b"older")
    write(tmp_path / "card/a", b"a")
    write(tmp_path / "archive/a", b"a")
    done = cli("missing", "card", "--from", "archive", "--no-cache")
    assert done.returncode == Exit.NO
    assert b"2 files of the card lie in trash, snapshots or the system's folders, and also count." in done.stderr
    assert b"trash" not in cli("missing", "archive", "--from", "card", "--no-cache").stderr


@pytest.mark.skipif(sys.platform != "linux", reason="mounting")
@pytest.mark.parametrize("side", ["card", "archive"])
@pytest.mark.parametrize("link", [False, True])
def test_pseudo_file_systems_are_entered_on_no_side(tmp_path: Path, side: str, link: bool) -> None:  # noqa: FBT001
    """A card that is a whole system has /proc, whose files are no data, reached through a link or not."""
    write(tmp_path / "card/a", b"a")
    write(tmp_path / "archive/a", b"a")
    roots = {each: tmp_path / each for each in ("card", "archive")}
    if link:
        (tmp_path / "link").symlink_to(tmp_path / side)
        roots[side] = tmp_path / "link"
    with mounted(tmp_path / side / "proc", "-t", "proc", "proc"):
        found = find_missing(MissingConfig(card=[roots["card"]], archive=[roots["archive"]], jobs=1))
    assert (found.totals.files, found.totals.archive_files, found.totals.missing_files) == (1, 1, 0)
    skipped = found.card_skipped if side == "card" else found.archive_skipped
    assert skipped == {SkipReason.PSEUDO_FILE_SYSTEM: 1}
    assert found.is_certain
