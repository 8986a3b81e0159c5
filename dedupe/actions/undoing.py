"""Taking back what a run did, newest first, each name only while it is as the run left it.

A name that was moved is renamed back; one that was linked or deleted is made again from its copy, with the metadata
that the journal has.  Nothing that took its place meanwhile is touched.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from dedupe.actions import surviving
from dedupe.actions.action import Spot, rename, second_name, temporary
from dedupe.actions.elsewhere import below, make_folders, on_one_device
from dedupe.actions.holding import Folders, RefusedError
from dedupe.actions.interrupts import Deferred
from dedupe.actions.journal import Journal
from dedupe.actions.made import Made
from dedupe.actions.places import AwayError, Place, check_volume, look_at, place
from dedupe.actions.records import Intent, Outcome, Result
from dedupe.actions.restoring import UNKNOWN_DIGEST, copy_to, put_over
from dedupe.actions.runs import Known, Run
from dedupe.actions.settling import forget_info
from dedupe.actions.tally import Refusal, Tally
from dedupe.actions.words import said
from dedupe.errors import BackendError, NothingUsableError
from dedupe.progress import Progress
from dedupe.storage import display
from dedupe.storage.opening import link_at, open_files, unlink_at
from dedupe.storage.rename import sync_folder

_AT_ONCE = 64  # names of a batch, at most
_TAKEN = "its name is taken by now: --to DIR puts it elsewhere"
_BACK = "is undone already"
_OTHER_VOLUME = "lies on another volume than the folder of --to: name one of its own volume"


class _BackError(Exception):
    """The name is as before already."""


@dataclass(slots=True)
class Undoing:
    """Takes intents of one run back."""

    run: Run
    known: Known
    to: bytes | None
    tally: Tally
    progress: Progress
    written: Journal | None = None  # None to look only
    folders: Folders = field(default_factory=Folders)
    _made: Made = field(init=False)
    _is_unsure: bool = False  # a damaged journal of an undo does not say of all names that they are back
    _n: int = 0
    _parted: int = 0  # files that had further names which nobody knows

    def __post_init__(self) -> None:
        """Find what earlier undos made."""
        self._made = Made(self.run, self.known)
        self._is_unsure = any(undo.broken for undo in self.known.undos(self.run))

    def all(self, intents: Sequence[Intent]) -> None:
        """Take them back in batches, each journalled before it is begun."""
        size = max(1, min(_AT_ONCE, open_files() // 8))  # each may need several folders and files
        try:
            for start in range(0, len(intents), size):
                with Deferred() as asked:
                    self._batch(intents[start : start + size], asked)
                self.progress.reach(min(len(intents), start + size))
        finally:
            self.folders.close()
        if self._parted:
            told = "had further names outside the report, and is a file of its own now"
            if self._parted > 1:
                told = "had further names outside the report, and are files of their own now"
            self.tally.notes.append(f"Of the names that are back {self._parted:,} {told}.")

    def _batch(self, intents: Sequence[Intent], asked: Deferred) -> None:
        tried = [self._intent(intent) for intent in intents]
        if self.written is not None:
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
                    self._tell(Outcome(n=intent.n, result=Result.REFUSED, reason="the run ended before"))
            for folder in self.folders.all():
                with suppress(OSError):
                    sync_folder(folder)
            self.folders.close()

    def _intent(self, intent: Intent) -> Intent:
        self._n += 1
        name = temporary(self._own, self._n)
        if self.to is not None:
            intent = below(self.to, intent)
        return replace(
            intent,
            n=self._n,
            verb=f"undo-{intent.verb}",
            keeper_inode=self._put(intent) if intent.verb == "hardlink" and self.to is None else 0,
            temporary=None if intent.target is not None else name,
            undoes=intent.n,
        )

    def _put(self, intent: Intent) -> int:
        """Return the inode of the link that a name was made."""
        outcome = self.run.outcomes.get(intent.n)
        return (outcome.inode if outcome else 0) or intent.keeper_inode

    @property
    def _own(self) -> str:
        """Return the name of the run that undoes."""
        return "" if self.written is None else self.written.run

    def _tell(self, outcome: Outcome) -> None:
        if self.written is not None:
            self.written.tell(outcome)

    def _one(self, before: Intent, intent: Intent) -> None:
        made: list[bytes] = []
        try:
            self._make_way(before, intent, made)
            left = _HOW[before.verb](self, before, intent)
            inode = self._made.inode(before)
            outcome = Outcome(n=intent.n, result=Result.DONE, reason="; ".join(left), inode=inode)
            self.tally.done += 1
            self.tally.done_bytes += intent.size
            self.tally.unknown[:] = [each for each in self.tally.unknown if each.path != before.shown]
            made.clear()
            if left:
                reason = f"is back, but could not be given its {', its '.join(left)} again"
                self.tally.failed.append(Refusal(intent.path, reason))
            elif intent.target is None and before.nlink > before.names:
                self._parted += 1
        except _BackError:
            outcome = Outcome(n=intent.n, result=Result.DONE, reason=_BACK)
            self.tally.already.append(Refusal(before.shown, _BACK))
        except BackendError:
            outcome = Outcome(n=intent.n, result=Result.REFUSED, reason=UNKNOWN_DIGEST)
            self.tally.refused.append(Refusal(intent.shown, UNKNOWN_DIGEST))
        except RefusedError as error:
            outcome = Outcome(n=intent.n, result=Result.REFUSED, reason=str(error))
            self.tally.refused.append(Refusal(intent.shown, str(error)))
        except OSError as error:
            reason = _OTHER_VOLUME if error.errno == errno.EXDEV and self.to is not None else said(error)
            outcome = Outcome(n=intent.n, result=Result.FAILED, reason=reason, errno=error.errno)
            self.tally.failed.append(Refusal(intent.shown, reason))
        self._tell(outcome)
        for folder in reversed(made):
            with suppress(OSError):
                os.rmdir(folder)

    def _make_way(self, before: Intent, intent: Intent, made: list[bytes]) -> None:
        """Make sure that the volume of a name is there, and that the folder is that it goes to; note what is made."""
        try:
            if self.to is None:
                check_volume(before, before.path)
            if before.target is not None:
                check_volume(before, before.target)
        except AwayError as error:
            told = f"its volume is not there: mount it, then run `dedupe undo {self.run.name}`"
            raise AwayError(error.errno, told) from error
        if self.to is None:
            return
        goal = os.path.dirname(intent.path)
        if before.target is not None and not on_one_device(goal, os.path.dirname(before.target)):
            raise RefusedError(_OTHER_VOLUME)
        if self.written is not None:
            make_folders(goal, made)

    def move_back(self, before: Intent, intent: Intent) -> list[str]:
        """Rename a file back from a folder or a trash."""
        assert before.target is not None
        there, here = place(before.target, self.folders), self._goal(intent)
        if there.look is None:
            self._check_back(before, here)
        if there.look is None:
            raise RefusedError(f"it is not at {display.shown(before.target)} any more")
        if here is not None and here.look is not None:
            raise RefusedError(_TAKEN)
        if not there.is_victim(before) or not there.has_content(before):
            raise RefusedError(f"what lies at {display.shown(before.target)} has changed since")
        if here is not None and self.written is not None:
            self._rename(there.spot, here.spot, intent)
            forget_info(before, self.folders)
        return []

    def _check_back(self, before: Intent, here: Place | None) -> None:
        """Leave a name that is back already: a damaged journal of an undo may have said so.

        Raises:
            _BackError: it is.
        """
        if self._is_unsure and self.to is None and here is not None and here.look is not None:
            others = (before.keeper_inode, self._put(before))
            if here.look.inode not in others and here.is_victim(before):
                raise _BackError

    def _goal(self, intent: Intent) -> Place | None:
        """Return where a file is to be put; None where the folder would have to be made first, in a dry run."""
        if self.written is None and self.to is not None and not os.path.isdir(os.path.dirname(intent.path)):
            return None
        return place(intent.path, self.folders)

    def _rename(self, source: Spot, target: Spot, intent: Intent) -> None:
        rename(source, target, second_name(self._own, intent.n))

    def make_again(self, before: Intent, intent: Intent) -> list[str]:
        """Make a file that was deleted again, from its copy or from another name that is back already."""
        here = self._goal(intent)
        self._check_back(before, here)
        if here is not None and here.look is not None:
            raise RefusedError(_TAKEN)
        source = surviving.source(before, self.run, self.known, self.folders)
        if here is None or self.written is None:
            return surviving.looked(before, source, self.run, self.known)
        aside, left = self._made_aside(before, intent, here, source)
        made = look_at(aside)
        try:
            self._rename(aside, here.spot, intent)
        except OSError:
            unlink_at(*aside)
            raise
        if self.to is None:
            self._made.note(before, intent.path, made)
        return left

    def unlink(self, before: Intent, intent: Intent) -> list[str]:
        """Give a name that was made a link a file of its own again."""
        here = place(before.path, self.folders)
        if here.look is None:
            raise RefusedError("its name is gone")
        if here.look.inode != self._put(before):
            self._check_back(before, here)
            raise RefusedError("its name means another file by now")
        target = here if self.to is None else self._goal(intent)
        if self.to is not None and target is not None and target.look is not None:
            raise RefusedError(_TAKEN)
        if target is None or self.written is None:
            return surviving.looked(before, here, self.run, self.known)
        aside, left = self._made_aside(before, intent, target, here)
        made = look_at(aside)
        try:
            if self.to is None:
                put_over(aside, here, self._own, intent.n)
            else:
                self._rename(aside, target.spot, intent)
        except (OSError, RefusedError):
            with suppress(OSError):
                unlink_at(*aside)
            raise
        if self.to is None:
            self._made.note(before, intent.path, made)
        return left

    def _made_aside(self, before: Intent, intent: Intent, here: Place, source: Place) -> tuple[Spot, list[str]]:
        """Make the file beside its name: a further name of one that is back, or a copy."""
        aside = Spot(here.spot.folder, intent.temporary or b"")
        if self.to is None:
            with suppress(OSError):  # it went away with its folder: a copy does as well
                if first := self._made.first(before, source, self.folders):
                    link_at(*first.spot, *aside)
                    return aside, []
        if source.look is None or source.look.size != before.size:
            surviving.looked(before, source, self.run, self.known)
        return aside, copy_to(source.spot, aside, before.algorithm, before.digest, before.metadata)


_HOW: dict[str, Callable[[Undoing, Intent, Intent], list[str]]] = {
    "move": Undoing.move_back,
    "trash": Undoing.move_back,
    "delete": Undoing.make_again,
    "hardlink": Undoing.unlink,
}
