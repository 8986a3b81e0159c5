"""Settling one name that a run which was killed had begun with.  Looks, puts back, and says how it ended.

Only names that a journal knows are touched.  Where it cannot be told what a name is, it is left as it is.  A kill in
the middle of settling leaves what can be settled again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from dedupe.actions.action import Spot, rename, second_name
from dedupe.actions.holding import Folders, RefusedError
from dedupe.actions.looks import Look
from dedupe.actions.places import GoneError, Place, check_volume, look_at, place
from dedupe.actions.records import Intent, Outcome, Result
from dedupe.actions.restoring import UNKNOWN_DIGEST, put_over, taken_name
from dedupe.actions.trash_slots import tells_of
from dedupe.actions.words import said
from dedupe.errors import BackendError
from dedupe.storage import display
from dedupe.storage.opening import unlink_at
from dedupe.storage.rename import exchange

_KILLED = "settled after its run was killed"
_MOMENT = 10 * 10**9  # ns between the note of a claim and the claim, at most; FAT counts by two seconds


def outcome_of(run: str, intent: Intent, folders: Folders) -> Outcome:
    """Settle one name of a run.

    Raises:
        OSError: its volume is away, or its folder may not be looked at.
    """
    try:
        check_volume(intent, intent.path)
        case = _Case(run, intent, folders)
        case.drop_second_names()
        case.give_back_taken()
        outcome = _HOW[intent.verb.removeprefix("undo-")](case)
        case.drop_notes()
    except BackendError:
        return _unknown(intent, UNKNOWN_DIGEST)
    except (RefusedError, GoneError) as error:
        return _unknown(intent, said(error))
    return outcome


def forget_info(intent: Intent, folders: Folders) -> None:
    """Remove the record of a trash for a file that does not lie there any more."""
    if intent.info is None or intent.target is None:
        return
    with suppress(OSError):
        info = place(intent.info, folders)
        if place(intent.target, folders).look is None and tells_of(info.spot, intent.path):
            unlink_at(*info.spot)


@dataclass(slots=True)
class _Case:
    """One name that was in the middle, and what lies about it."""

    run: str
    intent: Intent
    folders: Folders
    _notes: dict[Spot, Look] = field(default_factory=dict)  # empty files which say that a name was being claimed

    @property
    def is_undo(self) -> bool:
        return self.intent.verb.startswith("undo-")

    def here(self) -> Place:
        """Return what has the name itself."""
        return place(self.intent.path, self.folders)

    def aside(self, here: Place) -> Place:
        """Return what has the temporary name beside it."""
        return look_at(Spot(here.spot.folder, self.intent.temporary or b""))

    def drop_second_names(self) -> None:
        """Remove the name that a rename by link and unlink has for a moment, where the file has another too."""
        beside = [self.here().spot.folder]
        if self.intent.target is not None:
            with suppress(OSError):
                beside.append(self.folders.handle(os.path.dirname(self.intent.target)))
        for folder in beside:
            for back in (False, True):
                found = look_at(Spot(folder, second_name(self.run, self.intent.n, back=back)))
                if found.look is not None and found.look.is_regular and found.look.nlink > 1:
                    unlink_at(*found.spot)
                elif found.look is not None and found.is_empty() and self.intent.size:
                    self._notes[found.spot] = found.look

    def give_back_taken(self) -> None:
        """Give what was taken aside from the name, for a file to be put in its place, its name again.

        Raises:
            RefusedError: the name is taken by now, and it is no copy of what has it.
        """
        if self.intent.temporary is None:
            return
        here = self.here()
        taken = look_at(Spot(here.spot.folder, taken_name(self.run, self.intent.n)))
        if taken.look is None:
            return
        if self.is_claim(here):
            unlink_at(*here.spot)
            here = self.here()
        if here.look is None:
            self.rename(taken.spot, here.spot)
        elif here.look.identity == taken.look.identity or (
            taken.has_content(self.intent) and (taken.look.nlink > 1 or here.has_content(self.intent))
        ):
            unlink_at(*taken.spot)
        else:
            raise RefusedError(f"its name is taken, and what had it lies beside it as {display.shown(taken.spot.name)}")

    def drop_notes(self) -> None:
        """Remove the notes that names were being claimed."""
        while self._notes:
            spot, _ = self._notes.popitem()
            with suppress(FileNotFoundError):
                unlink_at(*spot)

    def is_claim(self, there: Place) -> bool:
        """Return whether an empty file is one that held a name for a rename: one was noted at that moment."""
        if there.look is None or not there.is_empty():
            return False
        return any(abs(there.look.changed_ns - note.changed_ns) < _MOMENT for note in self._notes.values())

    def rename(self, source: Spot, target: Spot) -> None:
        """Give a file its name back."""
        self.drop_notes()
        rename(source, target, second_name(self.run, self.intent.n, back=True))

    def made(self, here: Place, *, is_made: bool) -> Outcome:
        """Return how making a file again ended, and which file that is."""
        inode = here.look.inode if is_made and here.look is not None else 0
        result = Result.DONE if is_made else Result.PUT_BACK
        return Outcome(n=self.intent.n, result=result, reason=_KILLED, inode=inode)

    def ended(self, result: Result) -> Outcome:
        """Return how it ended."""
        return Outcome(n=self.intent.n, result=result, reason=_KILLED)


def _moved(case: _Case) -> Outcome:
    """Settle a name that was on its way to a folder or a trash, or back from there."""
    intent = case.intent
    here, there = case.here(), place(intent.target or b"", case.folders)
    if here.is_victim(intent):
        is_one = there.look is not None and here.look is not None and there.look.identity == here.look.identity
        if is_one or (not case.is_undo and case.is_claim(there)):
            unlink_at(*there.spot)  # a rename in two steps was cut off
        forget_info(intent, case.folders)
        return case.ended(Result.DONE if case.is_undo else Result.PUT_BACK)
    if not there.is_victim(intent):
        return _unknown(intent, "it is neither where it was nor where it was to go")
    if case.is_claim(here):
        unlink_at(*here.spot)
        here = case.here()
    if case.is_undo:
        return case.ended(Result.PUT_BACK)
    if here.look is not None:
        return _unknown(intent, f"its name is taken, and it lies at {display.shown(intent.target or b'')}")
    case.rename(there.spot, here.spot)
    forget_info(intent, case.folders)
    return case.ended(Result.PUT_BACK)


def _deleted(case: _Case) -> Outcome:
    """Settle a name that was being removed, or being made again."""
    intent, here = case.intent, case.here()
    aside = case.aside(here)
    if case.is_undo:
        return _made_again(case, here, aside)
    if intent.size and aside.is_empty() and here.is_victim(intent):
        unlink_at(*aside.spot)  # it held the name for a rename, and is ours by that name
        return case.ended(Result.PUT_BACK)
    if aside.look is None:
        return case.ended(Result.PUT_BACK if here.is_victim(intent) else Result.DONE)
    if not aside.is_victim(intent):
        return _odd(intent, "the file that was set aside")
    return _given_back(case, here, aside)


def _linked(case: _Case) -> Outcome:
    """Settle a name that was being made a link, or a file of its own again."""
    intent, here = case.intent, case.here()
    aside = case.aside(here)
    if case.is_undo:
        return _parted(case, here, aside)
    if aside.look is None:
        return _committed(case, here)
    if aside.look.inode == intent.inode and aside.is_victim(intent):
        return _given_back(case, here, aside)
    if here.is_victim(intent) and (aside.look.nlink > 1 or (intent.size and aside.is_empty())):
        unlink_at(*aside.spot)  # the link was made, and not put in its place; or it held the name for a rename
        return case.ended(Result.PUT_BACK)
    return _odd(intent, "what the journal says")


def _committed(case: _Case, here: Place) -> Outcome:
    """Settle a name that has nothing aside: it was not begun with, or brought to its end."""
    intent = case.intent
    if here.look is not None and here.look.inode == intent.inode and here.is_victim(intent):
        return case.ended(Result.PUT_BACK)
    if here.look is not None and here.has_content(intent):
        return Outcome(n=intent.n, result=Result.DONE, inode=here.look.inode, reason=_KILLED)
    return _unknown(intent, "its name does not have the content any more that the journal says")


def _shared(case: _Case) -> Outcome:
    """Settle sharing of blocks: the kernel did some of it or all, and the content is the same."""
    return case.ended(Result.DONE)


def _given_back(case: _Case, here: Place, aside: Place) -> Outcome:
    """Give a victim that was set aside its name back."""
    if case.is_claim(here):
        unlink_at(*here.spot)
        here = case.here()
    if here.look is None:
        case.rename(aside.spot, here.spot)
        return case.ended(Result.PUT_BACK)
    assert aside.look is not None
    if here.look.identity == aside.look.identity:  # both names of one file: a rename in two steps was cut off
        unlink_at(*aside.spot)
        return case.ended(Result.PUT_BACK)
    if here.look.nlink < 2 or not here.has_content(case.intent):
        return _unknown(case.intent, f"its name is taken, and it lies beside it as {display.shown(aside.spot.name)}")
    case.drop_notes()
    put_over(aside.spot, here, case.run, case.intent.n)
    return case.ended(Result.PUT_BACK)


def _made_again(case: _Case, here: Place, aside: Place) -> Outcome:
    """Settle a file that was being made again under a free name: what has the temporary name is ours."""
    intent = case.intent
    if case.is_claim(here):
        unlink_at(*here.spot)
        here = case.here()
    is_made = here.has_content(intent)
    if aside.look is None:
        return case.made(here, is_made=is_made)
    if not (is_made or _keeper_has_content(case)) and aside.has_content(intent):
        return _unknown(intent, f"a copy of it lies beside it as {display.shown(aside.spot.name)}")
    unlink_at(*aside.spot)  # whole or not, the next undo makes it again
    return case.made(here, is_made=is_made)


def _parted(case: _Case, here: Place, aside: Place) -> Outcome:
    """Settle a link that was being made a file of its own again, by exchanging it with a copy beside it."""
    intent = case.intent
    if not intent.keeper_inode:  # the copy went elsewhere, to a free name
        return _made_again(case, here, aside)
    is_link = here.look is not None and here.look.inode == intent.keeper_inode
    is_made = not is_link and here.has_content(intent)
    if aside.look is not None and not is_link and aside.look.inode != intent.keeper_inode:
        if not is_made and not (aside.has_content(intent) and _keeper_has_content(case)):
            return _odd(intent, "what the journal says")
        if is_made and not aside.has_content(intent):  # it took the name at the last moment: it has it again
            exchange(aside.spot.name, here.spot.name, a_dir=aside.spot.folder, b_dir=here.spot.folder)
            is_made = False
    if aside.look is not None:
        unlink_at(*aside.spot)  # the link, or a copy, whole or not
    return case.made(here, is_made=is_made)


def _keeper_has_content(case: _Case) -> bool:
    """Return whether the copy that stayed is there still, so that another copy can be made of it."""
    with suppress(OSError):
        return place(case.intent.keeper, case.folders).has_content(case.intent)
    return False


def _odd(intent: Intent, wanted: str) -> Outcome:
    return _unknown(intent, f"{display.shown(intent.temporary or b'')} beside it is not {wanted}")


def _unknown(intent: Intent, reason: str) -> Outcome:
    return Outcome(n=intent.n, result=Result.UNKNOWN, reason=f"{_KILLED}: {reason}")


_HOW: dict[str, Callable[[_Case], Outcome]] = {
    "move": _moved,
    "trash": _moved,
    "delete": _deleted,
    "hardlink": _linked,
    "reflink": _shared,
}
