"""Names that are not acted on after all: put back, and what is to be written down of them.

Touches only what the action itself set aside, and a name whose file was removed a moment ago.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from dedupe.actions import looks
from dedupe.actions.action import Action, Item, second_name
from dedupe.actions.delete import make_again
from dedupe.actions.holding import Held, RefusedError
from dedupe.actions.keepers import Keepers
from dedupe.actions.records import Outcome, Result
from dedupe.actions.words import said
from dedupe.storage import display


class Failure(NamedTuple):
    """Why a name is not acted on."""

    result: Result
    reason: str
    code: int | None = None  # errno


def put_back(action: Action, keepers: Keepers, stays: Sequence[Held], item: Item, failure: Failure) -> Outcome:
    """Return the outcome of a name that was not acted on, after looking at both places that it can be at.

    Args:
        action: by which it would have been.
        keepers: looks after what stays.
        stays: the keepers of its group.
        item: the name.
        failure: why.
    """
    result, reason, code = failure
    problem = ""
    if item.is_begun:
        problem = _taken_back(action, keepers, stays, item)
    left = ", ".join(display.shown(path) for path in _left(action, item)) if item.is_begun else ""
    if left:  # a later run looks whether they can be removed by then
        result = Result.UNKNOWN
        left = f"; {left} stayed{f' ({problem})' if problem else ''}: the next run, or undo, removes it if it can"
    if item.victim.is_at(*item.here):
        return Outcome(n=item.n, result=result, reason=f"{reason}{left}", errno=code)
    if not item.is_begun or not item.victim.is_at(*(place := action.whereabouts(item))):
        lost = "another program moved, removed or changed it meanwhile"
        return Outcome(n=item.n, result=result, reason=f"{reason}; {lost}{left}", errno=code)
    where = item.target or os.path.join(item.name.folder, place.name)
    reason = f"{reason}; it could not be put back ({problem}) and lies at {display.shown(where)}"
    return Outcome(n=item.n, result=Result.UNKNOWN, reason=reason, errno=code)


def made_again(item: Item, algorithm: str, digest: bytes) -> Outcome:
    """Return the outcome of a name whose keeper went away between the last look and the removal."""
    reason = "the copy that stays went away at the very moment when this one was removed"
    try:
        left = make_again(item, algorithm, digest)
    except (RefusedError, OSError) as error:
        reason = f"{reason}, and it could not be made again: {said(error)}"
        return Outcome(n=item.n, result=Result.UNKNOWN, reason=reason)
    lost = f", without its {', its '.join(left)}" if left else ""
    return Outcome(n=item.n, result=Result.REFUSED, reason=f"{reason}: it was made again{lost}")


def _taken_back(action: Action, keepers: Keepers, stays: Sequence[Held], item: Item) -> str:
    """Take back what was done with a name; return why that was not possible, empty if it was."""
    keepers.stand(stays)  # so that no other change of one is taken for that of our next call
    try:
        if not item.victim.is_at(*item.here) or _is_aside(action, item):
            action.back(item)
    except OSError as error:
        return said(error)
    finally:
        keepers.note(item.keeper)
    return ""


def _is_aside(action: Action, item: Item) -> bool:
    """Return whether something has the name that is ours for the time of the act."""
    return action.has_aside and looks.is_there(*item.aside)


def _left(action: Action, item: Item) -> list[bytes]:
    """Return the paths of names that are ours for the time of the act, and are there after it.

    Where a rename is made of links, a name that could not be removed is a further name of the file.
    """
    folders = {item.name.folder: item.here.folder}
    if item.target is not None:
        folders[os.path.dirname(item.target)] = action.whereabouts(item).folder
    names = [second_name(item.run, item.n, back=back) for back in (False, True)]
    if action.has_aside and item.victim.is_at(*item.here):
        names.insert(0, item.aside.name)
    spots = [(path, folder, name) for path, folder in folders.items() for name in names]
    return [os.path.join(path, name) for path, folder, name in spots if looks.is_there(folder, name)]
