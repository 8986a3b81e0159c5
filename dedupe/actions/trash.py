"""`--trash`: victims go to the user's trash on their own volume, by our own renames; nothing takes its place."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from dedupe.actions.action import Item, Spot, move
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
        self.used: dict[bytes, Trash] = {}  # by their folders

    def probe(self, victim: Held) -> None:
        """Accept a victim: looking for its trash makes one, which is for `prepare` to do."""

    def check(self, item: Item) -> None:
        """Accept a victim, likewise."""

    def prepare(self, item: Item) -> None:
        """Reserve a place in the trash of the victim's volume."""
        try:
            trash = self._trashes.find(item.name.real, device=item.victim.seen.device)
            slot = trash.reserve(item.name.name, item.name.real, datetime.now(UTC), sync=False)
        except NoTrashError as error:
            raise RefusedError(f"has no trash on its volume: {error.strerror}; --move-to would work") from error
        self.used[trash.folder] = trash
        self._slots[item] = slot
        item.target, item.spot = slot.path, Spot(trash.files, slot.name)
        item.info = os.path.join(trash.folder, b"info", slot.name + b".trashinfo")

    def abandon(self, item: Item) -> None:
        """Give the place up."""
        if (slot := self._slots.pop(item, None)) is not None:
            slot.forget()

    def aside(self, item: Item) -> None:
        """Rename the victim into the trash."""
        move(item.victim, item.here, self.whereabouts(item))

    def whereabouts(self, item: Item) -> Spot:
        """Return its place in the trash."""
        assert item.spot is not None
        return item.spot

    def commit(self, item: Item) -> None:
        """Keep the place."""
        self._slots.pop(item, None)

    def back(self, item: Item) -> None:
        """Rename the victim back."""
        move(item.victim, self.whereabouts(item), item.here)

    def sync(self) -> None:
        """Have the names in all trashes on the disk."""
        for trash in self.used.values():
            trash.sync()

    def places(self) -> list[str]:
        """Return the folders of the trashes that were used, for people."""
        return [display.shown(folder) for folder in self.used]
