"""`--trash`: victims go to the user's trash on their own volume, by our own renames; nothing takes its place."""

from __future__ import annotations

import errno
import os
from datetime import UTC, datetime

from dedupe.actions.action import Item, PlaceTakenError, Spot, move
from dedupe.actions.holding import Held, RefusedError
from dedupe.actions.trash_slots import Slot, Trash
from dedupe.actions.trash_xdg import NoTrashError, Trashes
from dedupe.storage import display


class ToTrash:
    """Puts victims into the trash.

    Args:
        trashes: those that were found so far; the caller closes them.
    """

    verb = "trash"
    names_go = True
    one_volume = False
    has_aside = False
    links = False

    def __init__(self, trashes: Trashes) -> None:
        self._trashes = trashes
        self._slots: dict[Item, Slot] = {}
        self._claimed: set[Item] = set()
        self._touched: dict[bytes, Trash] = {}  # by their folders
        self._used: dict[bytes, None] = {}  # folders of those where something stayed

    def probe(self, victim: Held) -> None:
        """Accept a volume: which trash a file goes to is its folder's to say."""

    def check(self, item: Item) -> None:
        """Refuse a victim that has no trash, and none that could be made."""
        try:
            self._trashes.look(item.name.real, device=item.victim.seen.device)
        except NoTrashError as error:
            raise RefusedError(_none(error)) from error

    def prepare(self, item: Item) -> None:
        """Choose a place in the trash of the victim's volume, which is made if it is not there yet."""
        try:
            trash = self._trashes.find(item.name.real, device=item.victim.seen.device)
            slot = trash.choose(item.name.name)
        except NoTrashError as error:
            raise RefusedError(_none(error)) from error
        self._slots[item] = slot
        item.target, item.spot = slot.path, Spot(trash.files, slot.name)
        item.info = os.path.join(trash.folder, b"info", slot.name + b".trashinfo")

    def abandon(self, item: Item) -> None:
        """Give the place up."""
        if (slot := self._slots.pop(item, None)) is not None and item in self._claimed:
            slot.forget()

    def aside(self, item: Item) -> None:
        """Claim the place, and rename the victim into it."""
        slot = self._slots[item]
        try:
            is_ours = slot.trash.claim(slot, item.name.real, datetime.now(UTC), sync=False)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise RefusedError("its trash has no space left for the record of it") from error
            raise
        if not is_ours:
            raise PlaceTakenError
        self._claimed.add(item)
        self._touched[slot.trash.folder] = slot.trash
        move(item, item.here, self.whereabouts(item))

    def whereabouts(self, item: Item) -> Spot:
        """Return its place in the trash."""
        assert item.spot is not None
        return item.spot

    def commit(self, item: Item) -> None:
        """Keep the place."""
        slot = self._slots.pop(item)
        self._claimed.discard(item)
        self._used[slot.trash.folder] = None

    def back(self, item: Item) -> None:
        """Rename the victim back."""
        move(item, self.whereabouts(item), item.here, back=True)

    def sync(self) -> None:
        """Have the names in all trashes on the disk."""
        for trash in self._touched.values():
            trash.sync()

    def places(self) -> list[str]:
        """Return the folders of the trashes where something lies now, for people."""
        return [display.shown(folder) for folder in self._used]

    def notes(self) -> list[str]:
        """Return which trashes are not used though they come first, and why: an administrator may want to know."""
        return list(self._trashes.passed_over)


def _none(error: NoTrashError) -> str:
    return f"has no trash on its volume: {error.strerror}; --move-to would work"
