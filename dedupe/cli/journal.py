"""`dedupe journal`: what was done about duplicates, and where it lies.  Changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from dedupe.cli import console
from dedupe.cli.exits import Exit
from dedupe.errors import UsageError
from dedupe.storage import display

if TYPE_CHECKING:
    from dedupe.actions.runs import Known, Run


class _Format(StrEnum):
    """How it is printed."""

    TEXT = "text"
    JSON = "json"


_Name = Annotated[str | None, typer.Argument(metavar="RUN", help="One run in full; without it, a list of all runs.")]
_FormatOption = Annotated[_Format, typer.Option("--format", "-f", help="text, or json: a line an event.")]


@console.guarded
def journal(name: _Name = None, format_: _FormatOption = _Format.TEXT) -> Exit:
    """Print what was done about duplicates."""
    from dedupe.actions import journal as journals
    from dedupe.actions import runs

    known = runs.all_runs(journals.default_folder())
    chosen = known.runs
    if name is not None:
        chosen = [run] if (run := known.named(name)) else []
        if not chosen and not known.unreadable_of(name):
            raise UsageError(f"There is no run {name}: `dedupe journal` lists them.")
    if format_ is _Format.JSON:
        console.write(_json(chosen, whole=name is not None), text=False)
    elif name is None:
        console.write(f"{line}\n".encode() for line in _list(known))
    elif chosen:
        console.write(f"{line}\n".encode() for line in _full(chosen[0], known))
    for each in known.unreadable:
        console.say(f"dedupe: {display.shown(each.path)}: {each.reason}")
    return Exit.INCOMPLETE if known.unreadable else Exit.DONE


def _json(chosen: list[Run], *, whole: bool) -> Iterator[bytes]:
    for run in chosen:
        for line in run.lines() if whole else [run.head]:
            yield json.dumps(line).encode() + b"\n"


def _list(known: Known) -> Iterator[str]:
    if not known.runs and not known.unreadable:
        yield "Nothing was done yet."
    for run in known.runs:
        yield _line(run, known)


def _line(run: Run, known: Known) -> str:
    taken = known.undone(run)
    undone = f", {len(taken):,} undone" if taken else ""
    names = "1 name" if run.count() == 1 else f"{run.count():,} names"
    return f"{run.name}  {run.begun or 'time not known'}  {_what(run)}, {names}{_state(run)}{undone}"


def _what(run: Run) -> str:
    return f"undo of {run.undoes}" if run.undoes else run.action


def _state(run: Run) -> str:
    if run.is_at_work:
        return ", still at work"
    stopped = "killed" if run.foot is None else str(run.totals.get("stopped") or "")
    unclear = ", some of them UNCLEAR" if run.totals.get("unknown") else ""
    return {"": "", "killed": ", cut off"}.get(stopped, ", ended early") + unclear


def _full(run: Run, known: Known) -> Iterator[str]:
    yield _line(run, known)
    yield f"journal: {display.shown_text(run.path)}"
    yield from (f"line {number} is damaged: what it said is not known" for number in run.broken)
    taken = known.undone(run)
    for n, intent in run.intents.items():
        outcome = run.outcomes.get(n)
        word = "not known how it ended" if outcome is None else str(outcome.result)
        yield f"{word}{', undone' if n in taken else ''}: {display.shown(intent.shown)}"
        if intent.target is not None:
            yield f"    {'from' if run.undoes else 'to'}: {display.shown(intent.target)}"
        if run.is_elsewhere:
            yield f"    to: {display.shown(intent.path)}"
        if intent.keeper and intent.target is None:
            yield f"    stays: {display.shown(intent.keeper)}"
        if outcome is not None and outcome.reason:
            yield f"    {outcome.reason}"
