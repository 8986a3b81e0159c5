"""The copies that stay, looked after while others go: there by their paths, unchanged, and on their disks.

Changes none of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from dedupe.actions.action import Action, Item
from dedupe.actions.holding import Held, RefusedError
from dedupe.actions.looks import Look
from dedupe.storage import durable

_RECENT = 900  # seconds after which the system has written a file to the disk by itself, on a sleepy laptop too
GONE = "the copy that stays is not there any more, or changed after it was compared"


class Keepers:
    """Looks after the keepers of one batch after the other.

    Args:
        action: what is done to the others.
        copies: how many have to stay of each group.
    """

    def __init__(self, action: Action, copies: int) -> None:
        self._action, self._copies = action, max(1, copies)
        self._seen: dict[tuple[int, int], Look] = {}  # files as our own links left them
        self._failures: dict[tuple[int, int], str] = {}  # of those that had to be written to the disk

    def begin(self, keepers: Iterable[Held]) -> None:
        """Begin with the keepers of a batch."""
        self._seen, self._failures = {}, {}
        if self._action.has_aside:
            for keeper in keepers:
                if _is_young(keeper.seen):
                    durable.begin(keeper.descriptor)

    def stand(self, keepers: Sequence[Held]) -> bool:
        """Return whether as many as have to stay are there by their paths, as they were when they were read."""
        there = sum(keeper.is_by_its_path(self._seen.get(keeper.identity, keeper.seen)) for keeper in keepers)
        return there >= self._copies

    def settle(self, keepers: Sequence[Held]) -> None:
        """Have keepers that were made or written a moment ago on the disk, before the only other copy of them goes.

        Raises:
            RefusedError: the system could not write one.
        """
        if not self._action.has_aside:
            return
        for keeper in keepers:
            if _is_young(keeper.seen) and keeper.identity not in self._failures:
                self._failures[keeper.identity] = durable.failure(keeper.descriptor)
            if reason := self._failures.get(keeper.identity):
                raise RefusedError(f"the copy that stays could not be written to its disk: {reason}")

    def note_links(self, item: Item) -> None:
        """Remember files as our own links left them: names and times of change moved, and nothing else may have."""
        if self._action.links:
            for held in (item.keeper, item.victim):
                now = held.look()
                if now.is_as(held.seen):
                    self._seen[held.identity] = now


def _is_young(seen: Look) -> bool:
    """Return whether a file was made, renamed or written so lately that it may be in memory only."""
    return time.time() - max(seen.modified_ns, seen.changed_ns) / 1e9 < _RECENT
