"""Undo: which run is meant, and what of it is to be taken back.  `undoing` does it.

The last run is the last run: a further undo never goes on to the one before by itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dedupe.actions import runs, settle
from dedupe.actions.journal import Journal, default_folder
from dedupe.actions.records import Intent, Result
from dedupe.actions.runs import Known, Run
from dedupe.actions.tally import Refusal, Tally
from dedupe.actions.undoing import Undoing
from dedupe.errors import NothingUsableError, UsageError
from dedupe.progress import Progress, Silent
from dedupe.storage import display
from dedupe.storage.paths import absolute

_LISTED = 5  # names that are told of each run


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


def undo(wish: Wish, folder: str | None = None, progress: Progress | None = None) -> Tally:
    """Take back what a run did; first settle what killed runs left.

    Args:
        wish: what is to be taken back.
        folder: where journals lie; None for the user's own place.
        progress: is told of names.

    Raises:
        UsageError: there is no such run, or it never touched a file that is named.
        NothingUsableError: the journals cannot be read or written; nothing was done.
    """
    folder, progress = default_folder() if folder is None else folder, progress or Silent()
    known = runs.all_runs(folder)
    tally = Tally(unknown=list(known.unreadable))
    run = _chosen(known, wish)
    if run is None:
        tally.notes.append("There is nothing to undo: no run acted on any file.")
        return tally
    _settle(known, run, tally, is_dry=wish.dry_run)
    tally.about = f"Run {run.name}: {run.action}" + (f", begun {run.begun}." if run.begun else ".")
    for each in (run, *known.undos(run)):
        if each.broken:
            lines = ", ".join(map(str, each.broken[:5])) + (", ..." if len(each.broken) > 5 else "")
            told = f"this journal is damaged in line {lines}: what it said there is not known"
            tally.unknown.append(Refusal(os.fsencode(each.path), told))
    if not wish.run:
        tally.notes += _of_others(run, known, wish.files)
    intents = _wanted(run, known, wish, tally)
    if any(intent.verb == "reflink" for intent in run.intents.values()):
        tally.notes.append("Sharing blocks needs no undoing: names, contents and metadata are what they were.")
        intents = [intent for intent in intents if intent.verb != "reflink"]
    if not intents:
        tally.notes += _before(run, known)
        return tally
    if wish.to is not None:
        tally.places.append(display.shown(absolute(wish.to)))
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
    settled = settle.settle_all([*known.runs, *([run] if run in known.headless else [])])
    tally.notes += settled.notes(undoing=run.name)
    tally.unknown += settled.left_of(run)


def _chosen(known: Known, wish: Wish) -> Run | None:
    """Return the run that is meant.

    Raises:
        UsageError: there is none of that name, it is an undo itself, it or an undo of it is still at work, or which
            is the last one is not known.
    """
    run = _named(known, wish.run) if wish.run else _last(known, wish.files)
    for each in () if run is None else (run, *known.undos(run)):
        if each.is_at_work:
            what = "is still at work" if each is run else f"is an undo of {each.undoes} that is still at work"
            raise UsageError(f"{each.name} {what}: wait for its end, or interrupt it.")
    return run


def _named(known: Known, name: str) -> Run:
    """Return the run of a name; also one whose journal is damaged, as far as that goes.

    Raises:
        UsageError: there is none, or it can't be undone.
    """
    run = known.named(name)
    if run is None:
        if unreadable := known.unreadable_of(name):
            raise UsageError(f"{display.shown(unreadable.path)}: {unreadable.reason}")
        raise UsageError(f"There is no run {name}: `dedupe journal` lists them.")
    if run.undoes:
        raise UsageError(
            f"{name} is an undo itself: to act anew, run `dedupe apply` again with what {run.undoes} was given."
        )
    return run


def _last(known: Known, files: Sequence[bytes]) -> Run | None:
    """Return the newest run that began something, or that did something about all of some files.

    Raises:
        UsageError: none did, or what the newest run did cannot be read.
    """
    if files:
        run = next((run for run in known.acted() if not set(files) - _meant(run, files).keys()), None)
    else:
        run = next((run for run in known.acted() if run.is_at_work or run.count() or run.intents), None)
    last = known.unreadable[-1] if known.unreadable else None
    if last is not None and (run is None or run.name < runs.name_of(last.path)):
        older = f" `dedupe undo {run.name}` takes back one before: {run.action}, {run.begun}." if run else ""
        raise UsageError(
            f"{display.shown(last.path)}: {last.reason}. What the last run did is not known, so nothing was undone: "
            f"name a run.{older}"
        )
    if files and run is None:
        every = set().union(*(_meant(other, files) for other in known.acted()))
        lost = next((file for file in files if file not in every), None)
        if lost is None:
            raise UsageError(_apart(known, files))
        raise UsageError(f"No run did anything about {display.shown(lost)}: `dedupe journal` lists what was done.")
    return run


def _apart(known: Known, files: Sequence[bytes]) -> str:
    """Return which runs did something about files, of which none did about all."""
    found: dict[str, list[bytes]] = {}
    for file in files:
        newest = next(run.name for run in known.acted() if _meant(run, [file]))
        found.setdefault(newest, []).append(file)
    told = "; ".join(
        f"`dedupe undo {name}` with {', '.join(map(display.shown, names[:_LISTED]))}"
        + (f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else "")
        for name, names in sorted(found.items(), reverse=True)
    )
    return f"No run did something about all of these, so nothing was undone. Run by run: {told}."


def _of_others(run: Run, known: Known, files: Sequence[bytes]) -> Iterator[str]:
    """Yield what other runs did about files, so that nobody takes all of it for undone."""
    for other in known.acted():
        meant = _meant(other, files) if files and other is not run and other.action != "reflink" else {}
        numbers = set().union(*meant.values()) & {intent.n for intent in other.undoable()} - known.undone(other)
        if numbers:
            names = "1 name" if len(numbers) == 1 else f"{len(numbers):,} names"
            yield (
                f"Run {other.name} ({other.action}, {other.begun}) did something about {names} of these too: "
                f"`dedupe undo {other.name}` and the same names take that back."
            )


def _meant(run: Run, files: Sequence[bytes]) -> dict[bytes, set[int]]:
    """Return, of each name that a run did something about or below, the numbers of its intents."""
    found: dict[bytes, set[int]] = {}
    separator = os.fsencode(os.sep)
    for file in files:
        parent, name = os.path.split(file)
        spellings = {file.rstrip(separator), os.path.join(os.path.realpath(parent), name).rstrip(separator)}
        for n, intent in run.intents.items():
            for path in (intent.shown, intent.path):
                if any(path == each or path.startswith(each + separator) for each in spellings):
                    found.setdefault(file, set()).add(n)
    return found


def _wanted(run: Run, known: Known, wish: Wish, tally: Tally) -> list[Intent]:
    """Return what is to be undone, newest first; what is undone already is told.

    Raises:
        UsageError: a file that is named was not touched by the run, or the target is no folder.
    """
    if wish.to is not None and os.path.lexists(absolute(wish.to)) and not os.path.isdir(absolute(wish.to)):
        raise UsageError(f"{display.shown(wish.to)} is no folder: name one with --to.")
    done = run.undoable()
    if wish.to is not None:
        done = sorted((*done, *_unclear(run)), key=lambda intent: intent.n)
    if wish.files:
        meant = _meant(run, wish.files)
        for file in wish.files:
            if file not in meant:
                raise UsageError(f"Run {run.name} did nothing about {display.shown(file)}.")
        numbers = set().union(*meant.values())
        done = [intent for intent in done if intent.n in numbers]
    before = known.undone(run)
    tally.already += [Refusal(intent.shown, "is undone already") for intent in done if intent.n in before]
    return [intent for intent in reversed(done) if intent.n not in before]


def _unclear(run: Run) -> Iterator[Intent]:
    """Yield files that could not be put back where they were, as moved to where they lie now."""
    for n, outcome in run.outcomes.items():
        if outcome.result is Result.UNKNOWN and n in run.intents:
            intent = run.intents[n]
            if intent.target is None and intent.temporary is not None:
                there = os.path.join(os.path.dirname(intent.path), intent.temporary)
                intent = replace(intent, verb="move", target=there, temporary=None)
            if intent.target is not None:
                yield intent


def _before(run: Run, known: Known) -> list[str]:
    """Return how the run before could be undone, where there is nothing left of this one."""
    for other in known.acted():
        if other.name < run.name and other.action != "reflink":
            left = other.count() - len(known.undone(other))
            if left > 0:
                what = f"{other.action}, {other.begun}, {left:,} name{'s' if left > 1 else ''}"
                return [
                    f"There is nothing left to undo of it. `dedupe undo {other.name}` takes back one before: {what}."
                ]
    return []
