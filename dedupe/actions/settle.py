"""What a killed run left in the middle: found by its journal, put back, and written down.

Only names that a journal knows are touched.  Where it cannot be told what a name is, it is left as it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from dedupe.actions import journal
from dedupe.actions.action import Spot, second_name
from dedupe.actions.holding import Folders, RefusedError
from dedupe.actions.places import GoneError, Place, check_volume, look_at, place
from dedupe.actions.records import Intent, Outcome, Result
from dedupe.actions.restoring import put_over
from dedupe.actions.runs import Run
from dedupe.actions.tally import Refusal
from dedupe.actions.trash_slots import tells_of
from dedupe.actions.words import said
from dedupe.storage import display
from dedupe.storage.opening import unlink_at
from dedupe.storage.rename import rename_no_replace, sync_folder

_LISTED = 5  # names that are told of each kind


@dataclass(slots=True)
class Settled:
    """What became of names that killed runs had left in the middle."""

    put_back: list[Refusal] = field(default_factory=list)
    left: list[Refusal] = field(default_factory=list)  # could not be settled: the reason says where they lie
    by_run: dict[str, list[Refusal]] = field(default_factory=dict)  # of these, those of each run

    def left_of(self, run: Run) -> list[Refusal]:
        """Return what could not be settled of one run."""
        return self.by_run.get(run.name, [])

    def notes(self) -> Iterator[str]:
        """Yield it for people, to whom it is news: it happened in another run."""
        for found, word in ((self.put_back, "put back"), (self.left, "left as they are")):
            if found:
                yield f"A run was killed in the middle; {len(found):,} of its names were {word}:"
                yield from (f"  {display.shown(each.path)}: {each.reason}" for each in found[:_LISTED])
                if len(found) > _LISTED:
                    yield f"  ... and {len(found) - _LISTED:,} more"


def settle_all(runs: Iterable[Run]) -> Settled:
    """Put back what killed runs left in the middle; the runs are brought up to date."""
    found = Settled()
    for run in runs:
        if run.is_settled:
            continue
        try:
            with journal.taken(run.path) as descriptor:
                if descriptor is None:
                    continue  # at work, or being settled by another
                run.read_again()
                if not run.is_settled:
                    one = _settle(run, descriptor)
                    found.put_back += one.put_back
                    found.left += one.left
                    found.by_run[run.name] = one.by_run[run.name]
        except OSError as error:
            found.left.append(Refusal(os.fsencode(run.path), f"this journal cannot be used: {error.strerror}"))
    return found


def unsettled(runs: Iterable[Run]) -> int:
    """Return how many names killed runs have left in the middle."""
    return sum(len(run.open_intents) for run in runs if not run.is_settled and not journal.is_alive(run.path))


def _settle(run: Run, descriptor: int) -> Settled:
    """Put back what one killed run left in the middle, newest first."""
    found = Settled()
    found.by_run[run.name] = left = []
    outcomes = []
    folders = Folders()
    is_settled = True
    try:
        for intent in reversed(run.open_intents):
            try:
                outcome = _outcome_of(run, intent, folders)
            except OSError as error:  # a later run looks again
                is_settled = False
                where = f"run {run.name} of {run.started} was killed while it acted on it"
                left.append(Refusal(intent.shown, f"{where}: {error.strerror}"))
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
                found.put_back.append(Refusal(intent.shown, "is where it was"))
        for folder in folders.all():
            with suppress(OSError):
                sync_folder(folder)
    finally:
        folders.close()
    lines = [outcome.as_object() for outcome in outcomes]
    if is_settled and (lines or run.foot is None):
        done = len(run.done()) + sum(outcome.result is Result.DONE for outcome in outcomes)
        stopped = {"stopped": "killed"} if run.foot is None else {}
        lines.append(journal.foot((run.foot or {}).get("totals", {}) | stopped | {"done": done, "unknown": len(left)}))
    if lines:
        journal.append(descriptor, lines)
    run.read_again()
    return found


def _outcome_of(run: Run, intent: Intent, folders: Folders) -> Outcome:
    """Settle one name.

    Raises:
        OSError: its volume is away, or its folder may not be looked at.
    """
    try:
        check_volume(intent, intent.path)
        _drop_second_name(run, intent, folders)
        return _HOW[intent.verb.removeprefix("undo-")](intent, folders)
    except (RefusedError, GoneError) as error:
        return _unknown(intent, said(error))


def _drop_second_name(run: Run, intent: Intent, folders: Folders) -> None:
    """Remove the name that a rename by link and unlink has for a moment, where the file has another too."""
    here = place(intent.path, folders)
    for name in (second_name(run.name, intent.n), second_name(run.name, intent.n, back=True)):
        for spot in (Spot(here.spot.folder, name), *_beside(intent, name, folders)):
            found = look_at(spot)
            if found.look is not None and found.look.is_regular and found.look.nlink > 1:
                unlink_at(*spot)


def _beside(intent: Intent, name: bytes, folders: Folders) -> Iterator[Spot]:
    if intent.target is not None:
        with suppress(OSError):
            yield Spot(folders.handle(os.path.dirname(intent.target)), name)


def _moved(intent: Intent, folders: Folders) -> Outcome:
    """Settle a name that was on its way to a folder or a trash, or back from there."""
    undoing = intent.verb.startswith("undo-")
    here, there = place(intent.path, folders), place(intent.target or b"", folders)
    if here.is_victim(intent):
        is_one = there.look is not None and here.look is not None and there.look.identity == here.look.identity
        if is_one or (not undoing and there.is_claim(intent)):
            unlink_at(*there.spot)  # a rename in two steps was cut off
        forget_info(intent, folders)
        return _outcome(intent, Result.DONE if undoing else Result.PUT_BACK)
    if there.is_victim(intent):
        if undoing:
            if here.is_claim(intent):
                unlink_at(*here.spot)
            return _outcome(intent, Result.PUT_BACK)
        if here.look is None or here.is_claim(intent):
            if here.look is not None:
                unlink_at(*here.spot)
            _rename(there.spot, here.spot)
            forget_info(intent, folders)
            return _outcome(intent, Result.PUT_BACK)
        return _unknown(intent, f"its name is taken, and it lies at {display.shown(intent.target or b'')}")
    return _unknown(intent, "it is neither where it was nor where it was to go")


def _deleted(intent: Intent, folders: Folders) -> Outcome:
    """Settle a name that was being removed, or being made again."""
    here = place(intent.path, folders)
    aside = look_at(Spot(here.spot.folder, intent.temporary or b""))
    if intent.verb == "undo-delete":
        return _made_again(intent, here, aside, folders)
    if aside.is_claim(intent) and here.is_victim(intent):
        unlink_at(*aside.spot)
        return _outcome(intent, Result.PUT_BACK)
    if aside.look is None:
        return _outcome(intent, Result.PUT_BACK if here.is_victim(intent) else Result.DONE)
    if not aside.is_victim(intent):
        return _unknown(
            intent, f"{display.shown(intent.temporary or b'')} beside it is not the file that was set aside"
        )
    return _given_back(intent, here, aside)


def _linked(intent: Intent, folders: Folders) -> Outcome:
    """Settle a name that was being made a link, or a file of its own again."""
    here = place(intent.path, folders)
    aside = look_at(Spot(here.spot.folder, intent.temporary or b""))
    if intent.verb == "undo-hardlink":
        return _made_again(intent, here, aside, folders)
    if aside.look is None:
        return _committed(intent, here)
    if aside.look.inode == intent.inode and aside.is_victim(intent):
        return _given_back(intent, here, aside)
    if here.is_victim(intent) and aside.look.nlink > 1:  # the link was made, and not put in its place
        unlink_at(*aside.spot)
        return _outcome(intent, Result.PUT_BACK)
    return _unknown(intent, f"{display.shown(intent.temporary or b'')} beside it is not what the journal says")


def _committed(intent: Intent, here: Place) -> Outcome:
    """Settle a name that has nothing aside: it was not begun with, or brought to its end."""
    if here.look is not None and here.look.inode == intent.inode and here.is_victim(intent):
        return _outcome(intent, Result.PUT_BACK)
    if here.look is not None and here.has_content(intent):
        return Outcome(n=intent.n, result=Result.DONE, inode=here.look.inode, reason=_KILLED)
    return _unknown(intent, "its name does not have the content any more that the journal says")


def _shared(intent: Intent, _folders: Folders) -> Outcome:
    """Settle sharing of blocks: the kernel did some of it or all, and the content is the same."""
    return _outcome(intent, Result.DONE)


def _given_back(intent: Intent, here: Place, aside: Place) -> Outcome:
    """Give a victim that was set aside its name back."""
    if here.look is None:
        _rename(aside.spot, here.spot)
        return _outcome(intent, Result.PUT_BACK)
    assert aside.look is not None
    if here.look.identity == aside.look.identity:  # both names of one file: a rename in two steps was cut off
        unlink_at(*aside.spot)
        return _outcome(intent, Result.PUT_BACK)
    if here.look.nlink < 2 or not here.has_content(intent):
        return _unknown(intent, f"its name is taken, and it lies beside it as {display.shown(aside.spot.name)}")
    put_over(aside.spot, here)
    return _outcome(intent, Result.PUT_BACK)


def _made_again(intent: Intent, here: Place, aside: Place, folders: Folders) -> Outcome:
    """Settle a file that was being made again from its copy: what has the temporary name is not needed."""
    if aside.look is None:
        made = here.look is not None and (not intent.keeper_inode or here.look.inode != intent.keeper_inode)
        return _outcome(intent, Result.DONE if made else Result.PUT_BACK)
    if here.look is not None and here.has_content(intent):
        unlink_at(*aside.spot)
        return _outcome(intent, Result.PUT_BACK if here.look.inode == intent.keeper_inode else Result.DONE)
    if here.look is None and (place(intent.keeper, folders).has_content(intent) or not aside.has_content(intent)):
        unlink_at(*aside.spot)  # whole or not, the next undo makes it again
        return _outcome(intent, Result.PUT_BACK)
    return _unknown(intent, f"a copy of it lies beside it as {display.shown(aside.spot.name)}")


_KILLED = "settled after its run was killed"
_HOW: dict[str, Callable[[Intent, Folders], Outcome]] = {
    "move": _moved,
    "trash": _moved,
    "delete": _deleted,
    "hardlink": _linked,
    "reflink": _shared,
}


def forget_info(intent: Intent, folders: Folders) -> None:
    """Remove the record of a trash for a file that does not lie there any more."""
    if intent.info is None or intent.target is None:
        return
    with suppress(OSError):
        info = place(intent.info, folders)
        if place(intent.target, folders).look is None and tells_of(info.spot, intent.path):
            unlink_at(*info.spot)


def _rename(source: Spot, target: Spot) -> None:
    rename_no_replace(source.name, target.name, source_dir=source.folder, target_dir=target.folder)


def _outcome(intent: Intent, result: Result) -> Outcome:
    return Outcome(n=intent.n, result=result, reason=_KILLED)


def _unknown(intent: Intent, reason: str) -> Outcome:
    return Outcome(n=intent.n, result=Result.UNKNOWN, reason=f"{_KILLED}: {reason}")
