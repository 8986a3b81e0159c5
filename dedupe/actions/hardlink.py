"""`--hardlink`: the name of a victim becomes a further name of its keeper, where nothing but content is to be had."""

from __future__ import annotations

import errno
import os
import sys

from dedupe.actions import looks
from dedupe.actions.action import Item, NewKeeperError, Spot, move
from dedupe.actions.delete import remove
from dedupe.actions.holding import FolderHandle, Held, RefusedError
from dedupe.storage import file_systems, metadata, volumes
from dedupe.storage.opening import create_new, link_at, link_open, unlink_at
from dedupe.storage.rename import NOT_OFFERED, exchange, temporary_name

_WITHOUT_LINKS = frozenset({"vfat", "msdos", "exfat", "fat", "fat32"})
_TOO_MANY = 1142  # ERROR_TOO_MANY_LINKS of Windows


class Hardlink:
    """Gives the keeper the victim's name.

    The new name is made first, under a temporary name; then both are exchanged in one step, where the file system can,
    so that the name is never missing.
    """

    verb = "hardlink"
    names_go = False
    one_volume = True
    has_aside = True
    links = True

    def probe(self, victim: Held) -> None:
        """Refuse file systems that have no hard links: known ones by name, those that a program serves by a trial."""
        kind = volumes.locate(victim.name.folder, victim.seen.device).volume.file_system
        is_served = kind == "fuseblk" or file_systems.shows_others(kind)
        if kind.lower() in _WITHOUT_LINKS or (is_served and not _takes_links(victim.folder(victim.name))):
            raise RefusedError(f"lies on {kind}, which has no hard links: --delete, --trash or --move-to would work")

    def check(self, item: Item) -> None:
        """Refuse a victim that differs in more than content and times, which a link would lose."""
        keeper, victim = metadata.of(item.keeper.descriptor), metadata.of(item.victim.descriptor)
        if lost := metadata.differences(keeper, victim):
            raise RefusedError(f"a hard link would lose its {', its '.join(lost)}: --reflink would keep it")

    def prepare(self, item: Item) -> None:
        """Need nothing."""

    def abandon(self, item: Item) -> None:
        """Have nothing to give up."""

    def aside(self, item: Item) -> None:
        """Put a link to the keeper in the victim's place, and the victim aside."""
        here, aside = item.here, item.aside
        if not can_exchange(item.victim):
            move(item, here, aside)
            self._link(item, here)
            return
        self._link(item, aside)
        try:
            exchange(aside.name, here.name, a_dir=aside.folder, b_dir=here.folder)
        except OSError as error:
            unlink_at(*aside)  # a name of the keeper's that we gave it a moment ago
            if error.errno not in NOT_OFFERED:
                raise
            _without_exchange.add(item.victim.seen.device)
            self.aside(item)

    def _link(self, item: Item, spot: Spot) -> None:
        try:
            if sys.platform == "linux":
                link_open(item.keeper.descriptor, *spot)
            else:
                keeper = item.keeper
                link_at(keeper.folder(keeper.name), keeper.name.name, *spot)
        except OSError as error:
            if error.errno == errno.EMLINK or getattr(error, "winerror", None) == _TOO_MANY:
                raise NewKeeperError from error
            raise

    def whereabouts(self, item: Item) -> Spot:
        """Return the victim's temporary name."""
        return item.aside

    def commit(self, item: Item) -> None:
        """Remove the victim from aside."""
        remove(item.victim, item.aside)

    def back(self, item: Item) -> None:
        """Give the victim its name back and take the keeper's away again."""
        here, aside = item.here, item.aside
        try:
            set_aside = looks.within(*aside)  # mostly the victim, but maybe what took its name a moment before
        except FileNotFoundError:
            return  # nothing left its place
        if set_aside.identity != item.keeper.identity:
            if not _is_object(item.keeper, here):
                move(item, aside, here, back=True)
                return
            if not can_exchange(item.victim):
                unlink_at(*here)
                move(item, aside, here, back=True)
                return
            exchange(aside.name, here.name, a_dir=aside.folder, b_dir=here.folder)
        if _is_object(item.keeper, aside):
            unlink_at(*aside)

    def sync(self) -> None:
        """Do nothing more: all folders that it changes are open, and are synced with the others."""


def _takes_links(folder: FolderHandle) -> bool:
    """Return whether files of a folder can have two names, tried with an empty one of our own."""
    name, other = temporary_name(), temporary_name()
    try:
        os.close(create_new(folder, name))
    except OSError:
        return True  # not for want of links: what forbids it is told when it is tried
    try:
        link_at(folder, name, folder, other)
    except OSError as error:
        return error.errno not in NOT_OFFERED | {errno.EPERM}
    else:
        unlink_at(folder, other)
        return True
    finally:
        unlink_at(folder, name)


def _is_object(keeper: Held, spot: Spot) -> bool:
    """Return whether a name is one of the keeper's, whatever its content is by now."""
    try:
        return looks.within(*spot).identity == keeper.identity
    except FileNotFoundError:
        return False


_without_exchange: set[int] = set()  # devices of file systems that were seen to exchange nothing


def can_exchange(victim: Held) -> bool:
    """Return whether two names of the victim's file system can be exchanged, as far as is known."""
    return sys.platform != "win32" and victim.seen.device not in _without_exchange
