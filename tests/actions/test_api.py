"""What other programs use of `dedupe.actions`."""

from __future__ import annotations

import os
import re
from pathlib import Path

import dedupe
from dedupe import actions
from tests.actions.common import ON_LINUX, content, snapshot
from tests.cases.common import find
from tests.conftest import write


def test_everything_named_is_there_in_order() -> None:
    """`__all__` is sorted and holds."""
    assert actions.__all__ == sorted(actions.__all__)
    assert all(hasattr(actions, name) for name in actions.__all__)
    assert set(actions.__all__) <= set(dir(actions))
    assert not hasattr(actions, "nonsense")


def test_each_function_has_a_description() -> None:
    """`help()` answers for all of it."""
    for name in actions.__all__:
        described = getattr(actions, name).__doc__
        assert described, name
        assert re.match(r"[A-Z][^\n]*\.", described), name


@ON_LINUX
def test_from_a_result_to_the_trash_and_back(tmp_path: Path) -> None:
    """The whole way, without the command line."""
    for name in ("photos/a", "old/a"):
        write(tmp_path / "top" / name, content("one"))
    before = snapshot(tmp_path / "top")
    result: dedupe.ScanResult = find(tmp_path / "top")
    rules = actions.Rules(prefer=[os.fsencode(tmp_path / "top/photos")], then=[actions.Then.OLDEST])
    decided = actions.mark(result, rules)
    assert actions.read_marks(b"".join(actions.write_marks(decided.marks)), "marks").groups == tuple(
        decided.marks.groups
    )
    prepared = actions.prepare(decided.marks, actions.Order(action=actions.ActionName.TRASH))
    assert actions.foresee(prepared).names == 1
    tally = actions.carry_out(prepared)
    assert (tally.done, tally.run, os.listdir(actions.journal_folder())) != (0, "", [])
    assert not (tmp_path / "top/old/a").exists()
    assert actions.take_back(actions.Wish(run=tally.run)).done == 1
    assert snapshot(tmp_path / "top") == before
