"""`dedupe journal`: the real program."""

from __future__ import annotations

import json
from pathlib import Path

from tests.actions.common import ON_LINUX
from tests.cli.test_apply import RULES
from tests.cli.test_mark import Run
from tests.cli.test_mark import report as report  # noqa: PLC0414 - a fixture

pytestmark = ON_LINUX


def test_runs_are_listed_and_told(cli: Run, report: Path, tmp_path: Path) -> None:
    """All runs in short, one in full, and as lines of JSON."""
    assert cli("journal").stdout == b"Nothing was done yet.\n"
    cli("apply", report, *RULES, "--move-to", "away", "--yes")
    (line,) = cli("journal").stdout.decode().splitlines()
    run = line.split()[0]
    assert line.endswith("move-to, 2 names")
    full = cli("journal", run).stdout.decode()
    assert f"done: {tmp_path / 'top/b/one'}" in full
    assert f"to: {(tmp_path / 'away/top/b/one').resolve()}" in full
    lines = [json.loads(each) for each in cli("journal", run, "--format", "json").stdout.splitlines()]
    assert [each["kind"] for each in lines] == ["head", "intent", "intent", "outcome", "outcome", "foot"]
    assert json.loads(cli("journal", "--format", "json").stdout)["run"] == run
    cli("undo")
    assert "2 names, 2 undone" in cli("journal").stdout.decode()
    assert "done, undone:" in cli("journal", run).stdout.decode()


def test_a_run_that_is_not_there(cli: Run) -> None:
    """Exit 2, and how to find them."""
    done = cli("journal", "abcd1234")
    assert (done.returncode, b"`dedupe journal` lists them" in done.stderr) == (2, True)
