"""`dedupe apply` on systems where acting could not be tried: refused, in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from dedupe.actions import apply as applying
from dedupe.actions.apply import ActionName, Order
from dedupe.errors import UsageError
from tests.actions.common import ON_LINUX, snapshot
from tests.cli.test_mark import Run
from tests.cli.test_mark import report as report  # noqa: PLC0414 - a fixture

RULES = ("--prefer", "top/a", "--then", "newest")
ACTIONS = [("--trash",), ("--move-to", "away"), ("--reflink",), ("--hardlink",), ("--delete",)]


@pytest.mark.skipif(ON_LINUX.args[0] is False, reason="acting is offered here")
@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_is_refused(cli: Run, report: Path, tmp_path: Path, action: tuple[str, ...]) -> None:
    """With what works instead, and nothing is changed."""
    before = snapshot(tmp_path)
    done = cli("apply", report, *RULES, *action, "--yes")
    assert done.returncode == 2
    assert b"is offered on Linux only" in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", ActionName)
def test_the_library_refuses_too(name: ActionName, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever asks for it: no order can be given."""
    monkeypatch.setattr(applying, "OFFERED", ("another system",))
    with pytest.raises(UsageError, match="is offered on Linux only"):
        Order(action=name, target=b"/x" if name is ActionName.MOVE_TO else None)
