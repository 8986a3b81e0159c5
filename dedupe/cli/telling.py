"""What `apply` and `undo` tell before and after, as lines.  Prints nothing itself, and changes nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Sequence

from dedupe.actions.apply import ActionName, Order
from dedupe.actions.summary import Summary
from dedupe.actions.tally import Refusal, Tally, counted
from dedupe.cli.exits import Exit
from dedupe.report.units import binary_size
from dedupe.report.units import counted as counted_nouns
from dedupe.storage import display

_LISTED = 10  # names of a kind that are listed without --verbose
_WILL = {
    ActionName.TRASH: "would go to the trash of their volume",
    ActionName.MOVE_TO: "would be moved",
    ActionName.REFLINK: "would share their blocks with a copy that stays",
    ActionName.HARDLINK: "would become further names of a copy that stays",
    ActionName.DELETE: "would be removed",
}
_DID = {
    ActionName.TRASH: "put into the trash",
    ActionName.MOVE_TO: "moved",
    ActionName.REFLINK: "made to share their blocks",
    ActionName.HARDLINK: "made further names of a copy that stays",
    ActionName.DELETE: "removed",
}


def before(summary: Summary, order: Order) -> Iterator[str]:
    """Yield what is going to happen, and what a user should know about it."""
    names = f" ({summary.names:,} names)" if summary.names != summary.files else ""
    where = f" to {display.shown(order.target)}" if order.target is not None else ""
    yield f"{_files(summary.files)}{names}, {binary_size(summary.bytes)}, {_WILL[order.action]}{where}:"
    for example in summary.examples:
        yield f"  {display.shown(example.goes)}"
        yield f"    stays: {display.shown(example.stays)}"
    if summary.files > len(summary.examples):
        yield f"  ... and {summary.files - len(summary.examples):,} more"
    later = {
        ActionName.TRASH: " once the trash is emptied",
        ActionName.MOVE_TO: " once that folder is removed",
        ActionName.REFLINK: " at most",
    }.get(order.action, "")
    for volume, count in summary.freed.items():
        is_least = volume in summary.shared and order.action is not ActionName.REFLINK
        if is_least and not count:
            yield f"On {volume}: how much would become free{later} is not known, as blocks are shared."
            continue
        least = "at least " if is_least else ""
        yield f"On {volume}: {least}{binary_size(count)} would become free{later}."
    if len(summary.stays) > 1 or order.copies > 1:
        yield f"Copies that stay: {', '.join(f'{count:,} on {volume}' for volume, count in summary.stays.items())}."
    if summary.refused:
        yield f"Will be left alone: {_files(sum(summary.refused.values()))}."
        reasons = sorted(summary.refused.items(), key=lambda pair: -pair[1])
        yield from (f"  {count:,} x {reason}" for reason, count in reasons[:_LISTED])
    yield from _warnings(summary, order)


def _warnings(summary: Summary, order: Order) -> Iterator[str]:
    if summary.keeps_name and order.action is not ActionName.REFLINK:
        yield f"Further names elsewhere: {_files(summary.keeps_name)}, which free nothing."
    if summary.other_dates and order.action is not ActionName.REFLINK:
        yield f"Other dates than the copies that stay: {_files(summary.other_dates)}."
    if summary.symlinks and order.action not in (ActionName.REFLINK, ActionName.HARDLINK):
        yield f"Symbolic links that lead to these, and will lead to nothing: {summary.symlinks:,}."
    if order.action is ActionName.HARDLINK:
        yield "Hard links are one file under several names: who edits one of them edits all."


def after(
    tally: Tally, order: Order, *, verbose: bool, told: Collection[str] = (), undecided: int = 0
) -> Iterator[str]:
    """Yield what came of it.

    Args:
        tally: the sums.
        order: what was to be done.
        verbose: tell of every name.
        told: notes that need not be told again.
        undecided: groups that the rules left as they are.
    """
    would = "would be " if order.dry_run else ""
    yield f"{_names(tally.done)} {would}{_DID[order.action]} ({binary_size(tally.done_bytes)})."
    if tally.freed_more and not tally.freed:
        yield "How much became free is not known, as blocks were shared."
    elif tally.freed:
        yield f"{'At least ' if tally.freed_more else ''}{binary_size(tally.freed)} became free."
    yield from _rest(tally, verbose=verbose, told=told)
    if undecided:
        yield f"Undecided: {counted_nouns(undecided, 'group')}, of which all copies stay."
    if tally.run and tally.done and order.action is not ActionName.REFLINK:
        yield f"`{_rights()}dedupe undo {tally.run}` takes it back."


def _rights() -> str:
    """Return what has to stand before a command for it to find root's journals, where this ran as root by sudo."""
    return "sudo -H " if sys.platform != "win32" and os.geteuid() == 0 and "SUDO_USER" in os.environ else ""


def after_undo(tally: Tally, *, dry_run: bool, verbose: bool) -> Iterator[str]:
    """Yield what came of an undo."""
    if tally.about:
        yield tally.about
    if tally.done or not (tally.notes or tally.already or tally.failed or tally.refused):
        what = "in another folder" if tally.places else "as before"
        yield f"{_names(tally.done)} {'would be' if dry_run else 'is' if tally.done == 1 else 'are'} {what}."
    yield from _rest(tally, verbose=verbose)


def _rest(tally: Tally, *, verbose: bool, told: Collection[str] = ()) -> Iterator[str]:
    for place in tally.places:
        yield f"{'It lies' if tally.done == 1 else 'They lie'} in {place}."
    yield from (note for note in tally.notes if note not in told)
    if tally.already:
        yield f"Already done: {_names(len(tally.already))}."
    for word, refusals in (("Refused", tally.refused), ("Failed", tally.failed), ("UNCLEAR", tally.unknown)):
        yield from _listed(word, refusals, every=verbose or word == "UNCLEAR")
    if tally.stopped:
        more = "; the same command goes on with the rest" if tally.interrupted else ""
        yield f"Ended early: {tally.stopped}{more}"


def _listed(word: str, refusals: Sequence[Refusal], *, every: bool) -> Iterator[str]:
    """Yield the names that nothing was done about, with reasons; of many only how often each reason was given."""
    if not refusals:
        return
    yield f"{word}: {_names(len(refusals))}."
    if every or len(refusals) <= _LISTED:
        for refusal in refusals:
            yield f"  {display.shown(refusal.path)}: {refusal.reason}"
        return
    for reason, count in counted(refusals).items():
        yield f"  {count:,} x {reason}"
    yield "  --verbose lists each of them."


def exit_of(tally: Tally) -> Exit:
    """Return the exit code that a run deserves."""
    if tally.interrupted:
        return Exit.INTERRUPTED
    if tally.is_complete:
        return Exit.DONE if tally.done or tally.already else Exit.NOTHING
    return Exit.INCOMPLETE if tally.done or tally.already else Exit.NOTHING


def _files(count: int) -> str:
    return counted_nouns(count, "file")


def _names(count: int) -> str:
    return counted_nouns(count, "name")
