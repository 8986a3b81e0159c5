"""Undo: what a run did is taken back, newest first, each name only while it is as the run left it.

A name that was moved is renamed back; one that was linked or deleted is made again from its copy, with the metadata
that the journal has.  Nothing that took its place meanwhile is touched.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from dedupe.actions import journal, runs, settle
from dedupe.actions.action import Spot, temporary
from dedupe.actions.holding import Folders, RefusedError
from dedupe.actions.interrupts import Deferred
from dedupe.actions.journal import Journal
from dedupe.actions.places import Place, place
from dedupe.actions.records import Intent, Outcome, Result
from dedupe.actions.restoring import CHANGED, copy_to
from dedupe.actions.runs import Run
from dedupe.actions.tally import Refusal, Tally
from dedupe.errors import NothingUsableError, UsageError
from dedupe.progress import Progress
from dedupe.storage import display
from dedupe.storage.opening import link_at, unlink_at
from dedupe.storage.paths import absolute
from dedupe.storage.rename import rename_no_replace, sync_folder

_AT_ONCE = 64  # names of a batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be undone.

    Attributes:
        run: its name; empty for the last one that did something that is not undone yet.
        files: only these names, as the marks had them or through real folders; none for all.
        to: a folder to put the files into, below their whole paths, in place of where they were.
        dry_run: tell only what would be done.
    """

    run: str = ""
    files: Sequence[bytes] = ()
    to: bytes | None = None
    dry_run: bool = False


def undo(wish: Wish, folder: str, progress: Progress) -> Tally:
    """Take back what a run did; first settle what killed runs left.

    Raises:
        UsageError: there is no such run, or it never touched a file that is named.
        NothingUsableError: the journal cannot be written.
    """
    known = runs.all_runs(folder)
    tally = Tally()
    if not wish.dry_run:
        tally.unknown += settle.settle_all(known)
    run = _chosen(known, wish.run)
    if run is None:
        tally.notes.append("There is nothing to undo: no run did anything that has not been undone.")
        return tally
    intents = _wanted(run, known, wish, tally)
    if run.action == "reflink":
        tally.notes.append("Sharing blocks needs no undoing: names, contents and metadata are what they were.")
        intents = []
    if not intents:
        return tally
    progress.begin("undo", len(intents))
    try:
        if wish.dry_run:
            tally.done = len(intents)
            return tally
        options = {"files": len(wish.files), "to": None if wish.to is None else display.text(wish.to)}
        with Journal(folder, runs.UNDO, options, undoes=run.name) as written:
            tally.run = written.run
            _Undoing(run, written, wish, tally, progress).all(intents)
            written.end(tally.totals())
    finally:
        progress.end()
    return tally


def _chosen(known: list[Run], name: str) -> Run | None:
    """Return the run that is meant.

    Raises:
        UsageError: there is none of that name, or it is an undo itself.
    """
    if not name:
        acted = [run for run in known if not run.undoes and run.action != runs.UNDO]
        left = [run for run in acted if len(runs.undone(known, run)) < len(run.done()) and run.action != "reflink"]
        return left[-1] if left else (acted[-1] if acted else None)
    for run in known:
        if run.name == name:
            if run.undoes:
                raise UsageError(f"{name} is an undo itself: run `dedupe apply` again with the marks of {run.undoes}.")
            if journal.is_alive(run.path):
                raise UsageError(f"{name} is still at work: wait for its end, or interrupt it.")
            return run
    raise UsageError(f"There is no run {name}: `dedupe journal` lists them.")


def _wanted(run: Run, known: list[Run], wish: Wish, tally: Tally) -> list[Intent]:
    """Return what is to be undone, newest first; what is undone already is told.

    Raises:
        UsageError: a file that is named was not touched by the run.
    """
    done = run.done()
    if wish.files:
        names = {name for intent in done for name in (intent.shown, intent.path)}
        for file in wish.files:
            if file not in names:
                raise UsageError(f"Run {run.name} did nothing about {display.shown(file)}.")
        done = [intent for intent in done if intent.shown in wish.files or intent.path in wish.files]
    before = runs.undone(known, run)
    tally.already += [Refusal(intent.shown, "is undone already") for intent in done if intent.n in before]
    return [intent for intent in reversed(done) if intent.n not in before]


