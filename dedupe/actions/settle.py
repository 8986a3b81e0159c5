"""What a killed run left in the middle: found by its journal, put back, and written down.

Only names that a journal knows are touched.  Where it cannot be told what a name is, it is left as it is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from dedupe.actions import journal
from dedupe.actions.action import Spot
from dedupe.actions.holding import Folders, RefusedError
from dedupe.actions.places import Place, look_at, place
from dedupe.actions.records import Intent, Outcome, Result
from dedupe.actions.runs import Run
from dedupe.actions.tally import Refusal
from dedupe.storage import display
from dedupe.storage.opening import unlink_at
from dedupe.storage.rename import NOT_OFFERED, exchange, rename_no_replace, sync_folder

if sys.platform == "win32":
    from dedupe.storage import windows_acts


def settle_all(runs: Sequence[Run]) -> list[Refusal]:
    """Put back what killed runs left in the middle; return what could not be settled.

    The runs are brought up to date.
    """
    left = []
    for run in runs:
        if run.open_intents and not journal.is_alive(run.path):
            left += settle(run)
    return left


def settle(run: Run) -> list[Refusal]:
    """Put back what one killed run left in the middle, newest first; return what could not be settled."""
    left, outcomes = [], []
    folders = Folders()
    try:
        for intent in reversed(run.open_intents):
            try:
                outcome = _HOW[intent.verb.removeprefix("undo-")](intent, folders)
            except RefusedError as error:
                outcome = _unknown(intent, str(error))
            except OSError as error:  # its volume may be away: a later run looks again
                left.append(Refusal(intent.shown, f"was being acted on when a run was killed: {error.strerror}"))
                continue
            outcomes.append(outcome)
            if outcome.result is Result.UNKNOWN:
                left.append(Refusal(intent.shown, outcome.reason))
        for folder in folders.all():
            with suppress(OSError):
                sync_folder(folder)
    finally:
        folders.close()
    try:
        journal.append(run.path, outcomes)
    except OSError as error:
        left.append(Refusal(run.path.encode(), f"cannot be written: {error.strerror}"))
    run.outcomes |= {outcome.n: outcome for outcome in outcomes}
    return left


def _moved(intent: Intent, folders: Folders) -> Outcome:
    """Settle a name that was on its way to a folder or a trash, or back from there."""
    undoing = intent.verb.startswith("undo-")
    here, there = place(intent.path, folders), place(intent.target or b"", folders)
    if here.is_victim(intent) and there.look is None:
        forget_info(intent, folders)
        return _outcome(intent, Result.DONE if undoing else Result.PUT_BACK)
    if here.is_victim(intent) and there.is_victim(intent) and there.look == here.look:
        unlink_at(*there.spot)  # both names of one file: a rename in two steps was cut off
        return _outcome(intent, Result.DONE if undoing else Result.PUT_BACK)
    if there.is_victim(intent):
        if undoing:
            return _outcome(intent, Result.PUT_BACK)
        if here.look is None:
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


def put_over(source: Spot, target: Place) -> None:
    """Give a file the name of another that has the same content, and that one's name up.

    Both are exchanged, so that what had the name can be looked at before it goes; where the file system exchanges
    nothing, one step replaces it.

    Raises:
        RefusedError: something else took the name meanwhile; it has it still.
        OSError: it was not done.
    """
    name, folder = target.spot.name, target.spot.folder
    try:
        exchange(source.name, name, a_dir=source.folder, b_dir=folder)
    except OSError as error:
        if error.errno not in NOT_OFFERED:
            raise
        if sys.platform == "win32":
            os.replace(windows_acts.at(*source), windows_acts.at(*target.spot))
        else:
            os.replace(source.name, name, src_dir_fd=source.folder, dst_dir_fd=folder)
        return
    there = look_at(source)
    if there.look is None or target.look is None or there.look.identity != target.look.identity:
        exchange(source.name, name, a_dir=source.folder, b_dir=folder)
        raise RefusedError("something else took its name meanwhile")
    unlink_at(*source)


def forget_info(intent: Intent, folders: Folders) -> None:
    """Remove the record of a trash for a file that does not lie there any more."""
    if intent.info is not None:
        with suppress(OSError):
            unlink_at(*place(intent.info, folders).spot)


def _rename(source: Spot, target: Spot) -> None:
    rename_no_replace(source.name, target.name, source_dir=source.folder, target_dir=target.folder)


def _outcome(intent: Intent, result: Result) -> Outcome:
    return Outcome(n=intent.n, result=result, reason=_KILLED)


def _unknown(intent: Intent, reason: str) -> Outcome:
    return Outcome(n=intent.n, result=Result.UNKNOWN, reason=f"{_KILLED}: {reason}")
