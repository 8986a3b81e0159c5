"""Applying marks: the plan, what to tell before, and the run.  Prints and asks nothing."""

from __future__ import annotations

import sys
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dedupe.actions import foresight, plan, runs, settle, summary
from dedupe.actions.action import Action
from dedupe.actions.delete import Delete
from dedupe.actions.engine import Engine, Means, Settings
from dedupe.actions.hardlink import Hardlink
from dedupe.actions.held_back import Kind
from dedupe.actions.holding import Folders
from dedupe.actions.journal import Journal, default_folder
from dedupe.actions.marks import Marks
from dedupe.actions.move_to import MoveTo
from dedupe.actions.plan import Limits, Plan
from dedupe.actions.proof import Hashers
from dedupe.actions.reflink import Reflink
from dedupe.actions.summary import Summary
from dedupe.actions.tally import Tally
from dedupe.actions.trash import ToTrash
from dedupe.actions.trash_xdg import Trashes
from dedupe.digests.base import Backend
from dedupe.digests.choose import choose
from dedupe.errors import BackendError, NothingUsableError, UsageError
from dedupe.progress import Progress, Silent
from dedupe.storage import display
from dedupe.storage.paths import absolute, outside

OFFERED = ("linux",)  # systems that every action was run on; a file is changed nowhere else


class ActionName(StrEnum):
    """What is done with redundant files."""

    TRASH = "trash"
    MOVE_TO = "move-to"
    REFLINK = "reflink"
    HARDLINK = "hardlink"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be done with marks.

    Attributes:
        action: one of the actions.
        target: of `MOVE_TO`, the folder.
        copies: physical files of each group that have to stay.
        also: kinds of places that are not held back.
        verify: read again after the act.
        dry_run: do everything, the proof included, up to the journal.

    Raises:
        UsageError: it makes no sense, or is not offered on this system.
    """

    action: ActionName
    target: bytes | None = None
    copies: int = 1
    also: Collection[Kind] = ()
    verify: bool = False
    dry_run: bool = False

    def __post_init__(self) -> None:
        """Check the values."""
        if self.copies < 1:
            raise UsageError(f"copies must be 1 or more, not {self.copies}: nothing removes the last copy.")
        if (self.action is ActionName.MOVE_TO) != (self.target is not None):
            raise UsageError("--move-to, and it alone, needs a folder.")
        if self.target == b"":
            raise UsageError("--move-to names no folder.")
        if sys.platform not in OFFERED:
            raise UsageError(
                f"--{self.action} is offered on Linux only so far, where it could be tried. Nothing was done: "
                "`dedupe mark` works here, and says which files are redundant."
            )


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan that has been looked at, and what it is for."""

    marks: Marks
    order: Order
    plan: Plan
    folder: str  # where journals lie
    notes: tuple[str, ...] = ()  # what became of runs that were killed


def prepare(marks: Marks, order: Order, folder: str | None = None) -> Prepared:
    """Return the plan for marks, after putting back what killed runs left in the middle; reads no content.

    Args:
        marks: what is to be acted on.
        order: how; in a dry run nothing is put back either.
        folder: where journals lie; None for the user's own place.

    Raises:
        UsageError: the marks are refused as a whole.
        NothingUsableError: the journals cannot be read.
    """
    folder = default_folder() if folder is None else folder
    known = runs.all_runs(folder)
    notes = [f"{display.shown(each.path)}: {each.reason}" for each in known.unreadable]
    if not order.dry_run:
        notes += settle.settle_all(known.runs).notes()
    elif count := settle.unsettled(known.runs):
        notes.append(f"Names that killed runs left in the middle, and that come first: {count:,}.")
    names_go = order.action not in (ActionName.REFLINK, ActionName.HARDLINK)
    limits = Limits(copies=order.copies, target=order.target, also=order.also, names_go=names_go)
    return Prepared(marks, order, plan.make(marks, limits), folder, tuple(notes))


