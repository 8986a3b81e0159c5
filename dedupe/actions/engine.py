"""The engine: every group proven, every name acted on by the same steps, whatever the action.

A batch of proven files is journalled at once, then each name is set aside, looked at and committed, or put back.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from dedupe.actions import aliases, apart, doubt
from dedupe.actions.acting import Acting, Proven
from dedupe.actions.action import Action
from dedupe.actions.copies import Copy
from dedupe.actions.holding import Folders, Held, RefusedError, hold
from dedupe.actions.journal import Journal
from dedupe.actions.plan import Plan, PlannedGroup
from dedupe.actions.proof import Hashers, prove
from dedupe.actions.tally import Refusal, Tally
from dedupe.actions.words import said
from dedupe.progress import Progress
from dedupe.storage import display
from dedupe.storage.opening import open_files

_AT_ONCE = 48  # victims that are read in step with their keeper
_FILES = 64  # names of a batch, at most
_SECONDS = 0.2  # that a proof may be old before it is acted on
_LONG = 64 << 20  # bytes whose reading lasts about as long: nothing proven waits for more
_NOT_COUNTED = "a copy that was to stay cannot be counted on"
_OTHERS = 24  # files that are open anyway: streams, journal, trashes
_TOO_MANY_OPEN = (errno.EMFILE, errno.ENFILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to act.

    Attributes:
        copies: physical files of each group that have to stay.
        verify: read again after the act.
    """

    copies: int = 1
    verify: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a run works with."""

    folders: Folders  # shared with the action; closed after each batch
    journal: Journal | None  # None for a dry run
    hashers: Hashers
    progress: Progress  # is told of bytes read


@dataclass(slots=True)
class _Batch:
    """What is proven and not acted on yet."""

    most: int  # names that it takes
    proven: list[Proven] = field(default_factory=list)
    names: int = 0
    since: float = 0.0

    @property
    def is_due(self) -> bool:
        """Return whether it is large enough, or its first proof old enough."""
        return self.names >= self.most or (self.names > 0 and time.monotonic() - self.since > _SECONDS)


class Engine:
    """Carries a plan out.

    Args:
        plan: what to do; what it refused is in the tally already.
        action: by which action.
        settings: how.
        means: with what.
    """

    def __init__(self, plan: Plan, action: Action, settings: Settings, means: Means) -> None:
        self._plan, self._action, self._settings = plan, action, settings
        self._folders, self._hashers, self._progress = means.folders, means.hashers, means.progress
        self.tally = Tally(already=list(plan.already), refused=list(plan.refused))
        self._acting = Acting(action, self.tally, means.folders, means.journal, settings.copies, verify=settings.verify)
        self._batch = _Batch(min(_FILES, open_files() // 8))  # keeper, victim and their folders of each, and more
        self._other_folders = apart.Folders(may_try=means.journal is not None)
        self._probed: set[int] = set()  # devices where it can
        self._hopeless: dict[int, str] = {}  # devices where the action cannot work, and why
        self._read = 0
        self._at_once = max(1, min(_AT_ONCE, (open_files() - _OTHERS) // 3))  # with the batch that waits, and folders

    def run(self) -> Tally:
        """Do all of it, and return what it came to; the tally holds that too if an exception ends the run."""
        total = sum(group.size * (len(group.victims) + 1) for group in self._plan.groups)
        self._progress.begin(self._action.verb, total, in_bytes=True)
        try:
            for group in self._plan.groups:
                for part in self._parts(group):
                    self._prove(part)
            self._flush()
        finally:
            self._release(self._batch)
            self._progress.end()
        return self.tally

    def _parts(self, group: PlannedGroup) -> Iterator[PlannedGroup]:
        """Yield a group in parts that are read in step; by volume where that matters, fitting keepers first."""
        parts = [group]
        if not self._action.names_go:
            parts = [self._of_device(group, d) for d in dict.fromkeys(victim.seen.device for victim in group.victims)]
        for part in parts:
            for start in range(0, len(part.victims), self._at_once):
                yield replace(part, victims=part.victims[start : start + self._at_once])

    def _of_device(self, group: PlannedGroup, device: int) -> PlannedGroup:
        def order(keeper: Copy) -> tuple[bool, int]:
            return keeper.seen.device != device, -keeper.seen.nlink  # the one that has most names takes the others

        victims = tuple(victim for victim in group.victims if victim.seen.device == device)
        keepers = tuple(sorted(group.keepers, key=order))
        if self._action.one_volume and keepers[0].seen.device != device:
            self._refuse(victims, f"has no copy to {self._action.verb} it to on its own volume")
            victims = ()
        return replace(group, victims=victims, keepers=keepers)

    def _prove(self, group: PlannedGroup) -> None:
        """Open, compare and put into the batch what is proven; each keeper that fails makes way for the next."""
        keepers, failed = list(group.keepers), ""
        if group.size * (len(group.victims) + 1) > _LONG or self._batch.is_due:
            self._flush()
        while group.victims:
            victims = self._hold_all(group)
            held, passed = self._keepers(keepers, group.size)
            victims = self._apart(victims, held)
            try:
                if len(held) < self._settings.copies or not held:
                    self._refuse([v.copy for v in victims], failed or self._too_few(len(held), passed))
                    return
                if not victims:
                    return
                failed, bad = self._judge(group, held, victims)
                if not bad:
                    held, victims = [], []  # the batch has them, or they are closed
                    return
            finally:
                for each in (*held, *victims):
                    each.close()
            keepers = [keeper for keeper in keepers if keeper not in bad]
            group = replace(group, victims=tuple(v.copy for v in victims))

    def _judge(self, group: PlannedGroup, keepers: Sequence[Held], victims: Sequence[Held]) -> tuple[str, list[Copy]]:
        """Compare, and put what is proven into the batch; else return which keepers fail, and why."""
        others = [*keepers[1:], *victims]
        hashers = self._hashers.start(group.algorithm, group.size)
        verdict = prove(keepers[0], others, hashers, self._advance)
        told = verdict.digests.get(group.algorithm)
        if not verdict.keeper_failed and group.digest is not None and told is not None and told != group.digest:
            verdict.keeper_failed = "it is not what the report says any more"
        if verdict.keeper_failed:
            return f"{_NOT_COUNTED}: {verdict.keeper_failed}", [keepers[0].copy]
        bad = [k.copy for n, k in enumerate(keepers[1:]) if n in verdict.unequal]
        if bad:
            return f"{_NOT_COUNTED}: it {verdict.unequal[min(verdict.unequal)]}", bad
        algorithm, digest = self._hashers.journalled(verdict.digests)
        proven = []
        for place, victim in enumerate(victims, len(keepers) - 1):
            if place in verdict.unequal:
                self._refuse([victim.copy], verdict.unequal[place])
                victim.close()
            else:
                self.tally.refused += doubt.names_of_others(victim, algorithm, digest, self._folders)
                proven.append(victim)
        if not proven:
            for each in keepers:
                each.close()
            return "", []
        self._add(Proven(list(keepers), list(keepers), proven, algorithm, digest, group.keepers))
        return "", []

    def _add(self, proven: Proven) -> None:
        if not self._batch.proven:
            self._batch.since = time.monotonic()
        self._batch.proven.append(proven)
        self._batch.names += sum(len(victim.copy.names) for victim in proven.victims)
        if self._batch.is_due:
            self._flush()

    def _flush(self) -> None:
        """Act on the batch."""
        batch, self._batch = self._batch, _Batch(self._batch.most)
        try:
            if batch.proven:
                self._acting.act(batch.proven)
        finally:
            self._release(batch)

    def _release(self, batch: _Batch) -> None:
        """Let go of what was proven, acted on or not."""
        for proven in batch.proven:
            proven.close()
        self._folders.close()

    def _keepers(self, copies: Sequence[Copy], size: int) -> tuple[list[Held], str]:
        """Open as many keepers as have to stay, each another file; those that changed are passed over.

        Returns:
            The keepers; and why the first that was passed over was.
        """
        held: list[Held] = []
        files = aliases.Files(folders=self._other_folders)
        reasons = []
        for copy in copies:
            try:
                keeper = self._hold(copy, size, is_victim=False)
            except (RefusedError, OSError) as error:
                reasons.append(f"{display.shown(copy.path)} {said(error)}")
                continue
            if files.add(keeper.as_seen):
                held.append(keeper)
            else:
                keeper.close()
            if len(held) == self._settings.copies:
                break
        return held, reasons[0] if reasons else ""

    def _apart(self, victims: Sequence[Held], keepers: Sequence[Held]) -> list[Held]:
        """Return the victims that are none of the keepers, as both are seen now."""
        stays = aliases.Files((keeper.as_seen for keeper in keepers), self._other_folders)
        found = []
        for victim in victims:
            if reason := stays.reason(victim.as_seen):
                self._refuse([victim.copy], reason)
                victim.close()
            else:
                found.append(victim)
        return found

    def _hold_all(self, group: PlannedGroup) -> list[Held]:
        """Open the victims of a group; names of one file that were found apart come together."""
        held: dict[tuple[int, int], list[Held]] = {}
        stays = {keeper.identity for keeper in group.keepers}
        for copy in group.victims:
            try:
                if reason := self._hopeless.get(copy.seen.device):
                    raise RefusedError(reason)
                if self._action.names_go or self._action.links:
                    self._folders.check_writable(copy.names)
                victim = self._hold(copy, group.size, is_victim=True)
                if victim.identity in stays:
                    self.tally.already.append(Refusal(copy.path, aliases.ITSELF))
                    victim.close()
                elif (first := doubt.known(held, victim)) is not victim:
                    victim.close()
                    first.copy = first.copy._replace(names=first.copy.names + copy.names)
                else:
                    self._probe(victim)
            except RefusedError as error:
                self._refuse([copy], str(error))
            except FileNotFoundError:
                self.tally.already.append(Refusal(copy.path, "is gone"))
            except OSError as error:
                self._refuse([copy], said(error))
        return [victim for same in held.values() for victim in same if victim.seen.device not in self._hopeless]

    def _probe(self, victim: Held) -> None:
        """Ask the action once for each volume whether it can work there at all."""
        if victim.seen.device in self._probed:
            return
        try:
            self._action.probe(victim)
        except RefusedError as error:
            self._hopeless[victim.seen.device] = str(error)
            victim.close()
            raise
        self._probed.add(victim.seen.device)

    def _hold(self, copy: Copy, size: int, *, is_victim: bool) -> Held:
        try:
            return hold(copy, size, self._folders, is_victim=is_victim)
        except OSError as error:
            if error.errno not in _TOO_MANY_OPEN or not self._batch.proven:
                raise
        self._flush()  # which closes files and folders
        return hold(copy, size, self._folders, is_victim=is_victim)

    def _too_few(self, count: int, reason: str) -> str:
        return f"only {count} of {self._settings.copies} copies would stay" + (f": {reason}" if reason else "")

    def _refuse(self, copies: Sequence[Copy], reason: str) -> None:
        told = self.tally.already if reason == aliases.ITSELF else self.tally.refused
        told += [Refusal(name.path, reason) for copy in copies for name in copy.names]

    def _advance(self, count: int) -> None:
        self._read += count
        self._progress.reach(self._read)
