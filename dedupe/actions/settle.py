"""What killed runs left in the middle: found by their journals, put back, and written down.  `settling` does it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from dedupe.actions import journal
from dedupe.actions.holding import Folders
from dedupe.actions.records import Intent, Outcome, Result
from dedupe.actions.runs import Known, Run
from dedupe.actions.settling import outcome_of
from dedupe.actions.tally import Refusal
from dedupe.actions.words import said
from dedupe.storage import display
from dedupe.storage.rename import sync_folder

_LISTED = 5  # names that are told of each kind


@dataclass(slots=True)
class Settled:
    """What became of names that killed runs had left in the middle."""

    put_back: list[Refusal] = field(default_factory=list)
    not_back: dict[str, int] = field(default_factory=dict)  # by the run that an undo was to take back: how many
    elsewhere: set[str] = field(default_factory=set)  # of these runs, those whose files it was to put elsewhere
    left: list[Refusal] = field(default_factory=list)  # could not be settled: the reason says where they lie
    by_run: dict[str, list[Refusal]] = field(default_factory=dict)  # of these, those of each run

    def left_of(self, run: Run) -> list[Refusal]:
        """Return what could not be settled of one run."""
        return self.by_run.get(run.name, [])

    def count_back(self, run: Run, intent: Intent) -> None:
        """Note a name that is as it was before the run that was killed: for one that an undo was at it is not back."""
        if not run.undoes:
            self.put_back.append(Refusal(intent.shown, "is where it was"))
            return
        self.not_back[run.undoes] = self.not_back.get(run.undoes, 0) + 1
        if run.is_elsewhere:
            self.elsewhere.add(run.undoes)

    def notes(self, undoing: str = "") -> Iterator[str]:
        """Yield it for people, to whom it is news: it happened in another run.

        Args:
            undoing: a run that is being undone, now that this is settled.
        """
        for name, count in self.not_back.items():
            if name != undoing:
                names = "1 name is" if count == 1 else f"{count:,} names are"
                command = f"dedupe undo {name}{' --to DIR' if name in self.elsewhere else ''}"
                yield f"An undo was killed in the middle; {names} not back yet: `{command}` goes on with it."
        for found, one, many in (
            (self.put_back, "was put back", "were put back"),
            (self.left, "is left as it is", "are left as they are"),
        ):
            if found:
                names = f"1 name {one}" if len(found) == 1 else f"{len(found):,} names {many}"
                yield f"A run was killed in the middle; {names}:"
                yield from (f"  {display.shown(each.path)}: {each.reason}" for each in found[:_LISTED])
                if len(found) > _LISTED:
                    yield f"  ... and {len(found) - _LISTED:,} more"


def settle_all(runs: Iterable[Run]) -> Settled:
    """Put back what killed runs left in the middle; the runs are brought up to date.

    Args:
        runs: the oldest first, with their undos.
    """
    found = Settled()
    known = Known(list(runs))
    for run in reversed(known.runs):  # an undo before the run that it takes back
        if run.is_settled:
            continue
        try:
            with journal.taken(run.path) as descriptor:
                if descriptor is None:
                    continue  # at work, or being settled by another
                run.read_again()
                if not run.is_settled:
                    one = _settle(run, descriptor, known.undone(run))
                    found.put_back += one.put_back
                    found.not_back |= one.not_back
                    found.elsewhere |= one.elsewhere
                    found.left += one.left
                    found.by_run[run.name] = one.by_run[run.name]
        except OSError as error:
            found.left.append(Refusal(os.fsencode(run.path), f"this journal cannot be used: {said(error)}"))
    return found


def unsettled(runs: Iterable[Run]) -> int:
    """Return how many names killed runs have left in the middle."""
    return sum(len(run.open_intents) for run in runs if not run.is_settled and not journal.is_alive(run.path))


def _settle(run: Run, descriptor: int, undone: Collection[int]) -> Settled:
    """Put back what one killed run left in the middle, newest first; what is undone lies elsewhere by now."""
    found = Settled()
    found.by_run[run.name] = left = []
    outcomes = []
    folders = Folders()
    is_settled = True
    try:
        for intent in reversed(run.open_intents):
            try:
                if intent.n in undone:
                    outcome = Outcome(n=intent.n, result=Result.DONE, reason="an undo put it elsewhere")
                else:
                    outcome = outcome_of(run.name, intent, folders)
            except OSError as error:  # a later run looks again
                is_settled = False
                where = f"run {run.name} of {run.begun} was killed while it acted on it"
                left.append(Refusal(intent.shown, f"{where}: {said(error)}"))
                found.left.append(left[-1])
                continue
            if outcome.result is Result.UNKNOWN:
                left.append(Refusal(intent.shown, outcome.reason))
            if outcome == run.outcomes.get(intent.n):
                continue  # known already, and no news
            outcomes.append(outcome)
            if outcome.result is Result.UNKNOWN:
                found.left.append(left[-1])
            elif outcome.result is Result.PUT_BACK:
                found.count_back(run, intent)
        for folder in folders.all():
            with suppress(OSError):
                sync_folder(folder)
    finally:
        folders.close()
    lines = [outcome.as_object() for outcome in outcomes]
    if is_settled and (lines or run.foot is None):
        done = len(run.done()) + sum(outcome.result is Result.DONE for outcome in outcomes)
        stopped = {"stopped": "killed"} if run.foot is None else {}
        lines.append(journal.foot(run.totals | stopped | {"done": done, "unknown": len(left)}))
    if lines:
        journal.append(descriptor, lines)
    run.read_again()
    return found
