"""`dedupe undo`: the real program."""

from __future__ import annotations

from pathlib import Path

from tests.actions.common import ON_LINUX, snapshot
from tests.cli.test_apply import RULES
from tests.cli.test_mark import Run
from tests.cli.test_mark import report as report  # noqa: PLC0414 - a fixture

pytestmark = ON_LINUX


def test_undo_by_file_then_all_then_nothing(cli: Run, report: Path, tmp_path: Path) -> None:
    """A file may be named as the user reaches it; undoing twice does nothing."""
    before = snapshot(tmp_path / "top")
    cli("apply", report, *RULES, "--delete", "--yes")
    done = cli("undo", "top/b/one")
    assert (done.returncode, b"1 name is as before" in done.stderr) == (0, True), done.stderr
    assert cli("undo", "--dry-run").returncode == 0
    assert cli("undo").returncode == 0
    assert snapshot(tmp_path / "top") == before
    again = cli("undo")
    assert again.returncode == 0
    assert b"Already done: 2 names" in again.stderr
    assert snapshot(tmp_path / "top") == before


def test_what_cannot_be_undone_is_exit_3(cli: Run, report: Path, tmp_path: Path) -> None:
    """The rest goes on."""
    cli("apply", report, *RULES, "--delete", "--yes")
    (tmp_path / "top/b/one").write_bytes(b"newer")
    done = cli("undo")
    assert (done.returncode, b"its name is taken by now" in done.stderr) == (3, True)
    assert (tmp_path / "top/b/one").read_bytes() == b"newer"


def test_undo_elsewhere(cli: Run, report: Path, tmp_path: Path) -> None:
    """--to names a folder; an empty name is refused."""
    cli("apply", report, *RULES, "--delete", "--yes")
    assert cli("undo", "--to", "").returncode == 2
    assert cli("undo", "--to", "out").returncode == 0
    assert sorted(path.name for path in (tmp_path / "out").rglob("*") if path.is_file())[0] == "one"


def test_wrong_names(cli: Run, tmp_path: Path) -> None:
    """A run or a file that no journal knows: one sentence."""
    assert cli("undo").returncode == 0
    assert cli("undo", "abcd1234").returncode == 2
