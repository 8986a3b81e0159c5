"""What is told before and after: figures only where they say something."""

from __future__ import annotations

from dedupe.actions.apply import ActionName, Order
from dedupe.actions.summary import Summary
from dedupe.actions.tally import Refusal, Tally
from dedupe.cli import telling
from tests.actions.common import ON_LINUX

pytestmark = ON_LINUX


def test_nothing_at_least_is_told_as_not_known() -> None:
    """Blocks that only victims share: how much becomes free is not known before, and not after."""
    order = Order(action=ActionName.DELETE)
    summary = Summary(files=1, names=1, bytes=5, freed={"/mnt": 0}, shared={"/mnt"})
    told = "\n".join((*telling.before(summary, order), *telling.after(Tally(freed_more=True), order, verbose=False)))
    assert "On /mnt: how much would become free is not known, as blocks are shared." in told
    assert "How much became free is not known, as blocks were shared." in told
    assert "least" not in told
    more = Summary(files=1, names=1, bytes=5, freed={"/mnt": 1024}, shared={"/mnt"})
    assert "On /mnt: at least 1.0 KiB would become free." in telling.before(more, order)
    after = telling.after(Tally(freed=1024, freed_more=True), order, verbose=False)
    assert "At least 1.0 KiB became free." in after


def test_an_undo_that_failed_does_not_say_that_names_are_as_before() -> None:
    """The names that failed are told, and no figure of none."""
    tally = Tally(failed=[Refusal(b"/x", "why")])
    assert list(telling.after_undo(tally, dry_run=False, verbose=False)) == ["Failed: 1 name.", "  /x: why"]
