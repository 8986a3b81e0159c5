"""The steps after the proof, for each name: intent, aside, look, commit or back, outcome.

Whatever happens in between, the content of a victim is under its own name, under the one that the journal says, or
under a keeper's that was looked at after the victim had been set aside.  Names that become links are all set aside
before the first of them is given up, so that a keeper that must be read again is read once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from dedupe.actions import afterwards, looks
from dedupe.actions.action import Action, Item, NewKeeperError, PlaceTakenError
from dedupe.actions.back import Failure, made_again, put_back
from dedupe.actions.copies import Copy
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
from dedupe.storage.rename import sync_folder

LOOKED = "the copy that stays was not there any more when this one was set aside: it was put back"
DISTURBED = "changed, or was opened for writing, after it was compared"
MOVED = "changed, or was opened for writing, while it was set aside: it was put back"
NOT_ALONE = "another name of the same file could not be acted on"
NEW_KEEPER = "its copy has as many names as its volume allows: this one takes the names of the next ones"


@dataclass(slots=True, eq=False)
class Proven:
    """A group, or part of one, whose bytes were compared a moment ago."""

    held: list[Held]  # all keepers that are open
    keepers: list[Held]  # those that are proven; the first serves the victims
    victims: list[Held]
    algorithm: str
    digest: bytes
    marked: Sequence[Copy]  # all that is to stay

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
            waiting: list[tuple[Proven, Item]] = []
            try:
                intents = [(proven, item, self._prepared(proven, item)) for proven, item in items]
                items = [(proven, item) for proven, item, intent in intents if intent]
                self.journal.intend(intent for _, _, intent in intents if intent)
                for proven, item in items:
                    if asked.asked:
                        break
                    begun += 1
                    self._begin(proven, item, self.journal, waiting)
                    if not self.action.links:
                        self._end(waiting, self.journal)
                self._end(waiting, self.journal)
            finally:
                self._give_up(waiting, [item for _, item in items[begun:]])
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
        return self._intents.of(self.action, item, proven.algorithm, proven.digest, proven.marked)

    def _begin(self, proven: Proven, item: Item, journal: Journal, waiting: list[tuple[Proven, Item]]) -> None:
        """Set one name aside, which then waits for its end; write down where that could not be done."""
        try:
            self._set_aside(proven, item, journal)
        except NewKeeperError:
            self._end(waiting, journal)  # those that are links to the keeper which takes no more
            failure = Failure(Result.REFUSED, NEW_KEEPER)
        except RefusedError as error:
            failure = Failure(Result.REFUSED, str(error))
        except OSError as error:
            failure = Failure(Result.FAILED, why(error, item.victim.descriptor), error.errno)
        else:
            waiting.append((proven, item))
            return
        self._tell(item, self._taken_back(proven, item, failure), journal)
        if failure.reason == NEW_KEEPER:
            proven.keepers[0] = replace(item.victim, copy=item.victim.copy._replace(names=(item.name,)))
            self._keepers.note(item.victim)

    def _set_aside(self, proven: Proven, item: Item, journal: Journal) -> None:
        """Set a name aside, after a look at its file and at what stays for it."""
        progress = self._names[item.victim]
        if progress.failed:
            raise RefusedError(NOT_ALONE)
        item.keeper = proven.keepers[0]
        item.own = afterwards.own_bytes(item, self._intents.file_system(item.victim))
        self._keepers.settle(proven.keepers)
        if not item.victim.is_undisturbed(progress.seen):
            raise RefusedError(DISTURBED)
        if not self._keepers.stand(proven.keepers):
            raise RefusedError(GONE)
        item.is_begun = True
        try:
            self._aside(proven, item, journal)
        finally:
            self._keepers.note(item.keeper)
        progress.seen = item.victim.look()

    def _end(self, waiting: list[tuple[Proven, Item]], journal: Journal) -> None:
        """Give up the names that wait, or put them back, and write down how each ended."""
        while waiting:
            proven, item = waiting[0]
            try:
                outcome = self._committed(proven, item)
            except RefusedError as error:
                outcome = self._taken_back(proven, item, Failure(Result.REFUSED, str(error)))
            except OSError as error:
                failure = Failure(Result.FAILED, why(error, item.victim.descriptor), error.errno)
                outcome = self._taken_back(proven, item, failure)
            waiting.pop(0)
            self._tell(item, outcome, journal)

    def _committed(self, proven: Proven, item: Item) -> Outcome:
        """Give up a name that was set aside, after a last look."""
        progress = self._names[item.victim]
        if progress.failed:
            raise RefusedError(NOT_ALONE)
        self._keepers.prove_again(item.keeper, proven.algorithm, proven.digest)
        if not self._keepers.stand(proven.keepers):
            raise RefusedError(LOOKED)
        if not (item.victim.is_undisturbed(progress.seen) and item.victim.is_at(*self.action.whereabouts(item))):
            raise RefusedError(MOVED)
        self.action.commit(item)
        if self.action.names_go and self.action.has_aside and not self._keepers.stand(proven.keepers):
            return made_again(item, proven.algorithm, proven.digest)
        progress.seen = afterwards.left(item)
        inode = 0 if self.action.names_go else item.keeper.seen.inode
        reason = afterwards.complaint(self.action, item, proven.algorithm, proven.digest) if self.verify else ""
        freed, is_least = afterwards.freed(self.action, item)
        self.tally.freed_more |= is_least
        return Outcome(n=item.n, result=Result.DONE, freed=freed, inode=inode, reason=reason)

    def _tell(self, item: Item, outcome: Outcome, journal: Journal) -> None:
        """Count how a name ended, and write it down."""
        if outcome.result is Result.DONE:
            self._count(item)
            self.tally.freed += outcome.freed
            if outcome.reason:
                self.tally.failed.append(Refusal(item.name.path, outcome.reason))
        else:
            self._names[item.victim].failed = True
            with suppress(OSError):
                if outcome.result is not Result.UNKNOWN:
                    self.action.abandon(item)
            lists = {Result.REFUSED: self.tally.refused, Result.FAILED: self.tally.failed}
            found = lists.get(outcome.result, self.tally.unknown)
            if outcome.reason == NEW_KEEPER:  # a copy that stays, as it was meant to be
                found = self.tally.already
            found.append(Refusal(item.name.path, outcome.reason))
        journal.tell(outcome)

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

    def _taken_back(self, proven: Proven, item: Item, failure: Failure) -> Outcome:
        return put_back(self.action, self._keepers, proven.keepers, item, failure)

    def _count(self, item: Item) -> None:
        progress = self._names[item.victim]
        progress.done += 1
        self.tally.done += 1
        if progress.done == len(item.victim.copy.names):
            self.tally.done_bytes += item.victim.seen.size

    def _give_up(self, waiting: Sequence[tuple[Proven, Item]], items: Sequence[Item]) -> None:
        """Put back what waits, and write down that other names were not begun with, as the run ends early."""
        early = Failure(Result.REFUSED, "the run ended before")
        outcomes = [self._taken_back(proven, item, early) for proven, item in waiting]
        outcomes += [Outcome(n=item.n, result=early.result, reason=early.reason) for item in items]
        for item in items:
            with suppress(OSError):
                self.action.abandon(item)
        with suppress(NothingUsableError):
            for outcome in outcomes:
                if self.journal is not None:
                    self.journal.tell(outcome)

    def _sync(self) -> None:
        """Have all that was done on the disk, then that it was done."""
        for folder in self.folders.all():
            with suppress(OSError):
                sync_folder(folder)
        with suppress(OSError):
            self.action.sync()
            if self.journal is not None:
                self.journal.sync()