@dataclass(slots=True)
class _Undoing:
    """Takes intents of one run back."""

    run: Run
    written: Journal
    wish: Wish
    tally: Tally
    progress: Progress
    folders: Folders = field(default_factory=Folders)
    _made: dict[tuple[int, int], bytes] = field(default_factory=dict)  # files that have a name again
    _n: int = 0

    def all(self, intents: Sequence[Intent]) -> None:
        """Take them back in batches, each journalled before it is begun."""
        try:
            for start in range(0, len(intents), _AT_ONCE):
                with Deferred() as asked:
                    self._batch(intents[start : start + _AT_ONCE], asked)
                self.progress.reach(min(len(intents), start + _AT_ONCE))
        finally:
            self.folders.close()

    def _batch(self, intents: Sequence[Intent], asked: Deferred) -> None:
        tried = [self._intent(intent) for intent in intents]
        self.written.intend(tried)
        begun = 0
        try:
            for before, intent in zip(intents, tried, strict=True):
                if asked.asked:
                    break
                begun += 1
                self._one(before, intent)
        finally:
            for intent in tried[begun:]:
                with suppress(NothingUsableError):
                    self.written.tell(Outcome(n=intent.n, result=Result.REFUSED, reason="the run ended before"))
            for folder in self.folders.all():
                with suppress(OSError):
                    sync_folder(folder)
            self.folders.close()

    def _intent(self, intent: Intent) -> Intent:
        self._n += 1
        path = intent.path if self.wish.to is None else _below(self.wish.to, intent.path)
        outcome = self.run.outcomes[intent.n]
        put = outcome.inode or intent.keeper_inode if intent.verb == "hardlink" else 0
        name = temporary(self.written.run, self._n)
        return replace(
            intent,
            n=self._n,
            verb=f"undo-{intent.verb}",
            path=path,
            keeper_inode=put,
            temporary=None if intent.target is not None else name,
            undoes=intent.n,
        )

    def _one(self, before: Intent, intent: Intent) -> None:
        try:
            if self.wish.to is not None:
                os.makedirs(os.path.dirname(intent.path), exist_ok=True)
            left = _HOW[before.verb](self, before, intent)
            outcome = Outcome(n=intent.n, result=Result.DONE, reason="; ".join(left))
            self.tally.done += 1
            self.tally.done_bytes += intent.size
            if left:
                shown = display.shown(intent.path)
                self.tally.notes.append(f"{shown} is back, but could not be given its {', its '.join(left)} again.")
        except RefusedError as error:
            outcome = Outcome(n=intent.n, result=Result.REFUSED, reason=str(error))
            self.tally.refused.append(Refusal(intent.shown, str(error)))
        except OSError as error:
            outcome = Outcome(n=intent.n, result=Result.FAILED, reason=str(error.strerror), errno=error.errno)
            self.tally.failed.append(Refusal(intent.shown, error.strerror or str(error)))
        self.written.tell(outcome)

    def move_back(self, before: Intent, intent: Intent) -> list[str]:
        """Rename a file back from a folder or a trash."""
        assert before.target is not None
        there, here = place(before.target, self.folders), place(intent.path, self.folders)
        if there.look is None:
            raise RefusedError(f"it is not at {display.shown(before.target)} any more")
        if here.look is not None:
            raise RefusedError("its name is taken by now")
        if not there.is_victim(before) or not there.has_content(before):
            raise RefusedError(f"what lies at {display.shown(before.target)} has changed since")
        _rename(there.spot, here.spot)
        settle.forget_info(before, self.folders)
        return []

    def make_again(self, before: Intent, intent: Intent) -> list[str]:
        """Make a file that was deleted again, from its copy or from another name that is back already."""
        here = place(intent.path, self.folders)
        if here.look is not None:
            raise RefusedError("its name is taken by now")
        aside, left = self._made_aside(before, intent, here, place(before.keeper, self.folders))
        try:
            _rename(aside, here.spot)
        except OSError:
            unlink_at(*aside)
            raise
        self._made[before.device, before.inode] = intent.path
        return left

    def unlink(self, before: Intent, intent: Intent) -> list[str]:
        """Give a name that was made a link a file of its own again."""
        here = place(before.path, self.folders)
        put = self.run.outcomes[before.n].inode or before.keeper_inode
        if here.look is None:
            raise RefusedError("its name is gone")
        if here.look.inode != put:
            raise RefusedError("its name means another file by now")
        target = here if self.wish.to is None else place(intent.path, self.folders)
        if self.wish.to is not None and target.look is not None:
            raise RefusedError("its name is taken by now")
        aside, left = self._made_aside(before, intent, target, here)
        try:
            if self.wish.to is None:
                settle.put_over(aside, here)
            else:
                _rename(aside, target.spot)
        except (OSError, RefusedError):
            with suppress(OSError):
                unlink_at(*aside)
            raise
        self._made[before.device, before.inode] = intent.path
        return left

    def _made_aside(self, before: Intent, intent: Intent, here: Place, source: Place) -> tuple[Spot, list[str]]:
        """Make the file beside its name: a further name of one that is back, or a copy."""
        aside = Spot(here.spot.folder, intent.temporary or b"")
        made = self._made.get((before.device, before.inode))
        if made is not None:
            first = place(made, self.folders)
            if first.look is not None and first.look.size == before.size:
                link_at(*first.spot, *aside)
                return aside, []
        if source.look is None:
            raise RefusedError(f"its copy {display.shown(before.keeper)} is gone")
        if source.look.size != before.size:
            raise RefusedError(CHANGED)
        return aside, copy_to(source.spot, aside, before.algorithm, before.digest, before.metadata)


_HOW: dict[str, Callable[[_Undoing, Intent, Intent], list[str]]] = {
    "move": _Undoing.move_back,
    "trash": _Undoing.move_back,
    "delete": _Undoing.make_again,
    "hardlink": _Undoing.unlink,
}


def _rename(source: Spot, target: Spot) -> None:
    rename_no_replace(source.name, target.name, source_dir=source.folder, target_dir=target.folder)


def _below(folder: bytes, path: bytes) -> bytes:
    """Return where a file goes below another folder: its whole path is kept."""
    drive, rest = os.path.splitdrive(path)
    parts = [drive.replace(b":", b"").strip(b"\\?/").replace(b"\\", b"_"), rest.lstrip(b"/\\")]
    return os.path.join(os.path.realpath(absolute(folder)), *(part for part in parts if part))
