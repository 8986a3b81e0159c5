"""`--reflink`: victim and keeper come to share their blocks on the disk; both names, all metadata and times stay."""

from __future__ import annotations

import errno
import os

from dedupe.actions.action import Item, Spot
from dedupe.actions.holding import Held, RefusedError
from dedupe.storage import metadata, sharing
from dedupe.storage.extents import extents
from dedupe.storage.sharing import DiffersError

_OTHER_WAYS = "--hardlink, --trash or --move-to would work"


class Reflink:
    """Has the kernel compare and share: FIDEDUPERANGE, which changes nothing that differs."""

    verb = "reflink"
    names_go = False
    one_volume = False  # subvolumes of btrfs share blocks, though they look like volumes: the kernel says
    has_aside = False
    links = False

    def probe(self, victim: Held) -> None:
        """Refuse file systems that cannot share blocks, by a trial with two unnamed files."""
        if not os.access(victim.name.folder, os.W_OK):
            return  # no trial can be made there, as in a snapshot: the kernel will say
        if reason := sharing.can_share(victim.name.folder):
            raise RefusedError(f"cannot share blocks: {reason}; {_OTHER_WAYS}")

    def check(self, item: Item) -> None:
        """Refuse a victim that has the keeper's blocks already, or none: nothing would be gained."""
        keeper, victim = item.keeper.descriptor, item.victim.descriptor
        if not item.victim.seen.size or _own(victim):
            return
        if sharing.common_bytes(keeper, victim):
            raise AlreadySharedError("shares its blocks already")
        if not any(extent.is_placed for extent in extents(victim)):
            raise AlreadySharedError("has no blocks to share: it is so small, or so empty, that it takes none")

    def prepare(self, item: Item) -> None:
        """Need nothing."""

    def abandon(self, item: Item) -> None:
        """Have nothing to give up."""

    def aside(self, item: Item) -> None:
        """Share the blocks; the name and its file stay where they are."""
        try:
            item.gained = _share(item.keeper.descriptor, item.victim.descriptor, item.victim.seen.size)
        except OSError as error:
            if error.errno != errno.EROFS:
                raise
            # such as one in a snapshot: it keeps its blocks, and the copy that stays takes them
            item.gained = _share(item.victim.descriptor, item.keeper.descriptor, item.victim.seen.size)

    def whereabouts(self, item: Item) -> Spot:
        """Return the name itself."""
        return item.here

    def commit(self, item: Item) -> None:
        """Do nothing more: the kernel did it."""

    def back(self, item: Item) -> None:
        """Do nothing: the content is the same, wherever its blocks lie."""

    def sync(self) -> None:
        """Do nothing: no name was changed."""


class AlreadySharedError(RefusedError):
    """There is nothing left to do."""


def _own(descriptor: int) -> int:
    """Return how many bytes a file has for itself alone; 0 where the system does not tell."""
    try:
        return sharing.exclusive_bytes([descriptor])
    except OSError:
        return 0


def _share(source: int, target: int, size: int) -> int:
    """Have a file share the blocks of another; return how many bytes became free.

    Raises:
        RefusedError: they differ, or no block could be shared.
        OSError: it cannot be done, or more than the blocks changed.
    """
    before, kept = _own(target), metadata.of(target)
    try:
        done = sharing.share(source, target, size)
    except DiffersError as error:
        raise RefusedError("differs from the copy that stays, as the kernel sees it") from error
    if changed := metadata.differences(kept, metadata.of(target), times=True):
        raise OSError(errno.EIO, f"its {', its '.join(changed)} changed with its blocks")
    if not done and size:
        raise RefusedError(f"could not share any block: files this small gain nothing; {_OTHER_WAYS}")
    return max(0, before - _own(target))
