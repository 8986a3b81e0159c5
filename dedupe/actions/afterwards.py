"""What is to be said of an act that was done: the bytes that it freed, and whether what stays still reads right.

Changes nothing.
"""

from __future__ import annotations

from dedupe.actions.action import Action, Item
from dedupe.actions.looks import Look
from dedupe.actions.reread import reads_as
from dedupe.storage import file_systems, sharing


def own_bytes(item: Item, file_system: str) -> int:
    """Return the bytes that a victim is known to have for itself alone, and that its last name gives back."""
    if file_systems.is_layered(file_system):
        return 0
    if file_systems.may_share(file_system):
        try:
            return sharing.exclusive_bytes([item.victim.descriptor])
        except OSError:
            return 0
    return item.victim.seen.on_disk


def left(item: Item) -> Look | None:
    """Return how our act on one name of a victim left it for the next one; None where the system does not tell."""
    try:
        return item.victim.look()
    except OSError:
        return None


def freed(action: Action, item: Item) -> tuple[int, bool]:
    """Return the bytes that became free: where names go for good, once the last one of a file has gone.

    Returns:
        The bytes; and whether it may be more, as others that go too had them as well.
    """
    if item.gained is not None:
        return item.gained, False
    seen = left(item)
    if action.verb not in ("delete", "hardlink") or seen is None or seen.nlink > 0:
        return 0, False
    return item.own, item.own < item.victim.seen.on_disk


def complaint(action: Action, item: Item, algorithm: str, digest: bytes) -> str:
    """Read again, from the disk, what is left of a group; return what is wrong with it, empty for nothing."""
    keeper = item.keeper
    try:
        spot = (keeper.folder(keeper.name), keeper.name.name) if action.names_go else item.here
        if reads_as(spot, algorithm, digest):
            return ""
    except OSError as error:
        return f"cannot be read again: {error.strerror}"
    return "reads differently after the act: the disk, or its file system, fails"
