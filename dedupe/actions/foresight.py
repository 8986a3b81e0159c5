"""What an action's own checks will refuse, asked before anybody says yes.  Reads no content, changes nothing.

So the summary promises no space that will not be gained.  The checks are those of the act, made by the same code; what
only the reading can tell is not foreseen.
"""

from __future__ import annotations

from contextlib import ExitStack, closing

from dedupe.actions.action import Action, Item
from dedupe.actions.copies import Copy
from dedupe.actions.holding import Folders, Held, RefusedError, hold
from dedupe.actions.plan import Plan, PlannedGroup
from dedupe.actions.words import said
from dedupe.progress import Progress

_OPEN = 64  # folders that stay open meanwhile


def refusals(plan: Plan, action: Action, folders: Folders, progress: Progress) -> dict[tuple[int, int], str]:
    """Return why victims will be refused, by their identities.

    Args:
        plan: what is to be done.
        action: by which action; one of its own, as checks may remember what they promised.
        folders: where folders are kept open.
        progress: is told of groups.
    """
    foresight = _Foresight(action, folders)
    found = {}
    progress.begin("look ahead", len(plan.groups))
    try:
        for number, group in enumerate(plan.groups, 1):
            found.update(foresight.of(group))
            progress.reach(number)
            if len(folders) > _OPEN:
                folders.close()
    finally:
        folders.close()
        progress.end()
    return found


class _Foresight:
    """Asks one action about one group after the other."""

    def __init__(self, action: Action, folders: Folders) -> None:
        self._action, self._folders = action, folders
        self._probed: dict[int, str] = {}  # why the action cannot work on a device; empty where it can

    def of(self, group: PlannedGroup) -> dict[tuple[int, int], str]:
        """Return why victims of a group will be refused."""
        found = {}
        with ExitStack() as stack:
            keepers: dict[tuple[int, int], Held] = {}
            for victim in group.victims:
                keeper = self._keeper(group, victim)
                if keeper is None:
                    found[victim.identity] = f"has no copy to {self._action.verb} it to on its own volume"
                    continue
                try:
                    if keeper.identity not in keepers:
                        held = hold(keeper, group.size, self._folders, is_victim=False)
                        keepers[keeper.identity] = stack.enter_context(closing(held))
                    self._ask(victim, keepers[keeper.identity], group.size)
                except FileNotFoundError:
                    continue  # gone meanwhile, which is no refusal
                except (RefusedError, OSError) as error:
                    found[victim.identity] = said(error)
        return found

    def _keeper(self, group: PlannedGroup, victim: Copy) -> Copy | None:
        """Return the copy that the action would take for a victim, None if there is none where it must lie."""
        if self._action.names_go:
            return group.keepers[0]
        there = [keeper for keeper in group.keepers if keeper.seen.device == victim.seen.device]
        if not there:
            return None if self._action.one_volume else group.keepers[0]
        return max(there, key=lambda keeper: keeper.seen.nlink)

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
