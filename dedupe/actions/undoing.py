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

from dedupe.actions.action import Spot, rename, second_name, temporary
from dedupe.actions.elsewhere import below, make_folders, on_one_device
from dedupe.actions.holding import Folders, RefusedError
from dedupe.actions.interrupts import Deferred
from dedupe.actions.journal import Journal
from dedupe.actions.places import Place, check_volume, place
from dedupe.actions.records import Intent, Outcome, Result
from dedupe.actions.restoring import CHANGED, UNKNOWN_DIGEST, copy_to, put_over
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
_OTHER_VOLUME = "lies on another volume than the folder of --to: name one of its own volume"


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
    _made: dict[tuple[object, ...], bytes] = field(default_factory=dict)  # files that have a name again
    _n: int = 0
    _parted: int = 0  # files that had further names which nobody knows

    def __post_init__(self) -> None:
        """Find the files that earlier undos of the run gave a name again: further names of theirs are links."""
        for other in self.known.undos(self.run):
            for intent in other.done():
                before = self.run.intents.get(intent.undoes)
                if before and intent.verb.endswith(("delete", "hardlink")) and not other.is_elsewhere:
                    self._made[before.file] = intent.path

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
            outcome = Outcome(n=intent.n, result=Result.DONE, reason="; ".join(left))
            self.tally.done += 1
            self.tally.done_bytes += intent.size
            self.tally.unknown[:] = [each for each in self.tally.unknown if each.path != before.shown]
            made.clear()
            if left:
                reason = f"is back, but could not be given its {', its '.join(left)} again"
                self.tally.failed.append(Refusal(intent.path, reason))
            elif intent.target is None and before.nlink > before.names:
                self._parted += 1
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
        if self.to is None:
            check_volume(before, before.path)
        if before.target is not None:
            check_volume(before, before.target)
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
            raise RefusedError(f"it is not at {display.shown(before.target)} any more")
        if here is not None and here.look is not None:
            raise RefusedError(_TAKEN)
        if not there.is_victim(before) or not there.has_content(before):
            raise RefusedError(f"what lies at {display.shown(before.target)} has changed since")
        if here is not None and self.written is not None:
            self._rename(there.spot, here.spot, intent)
            forget_info(before, self.folders)
        return []

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
        if here is not None and here.look is not None:
            raise RefusedError(_TAKEN)
        source = self._source(before)
        if here is None or self.written is None:
            return self._looked(before, source)
        aside, left = self._made_aside(before, intent, here, source)
        try:
            self._rename(aside, here.spot, intent)
        except OSError:
            unlink_at(*aside)
            raise
        self._made[before.file] = intent.path
        return left

    def unlink(self, before: Intent, intent: Intent) -> list[str]:
        """Give a name that was made a link a file of its own again."""
        here = place(before.path, self.folders)
        if here.look is None:
            raise RefusedError("its name is gone")
        if here.look.inode != self._put(before):
            raise RefusedError("its name means another file by now")
        target = here if self.to is None else self._goal(intent)
        if self.to is not None and target is not None and target.look is not None:
            raise RefusedError(_TAKEN)
        if target is None or self.written is None:
            return self._looked(before, here)
        aside, left = self._made_aside(before, intent, target, here)
        try:
            if self.to is None:
                put_over(aside, here)
            else:
                self._rename(aside, target.spot, intent)
        except (OSError, RefusedError):
            with suppress(OSError):
                unlink_at(*aside)
            raise
        self._made[before.file] = intent.path
        return left

    def _source(self, before: Intent) -> Place:
        """Return where the copy of a file lies that was deleted, or another that stayed with it."""
        found, errors = list[Place](), list[OSError]()
        for path in (before.keeper, *before.others):
            try:
                found.append(place(path, self.folders))
            except OSError as error:
                errors.append(error)
        if not found:
            if isinstance(errors[0], FileNotFoundError):
                raise RefusedError(self._gone(before))
            raise errors[0]
        there = [each for each in found if each.look is not None and each.look.size == before.size]
        if len(there) > 1:
            there = [next((each for each in there if each.has_content(before)), there[0])]
        return there[0] if there else found[0]

    def _gone(self, before: Intent) -> str:
        """Return that a copy is gone, and which run took it."""
        for other in self.known.acted():
            if other.name <= self.run.name:
                break
            taken = self.known.undone(other)
            if any(intent.path == before.keeper and intent.n not in taken for intent in other.done()):
                return f"run {other.name} took its copy {display.shown(before.keeper)}: undo that first"
        return f"its copy {display.shown(before.keeper)} is gone"

    def _looked(self, before: Intent, source: Place) -> list[str]:
        """Make sure that a file could be made again from its copy.

        Raises:
            RefusedError: it could not.
        """
        if source.look is None:
            raise RefusedError(self._gone(before))
        if not source.has_content(before):
            raise RefusedError(f"{CHANGED} ({display.shown(before.keeper)})")
        return []

    def _made_aside(self, before: Intent, intent: Intent, here: Place, source: Place) -> tuple[Spot, list[str]]:
        """Make the file beside its name: a further name of one that is back, or a copy."""
        aside = Spot(here.spot.folder, intent.temporary or b"")
        made = self._made.get(before.file)
        if made is not None and self.to is None:
            with suppress(OSError):  # it went away with its folder: a copy does as well
                first = place(made, self.folders)
                if first.has_content(before):
                    link_at(*first.spot, *aside)
                    return aside, []
        if source.look is None or source.look.size != before.size:
            self._looked(before, source)
        return aside, copy_to(source.spot, aside, before.algorithm, before.digest, before.metadata)


_HOW: dict[str, Callable[[Undoing, Intent, Intent], list[str]]] = {
    "move": Undoing.move_back,
    "trash": Undoing.move_back,
    "delete": Undoing.make_again,
    "hardlink": Undoing.unlink,
}
