"""Where names cannot be changed in one step: what a failure between two steps leaves is told, and removed later."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from dedupe.actions.apply import ActionName
from dedupe.storage import rename
from tests.actions.common import ON_LINUX, act, contents, copies, reasons, snapshot, take_back

pytestmark = ON_LINUX


class Unlinks:
    """Stands for a disk that fails to remove names now and then."""

    def __init__(self, fails: frozenset[int]) -> None:
        self._fails, self._count, self._usual = fails, 0, os.unlink

    def __call__(self, name: Any, **where: Any) -> None:
        """Remove a name, or fail."""
        self._count += 1
        if self._count in self._fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO), name)
        self._usual(name, **where)


@pytest.mark.parametrize("fails", [frozenset({1}), frozenset({2}), frozenset(range(1, 99)), frozenset(range(2, 99))])
@pytest.mark.parametrize("action", [ActionName.DELETE, ActionName.TRASH, ActionName.MOVE_TO])
def test_a_name_that_cannot_be_removed_is_told_and_removed_later(
    tmp_path: Path, journal: Path, action: ActionName, fails: frozenset[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a further name of the file, of which nothing else would say that it is there."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b/f"])})
    before, known = snapshot(top), contents(top)
    with monkeypatch.context() as patch:

        def not_offered(*_: object) -> None:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

        patch.setattr(rename, "_rename_with", not_offered)
        patch.setattr(os, "unlink", Unlinks(fails))
        tally = act(marks, action, journal, target=tmp_path / "target")
    left = [path.name for path in tmp_path.rglob(".dedupe-*")]
    told = " ".join(reasons(tally))
    assert [name for name in left if name not in told] == []
    assert bool(tally.unknown) == bool(left)
    take_back(journal)
    assert list(tmp_path.rglob(".dedupe-*")) == []
    assert snapshot(top) == before
    assert contents(top) == known
