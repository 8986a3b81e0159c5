"""What an action's own checks will refuse, asked before anybody says yes.  Reads no content, changes nothing.

So the summary promises no space that will not be gained.  The checks are those of the act, made by the same code; what
only the reading can tell is not foreseen.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import replace

from dedupe.actions.action import Action, Item
from dedupe.actions.copies import Copy
from dedupe.actions.holding import Folders, Held, RefusedError, hold
from dedupe.actions.plan import Plan, PlannedGroup
from dedupe.actions.reflink import AlreadySharedError
from dedupe.actions.tally import Refusal
from dedupe.actions.words import said
from dedupe.progress import Progress
from dedupe.storage.opening import open_files

_OPEN = 64  # folders that stay open meanwhile, at most
_TRIED = 4  # copies that stay, of which one has to be there to ask about


def leave_out(plan: Plan, action: Action, folders: Folders, progress: Progress) -> dict[str, int]:
    """Take victims that will be refused out of a plan, into its lists of what is not tried; return how many, by reason.

    So whoever agrees to what is left agrees to all that will be done.

    Args:
        plan: what is to be done.
        action: by which action; one of its own, as checks may remember what they promised.
        folders: where folders are kept open.
        progress: is told of groups.
    """
    foresight = _Foresight(action, folders)
    left, counts = [], dict[str, int]()
    progress.begin("look ahead", len(plan.groups))
    try:
        for number, group in enumerate(plan.groups, 1):
            found = foresight.of(group)
            if victims := tuple(victim for victim in group.victims if victim.identity not in found):
                left.append(replace(group, victims=victims))
            for victim in group.victims:
                if victim.identity in found:
                    _refuse(plan, victim, found[victim.identity], counts)
            progress.reach(number)
    finally:
        folders.close()
        progress.end()
    plan.groups = left
    return counts


def _refuse(plan: Plan, victim: Copy, error: Exception, counts: dict[str, int]) -> None:
    reason = said(error)
    refusals = [Refusal(name.path, reason) for name in victim.names]
    if isinstance(error, AlreadySharedError):
        plan.already += refusals
    else:
        plan.refused += refusals
        counts[reason] = counts.get(reason, 0) + 1


class _Foresight:
    """Asks one action about one group after the other."""

    def __init__(self, action: Action, folders: Folders) -> None:
        self._action, self._folders = action, folders
        self._open = max(1, min(_OPEN, open_files() // 8))
        self._probed: dict[int, str] = {}  # why the action cannot work on a device; empty where it can

    def of(self, group: PlannedGroup) -> dict[tuple[int, int], Exception]:
        """Return why victims of a group will be refused, by their identities."""
        found: dict[tuple[int, int], Exception] = {}
        with ExitStack() as stack:
            opened: dict[tuple[int, int], Held | None] = {}
            for victim in group.victims:
                if len(self._folders) > self._open:  # each of a thousand copies may lie in a folder of its own
                    self._folders.close()
                keepers = self._keepers(group, victim)
                if not keepers:
                    told = f"has no copy to {self._action.verb} it to on its own volume"
                    found[victim.identity] = RefusedError(told)
                    continue
                for copy in keepers:
                    if copy.identity not in opened:
                        opened[copy.identity] = self._opened(copy, group.size, stack)
                keeper = next((held for copy in keepers if (held := opened[copy.identity])), None)
                if keeper is None:
                    continue  # what is said of that is for the act
                try:
                    self._ask(victim, keeper, group.size)
                except FileNotFoundError:
                    continue  # gone meanwhile, which is no refusal
                except (RefusedError, OSError) as error:
                    found[victim.identity] = error
        return found

    def _keepers(self, group: PlannedGroup, victim: Copy) -> list[Copy]:
        """Return a few of the copies that the action would take for a victim, the one that it tries first before."""
        keepers = list(group.keepers)
        if not self._action.names_go:
            device = victim.seen.device
            keepers.sort(key=lambda keeper: (keeper.seen.device != device, -keeper.seen.nlink))
            if self._action.one_volume:
                keepers = [keeper for keeper in keepers if keeper.seen.device == device]
        return keepers[:_TRIED]

    def _opened(self, copy: Copy, size: int, stack: ExitStack) -> Held | None:
        try:
            return stack.enter_context(closing(hold(copy, size, self._folders, is_victim=False)))
        except (RefusedError, OSError):
            return None

    def _ask(self, victim: Copy, keeper: Held, size: int) -> None:
        """Ask about one victim.

        Raises:
            RefusedError or OSError: it will be refused.
        """
        if self._action.names_go or self._action.links:
            self._folders.check_writable(victim.names)
        with closing(hold(victim, size, self._folders, is_victim=True)) as held:
            device = held.seen.device
            if device not in self._probed:
                self._probed[device] = self._probe(held)
            if reason := self._probed[device]:
                raise RefusedError(reason)
            for name in victim.names:
                self._action.check(Item(0, "ahead", held, name, keeper))

    def _probe(self, victim: Held) -> str:
        try:
            self._action.probe(victim)
        except RefusedError as error:
            return str(error)
        return ""
