"""The copy from which a file that was given up can be made again: where it lies, or what became of it."""

from __future__ import annotations

from dedupe.actions.holding import Folders, RefusedError
from dedupe.actions.places import Place, place
from dedupe.actions.records import Intent
from dedupe.actions.restoring import CHANGED
from dedupe.actions.runs import Known, Run
from dedupe.storage import display


def source(before: Intent, run: Run, known: Known, folders: Folders) -> Place:
    """Return where the copy of a file lies that was deleted, or another that stayed with it.

    Raises:
        RefusedError: none is there.
        OSError: it cannot be looked at.
    """
    found, errors = list[Place](), list[OSError]()
    for path in (before.keeper, *before.others):
        try:
            found.append(place(path, folders))
        except OSError as error:
            errors.append(error)
    if not found:
        if isinstance(errors[0], FileNotFoundError):
            raise RefusedError(_gone(before, run, known))
        raise errors[0]
    there = [each for each in found if each.look is not None and each.look.size == before.size]
    if len(there) > 1:
        there = [next((each for each in there if each.has_content(before)), there[0])]
    return there[0] if there else found[0]


def looked(before: Intent, copy: Place, run: Run, known: Known) -> list[str]:
    """Make sure that a file could be made again from its copy; return that all of it could.

    Raises:
        RefusedError: it could not.
    """
    if copy.look is None:
        raise RefusedError(_gone(before, run, known))
    if not copy.has_content(before):
        raise RefusedError(f"{CHANGED} ({display.shown(before.keeper)})")
    return []


def _gone(before: Intent, run: Run, known: Known) -> str:
    """Return that a copy is gone, and which run took it."""
    for other in known.acted():
        if other.name <= run.name:
            break
        taken = known.undone(other)
        if any(intent.path == before.keeper and intent.n not in taken for intent in other.done()):
            return f"run {other.name} took its copy {display.shown(before.keeper)}: undo that first"
    return f"its copy {display.shown(before.keeper)} is gone"
