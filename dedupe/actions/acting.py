"""The steps after the proof, for each name: intent, aside, look, commit or back, outcome.

Whatever happens in between, the content of a victim is under its own name, under the one that the journal says, or
under a keeper's that was looked at after the victim had been set aside.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from dedupe.actions import afterwards, looks
from dedupe.actions.action import Action, Item, NewKeeperError, PlaceTakenError
from dedupe.actions.delete import make_again
from dedupe.actions.holding import Folders, Held, RefusedError
from dedupe.actions.intents import Intents
from dedupe.actions.interrupts import Deferred
from dedupe.actions.journal import Journal
from dedupe.actions.keepers import GONE, Keepers
from dedupe.actions.looks import Look
from dedupe.actions.records import Intent, Outcome, Result
from dedupe.actions.reflink import AlreadySharedError
from dedupe.actions.tally import Refusal, Tally
from dedupe.actions.words import said, why
from dedupe.errors import NothingUsableError
from dedupe.storage import display
from dedupe.storage.rename import sync_folder

LOOKED = "the copy that stays was not there any more when this one was set aside: it was put back"
DISTURBED = "changed, or was opened for writing, after it was compared"
MOVED = "changed, or was opened for writing, while it was set aside: it was put back"
NEW_KEEPER = "its copy has as many names as its volume allows: this one takes the names of the next ones"


@dataclass(slots=True, eq=False)
class Proven:
    """A group, or part of one, whose bytes were compared a moment ago."""

    held: list[Held]  # all keepers that are open
    keepers: list[Held]  # those that are proven; the first serves the victims
    victims: list[Held]
    algorithm: str
    digest: bytes

    def close(self) -> None:
        """Close all of its files."""
        for each in (*self.held, *self.victims):
            each.close()


@dataclass(slots=True)
class _Progress:
    """How far the names of one victim are."""

    done: int = 0
    failed: bool = False
    seen: Look | None = None  # as our act on its last name left it
    begun: bool = False  # a name was, or may have been, set aside


@dataclass(slots=True, eq=False)
class Acting:
    """Acts on batches of what is proven."""

    action: Action
    tally: Tally
    folders: Folders
    journal: Journal | None
    copies: int
    verify: bool
    _n: int = 0
    _keepers: Keepers = field(init=False)
    _names: dict[Held, _Progress] = field(default_factory=dict)
    _intents: Intents = field(default_factory=Intents)

    def __post_init__(self) -> None:
        """Begin to look after what stays."""
        self._keepers = Keepers(self.action, self.copies)

    def act(self, batch: Sequence[Proven]) -> None:
        """Act on a batch, or, in a dry run, tell what would be done.

        Raises:
            NothingUsableError: the journal cannot be written any more.
            KeyboardInterrupt: the user asked for the end meanwhile; what was begun is finished.
        """
        self._names = {victim: _Progress() for proven in batch for victim in proven.victims}
        if self.journal is not None:
            self._keepers.begin(keeper for proven in batch for keeper in proven.keepers)
        with Deferred() as asked:
            items = [(proven, item) for proven in batch for item in self._items(proven)]
            if self.journal is None:
                for _, item in items:
                    self._count(item)
                return
            begun = 0
            try:
                intents = [(proven, item, self._prepared(proven, item)) for proven, item in items]
                items = [(proven, item) for proven, item, intent in intents if intent]
                self.journal.intend(intent for _, _, intent in intents if intent)
                for proven, item in items:
                    if asked.asked:
                        break
                    begun += 1
                    self._one(proven, item, self.journal)
            finally:
                self._give_up([item for _, item in items[begun:]])
                self._sync()

    def _items(self, proven: Proven) -> list[Item]:
        """Return the names of a proven group that suit the action, numbered."""
        found = []
        for victim in proven.victims:
            for name in victim.copy.names:
                self._n += 1
                item = Item(self._n, self.journal.run if self.journal else "dry", victim, name, proven.keepers[0])
                try:
                    if name != victim.name and looks.within(*item.here).identity != victim.identity:
                        raise RefusedError("is another file by now")
                    self.action.check(item)
                    found.append(item)
                except AlreadySharedError as error:
                    self.tally.already.append(Refusal(name.path, str(error)))
                except (RefusedError, OSError) as error:
                    self._refuse(item, error)
        return found

    def _prepared(self, proven: Proven, item: Item) -> Intent | None:
        """Return what is to be journalled of a name, None where it is refused."""
        try:
            self.action.prepare(item)
            return self._intent(proven, item)
        except (RefusedError, OSError) as error:
            self._refuse(item, error)
            with suppress(OSError):
                self.action.abandon(item)
            return None

    def _refuse(self, item: Item, error: Exception) -> None:
        """Count a name that nothing is begun with; the other names of its file stay too."""
        self._names[item.victim].failed = True
        self.tally.refused.append(Refusal(item.name.path, said(error)))

    def _intent(self, proven: Proven, item: Item) -> Intent:
        return self._intents.of(self.action, item, proven.algorithm, proven.digest)

    def _one(self, proven: Proven, item: Item, journal: Journal) -> None:
        """Act on one name, and write down how it ended."""
        progress = self._names[item.victim]
        if progress.failed:
            outcome = Outcome(
                n=item.n, result=Result.REFUSED, reason="another name of the same file could not be acted on"
            )
        else:
            outcome = self._tried(proven, item, journal)
        if outcome.result is Result.DONE:
            self._count(item)
            self.tally.freed += outcome.freed
            if outcome.reason:
                self.tally.failed.append(Refusal(item.name.path, outcome.reason))
        else:
            progress.failed = True
            with suppress(OSError):
                if outcome.result is not Result.UNKNOWN:
                    self.action.abandon(item)
            lists = {Result.REFUSED: self.tally.refused, Result.FAILED: self.tally.failed}
            found = lists.get(outcome.result, self.tally.unknown)
            if outcome.reason == NEW_KEEPER:  # a copy that stays, as it was meant to be
                found = self.tally.already
            found.append(Refusal(item.name.path, outcome.reason))
        journal.tell(outcome)

    def _tried(self, proven: Proven, item: Item, journal: Journal) -> Outcome:
        """Set aside, look, and commit or put back."""
        progress = self._names[item.victim]
        progress.begun = False
        try:
            own = afterwards.own_bytes(item, self._intents.file_system(item.victim))
            item.keeper = proven.keepers[0]
            self._keepers.settle(proven.keepers)
            if not item.victim.is_undisturbed(progress.seen):
                raise RefusedError(DISTURBED)
            if not self._keepers.stand(proven.keepers):
                raise RefusedError(GONE)
            progress.begun = True
            self._aside(proven, item, journal)
            moved = item.victim.look()
            self._note(proven, item.keeper)
            if not self._keepers.stand(proven.keepers):
                raise RefusedError(LOOKED)
            if not (item.victim.is_undisturbed(moved) and item.victim.is_at(*self.action.whereabouts(item))):
                raise RefusedError(MOVED)
            self.action.commit(item)
        except NewKeeperError:
            copy = item.victim.copy
            proven.keepers[0] = replace(item.victim, copy=copy._replace(names=(item.name,)))
            outcome = self._taken_back(proven, item, Result.REFUSED, NEW_KEEPER, None)
            self._note(proven, item.victim)
            return outcome
        except RefusedError as error:
            return self._taken_back(proven, item, Result.REFUSED, str(error), None)
        except OSError as error:
            return self._taken_back(proven, item, Result.FAILED, why(error, item.victim.descriptor), error.errno)
        if self.action.names_go and self.action.has_aside and not self._keepers.stand(proven.keepers):
            return self._made_again(proven, item)
        progress.seen = afterwards.left(item)
        inode = 0 if self.action.names_go else item.keeper.seen.inode
        reason = afterwards.complaint(self.action, item, proven.algorithm, proven.digest) if self.verify else ""
        freed, is_least = afterwards.freed(self.action, item, own)
        self.tally.freed_more |= is_least
        return Outcome(n=item.n, result=Result.DONE, freed=freed, inode=inode, reason=reason)

    def _aside(self, proven: Proven, item: Item, journal: Journal) -> None:
        """Set a name aside; where somebody took its place meanwhile, another is chosen and journalled first."""
        while True:
            try:
                self.action.aside(item)
            except PlaceTakenError:
                self.action.prepare(item)
                journal.intend([self._intent(proven, item)])
            else:
                return

    def _note(self, proven: Proven, held: Held) -> None:
        """Take over what our own links did to a file."""
        if self.action.links:
            self._keepers.note(held, proven.algorithm, proven.digest)

    def _made_again(self, proven: Proven, item: Item) -> Outcome:
        """Return the outcome of a name whose keeper went away between the last look and the removal."""
        reason = "the copy that stays went away at the very moment when this one was removed"
        try:
            left = make_again(item, proven.algorithm, proven.digest)
        except (RefusedError, OSError) as error:
            reason = f"{reason}, and it could not be made again: {said(error)}"
            return Outcome(n=item.n, result=Result.UNKNOWN, reason=reason)
        lost = f", without its {', its '.join(left)}" if left else ""
        return Outcome(n=item.n, result=Result.REFUSED, reason=f"{reason}: it was made again{lost}")

    def _taken_back(self, proven: Proven, item: Item, result: Result, reason: str, code: int | None) -> Outcome:
        """Return the outcome of a name that was not acted on, after looking at both places that it can be at."""
        problem = ""
        try:
            if not item.victim.is_at(*item.here) or self._is_aside(item):
                self.action.back(item)
        except OSError as error:
            problem = said(error)
        if self._names[item.victim].begun:
            self._note(proven, item.keeper)
        if item.victim.is_at(*item.here):
            if self._is_aside(item):  # a later run looks whether it can be removed by then
                reason = f"{reason}; {display.shown(item.aside.name)} stays beside it ({problem}): remove that name"
                result = Result.UNKNOWN
            return Outcome(n=item.n, result=result, reason=reason, errno=code)
        place = self.action.whereabouts(item)
        if not item.victim.is_at(*place):
            lost = "another program moved, removed or changed it meanwhile"
            return Outcome(n=item.n, result=result, reason=f"{reason}; {lost}", errno=code)
        where = item.target or os.path.join(item.name.folder, place.name)
        reason = f"{reason}; it could not be put back ({problem}) and lies at {display.shown(where)}"
        return Outcome(n=item.n, result=Result.UNKNOWN, reason=reason, errno=code)

    def _is_aside(self, item: Item) -> bool:
        """Return whether something has the name that is ours for the time of the act."""
        return self.action.has_aside and looks.is_there(*item.aside)

    def _count(self, item: Item) -> None:
        progress = self._names[item.victim]
        progress.done += 1
        self.tally.done += 1
        if progress.done == len(item.victim.copy.names):
            self.tally.done_bytes += item.victim.seen.size

    def _give_up(self, items: Sequence[Item]) -> None:
        """Write down that some names were not begun with, as the run ends early."""
        for item in items:
            with suppress(OSError):
                self.action.abandon(item)
            with suppress(NothingUsableError):
                if self.journal is not None:
                    self.journal.tell(Outcome(n=item.n, result=Result.REFUSED, reason="the run ended before"))

    def _sync(self) -> None:
        """Have all that was done on the disk, then that it was done."""
        for folder in self.folders.all():
            with suppress(OSError):
                sync_folder(folder)
        with suppress(OSError):
            self.action.sync()
            if self.journal is not None:
                self.journal.sync()
