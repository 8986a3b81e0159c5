"""`--delete`: victims are removed, which `dedupe undo` takes back by copying their keeper."""

from __future__ import annotations

import sys

from dedupe.actions.action import Item, Spot, move, rename, second_name
from dedupe.actions.holding import Held
from dedupe.actions.restoring import copy_open
from dedupe.storage import metadata
from dedupe.storage.opening import unlink_at

if sys.platform == "win32":
    from dedupe.storage import windows_acts


class Delete:
    """Removes victims: renamed in their folder first, and removed after the last look."""

    verb = "delete"
    names_go = True
    one_volume = False
    has_aside = True
    links = False

    def probe(self, victim: Held) -> None:
        """Accept every volume: names can be removed wherever they can be made."""

    def check(self, item: Item) -> None:
        """Accept every victim."""

    def prepare(self, item: Item) -> None:
        """Need nothing."""

    def abandon(self, item: Item) -> None:
        """Have nothing to give up."""

    def aside(self, item: Item) -> None:
        """Rename the victim within its folder."""
        move(item, item.here, item.aside)

    def whereabouts(self, item: Item) -> Spot:
        """Return its temporary name."""
        return item.aside

    def commit(self, item: Item) -> None:
        """Remove the temporary name."""
        remove(item.victim, item.aside)

    def back(self, item: Item) -> None:
        """Give the victim its name back."""
        move(item, item.aside, item.here, back=True)

    def sync(self) -> None:
        """Do nothing more: all folders that it changes are open, and are synced with the others."""


def remove(victim: Held, spot: Spot) -> None:
    """Remove a victim by the name that it was proven to have; on Windows by its handle."""
    if sys.platform == "win32":
        windows_acts.delete_open(victim.descriptor)
    else:
        del victim
        unlink_at(*spot)


def make_again(item: Item, algorithm: str, digest: bytes) -> list[str]:
    """Give a victim that was just removed its name again, from the file that is open still.

    Returns:
        In words what metadata could not be restored.

    Raises:
        RefusedError or OSError: that could not be done.
    """
    opened = item.victim.descriptor
    left = copy_open(opened, item.aside, algorithm, digest, metadata.to_json(metadata.of(opened)))
    rename(item.aside, item.here, second_name(item.run, item.n, back=True))
    return left