def foresee(prepared: Prepared, progress: Progress | None = None) -> Summary:
    """Return what a plan would come to; what the action's own checks refuse is taken out of it.  Reads no content.

    Args:
        prepared: the plan, which gets smaller.
        progress: is told of groups.

    Raises:
        UsageError: the action cannot be done as it is ordered.
        NothingUsableError: the folder to move to cannot be had.
    """
    with ExitStack() as stack:
        folders = Folders()
        stack.callback(folders.close)
        action = _action(prepared, folders, stack)
        refused = foresight.leave_out(prepared.plan, action, folders, progress or Silent())
    found = summary.of(prepared.plan)
    found.refused = refused
    return found


def carry_out(prepared: Prepared, progress: Progress | None = None) -> Tally:
    """Carry a plan out.

    Args:
        prepared: the plan.
        progress: is told of bytes read.

    Raises:
        UsageError: the action cannot be done as it is ordered.
        NothingUsableError: the journal cannot be written; nothing was done.
    """
    order = prepared.order
    with ExitStack() as stack:
        folders = Folders()
        stack.callback(folders.close)
        action = _action(prepared, folders, stack)
        written = None
        if prepared.plan.groups and not order.dry_run:
            written = stack.enter_context(_journal(prepared))
        hashers = Hashers(_backends(prepared.marks))
        means = Means(folders=folders, journal=written, hashers=hashers, progress=progress or Silent())
        engine = Engine(prepared.plan, action, Settings(copies=order.copies, verify=order.verify), means)
        tally = engine.tally
        tally.notes += prepared.notes
        _run(engine, written)
        if isinstance(action, ToTrash):
            tally.places += action.places()
            tally.notes += action.notes()
        elif order.target is not None and tally.done and not order.dry_run:
            tally.places.append(display.shown(outside(absolute(order.target))))
        return tally


def _run(engine: Engine, written: Journal | None) -> None:
    """Run to the end, or as far as it goes; what was done by then is told either way."""
    tally = engine.tally
    try:
        engine.run()
    except KeyboardInterrupt:
        tally.stopped, tally.interrupted = "interrupted", True
    except NothingUsableError as error:
        if not tally.done:
            raise
        tally.stopped = str(error)
    except OSError as error:  # none is known of; what was done by then has to be told
        tally.stopped = f"{error.strerror} ({display.shown_text(str(error.filename or ''))})"
    if written is not None:
        tally.run = written.run
        try:
            written.end(tally.totals())
        except NothingUsableError as error:
            tally.stopped = tally.stopped or str(error)


def _action(prepared: Prepared, folders: Folders, stack: ExitStack) -> Action:
    name, target = prepared.order.action, prepared.order.target
    if name is ActionName.MOVE_TO:
        return MoveTo(target or b"", prepared.marks.roots, folders)
    if name is ActionName.TRASH:
        return ToTrash(stack.enter_context(Trashes()))
    if name is ActionName.DELETE:
        return Delete()
    return Hardlink() if name is ActionName.HARDLINK else Reflink()


def _journal(prepared: Prepared) -> Journal:
    order = prepared.order
    options: dict[str, Any] = {
        "target": None if order.target is None else display.text(order.target),
        "copies": order.copies,
        "also": sorted(order.also),
        "verify": order.verify,
        "rules": [[rule.name, display.text(rule.value)] for rule in prepared.marks.rules],
    }
    return Journal(prepared.folder, str(order.action), options, marks_sha256=prepared.marks.sha256)


def _backends(marks: Marks) -> dict[str, Backend]:
    """Return who computes the algorithms of the marks, as far as they are known here: for the others bytes decide."""
    found = {"sha256": choose("sha256", measurements=None)[0]}
    for algorithm in {group.algorithm for group in marks.groups} - found.keys():
        try:
            found[algorithm] = choose(algorithm, measurements=None)[0]
        except BackendError:
            continue
    return found
