"""Undo: which run is meant, and what of it is to be taken back.  `undoing` does it.

The last run is the last run: a further undo never goes on to the one before by itself.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from dedupe.actions import journal, runs, settle
from dedupe.actions.journal import Journal
from dedupe.actions.records import Intent
from dedupe.actions.runs import Known, Run
from dedupe.actions.tally import Refusal, Tally
from dedupe.actions.undoing import Undoing
from dedupe.errors import NothingUsableError, UsageError
from dedupe.progress import Progress
from dedupe.storage import display
from dedupe.storage.paths import absolute


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be undone.

    Attributes:
        run: its name; empty for the last one, or the last that did something about the files.
        files: only these names, as the marks had them or through real folders; none for all.
        to: a folder to put the files into, below their whole paths, in place of where they were.
        dry_run: look at all that would be done, and change nothing.
    """

    run: str = ""
    files: Sequence[bytes] = ()
    to: bytes | None = None
    dry_run: bool = False


def undo(wish: Wish, folder: str, progress: Progress) -> Tally:
    """Take back what a run did; first settle what killed runs left.

    Raises:
        UsageError: there is no such run, or it never touched a file that is named.
        NothingUsableError: the journals cannot be read or written; nothing was done.
    """
    known = runs.all_runs(folder)
    tally = Tally(unknown=list(known.unreadable))
    run = _chosen(known, wish)
    if run is None:
        tally.notes.append("There is nothing to undo: no run acted on any file.")
        return tally
    _settle(known, run, tally, is_dry=wish.dry_run)
    tally.about = f"Run {run.name}: {run.action}, begun {run.started}."
    if run.broken:
        lines = ", ".join(map(str, run.broken[:5]))
        told = f"this journal is damaged in line {lines}: what it said there is not known"
        tally.unknown.append(Refusal(os.fsencode(run.path), told))
    intents = _wanted(run, known, wish, tally)
    if run.action == "reflink":
        tally.notes.append("Sharing blocks needs no undoing: names, contents and metadata are what they were.")
        intents = []
    if not intents:
        tally.notes += _before(run, known)
        return tally
    undoing = Undoing(run, known, wish.to, tally, progress)
    progress.begin("undo", len(intents))
    try:
        if wish.dry_run:
            undoing.all(intents)
        else:
            _journalled(undoing, wish, intents, folder)
    finally:
        progress.end()
    return tally


def _journalled(undoing: Undoing, wish: Wish, intents: Sequence[Intent], folder: str) -> None:
    """Take intents back as far as it goes; what was done by then is told either way."""
    tally = undoing.tally
    options = {"files": len(wish.files), "to": None if wish.to is None else display.text(wish.to)}
    with Journal(folder, runs.UNDO, options, undoes=undoing.run.name) as written:
        tally.run, undoing.written = written.run, written
        try:
            undoing.all(intents)
        except KeyboardInterrupt:
            tally.stopped, tally.interrupted = "interrupted", True
        except NothingUsableError as error:
            if not tally.done:
                raise
            tally.stopped = str(error)
        try:
            written.end(tally.totals())
        except NothingUsableError as error:
            tally.stopped = tally.stopped or str(error)


def _settle(known: Known, run: Run, tally: Tally, *, is_dry: bool) -> None:
    """Put back what killed runs left in the middle, or tell how much that is."""
    if is_dry:
        if count := settle.unsettled(known.runs):
            tally.notes.append(f"Names that killed runs left in the middle, and that come first: {count:,}.")
        return
    settled = settle.settle_all(known.runs)
    tally.notes += settled.notes()
    tally.unknown += settled.left_of(run)


def _chosen(known: Known, wish: Wish) -> Run | None:
    """Return the run that is meant.

    Raises:
        UsageError: there is none of that name, it is an undo itself, or it is still at work.
    """
    acted = known.acted()
    run = next((run for run in acted if run.count() or run.intents), None)  # those of others began nothing
    if wish.run:
        run = known.named(wish.run)
        if run is None:
            raise UsageError(f"There is no run {wish.run}: `dedupe journal` lists them.")
        if run.undoes:
            raise UsageError(f"{run.name} is an undo itself: run `dedupe apply` again with the marks of {run.undoes}.")
    elif wish.files:
        run = next((r for r in acted if set(wish.files) <= runs.names_of(r.intents.values())), run)
    if run is not None and run.foot is None and journal.is_alive(run.path):
        raise UsageError(f"{run.name} is still at work: wait for its end, or interrupt it.")
    return run


def _wanted(run: Run, known: Known, wish: Wish, tally: Tally) -> list[Intent]:
    """Return what is to be undone, newest first; what is undone already is told.

    Raises:
        UsageError: a file that is named was not touched by the run, or the target is no folder.
    """
    if wish.to is not None and os.path.lexists(absolute(wish.to)) and not os.path.isdir(absolute(wish.to)):
        raise UsageError(f"{display.shown(wish.to)} is no folder: name one with --to.")
    done = run.done()
    if wish.files:
        names = runs.names_of(run.intents.values())
        for file in wish.files:
            if file not in names:
                raise UsageError(f"Run {run.name} did nothing about {display.shown(file)}.")
        done = [intent for intent in done if intent.shown in wish.files or intent.path in wish.files]
    before = known.undone(run)
    tally.already += [Refusal(intent.shown, "is undone already") for intent in done if intent.n in before]
    return [intent for intent in reversed(done) if intent.n not in before]


def _before(run: Run, known: Known) -> list[str]:
    """Return how the run before could be undone, where there is nothing left of this one."""
    for other in known.acted():
        if other.name < run.name and other.action != "reflink":
            left = other.count() - len(known.undone(other))
            if left > 0:
                what = f"{other.action}, {other.started}, {left:,} name{'s' if left > 1 else ''}"
                return [
                    f"There is nothing left to undo of it. `dedupe undo {other.name}` takes back one before: {what}."
                ]
    return []
