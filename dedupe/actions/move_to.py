"""`--move-to DIR`: victims go to a folder of the same volume, where the tree below their root is kept."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from contextlib import closing, suppress

from dedupe.actions import looks, permits
from dedupe.actions.action import Item, Spot, move
from dedupe.actions.holding import FolderHandle, Folders, Held, RefusedError
from dedupe.actions.permits import mount_of
from dedupe.errors import NothingUsableError, UsageError
from dedupe.storage import display
from dedupe.storage.opening import make_folder
from dedupe.storage.paths import absolute, outside

_ACROSS = "lies on another volume than the folder to move to"


class MoveTo:
    """Moves victims into a folder.

    Args:
        target: the folder; it is made when the first victim goes there.
        roots: of the marks, in their order.
        folders: where folders are kept open.

    Raises:
        UsageError: the target is no folder, or is a root.
        NothingUsableError: the folder cannot be made or looked at.
    """

    verb = "move"
    names_go = True
    one_volume = False
    has_aside = False
    links = False

    def __init__(self, target: bytes, roots: Sequence[bytes], folders: Folders) -> None:
        self._target, self._folders = os.path.realpath(absolute(target)), folders
        self._places = places(roots)
        self._reasons: dict[bytes, str] = {}  # why folders can take nothing; empty where they can
        self._mounts: dict[bytes, tuple[bytes, int]] = {}
        self._promised: set[bytes] = set()
        shown = display.shown(target)
        if any(self._target == os.path.realpath(absolute(root)) for root in roots):
            raise UsageError(f"{shown} is one of the folders that were scanned: name another one to move to.")
        if os.path.lexists(self._target) and not os.path.isdir(self._target):
            raise UsageError(f"{shown} is no folder: name one to move to.")
        try:
            self._mount = mount_of(_that_exists(self._target))
        except OSError as error:
            raise NothingUsableError(f"{shown} cannot be moved to: {error.strerror}.") from error

    def probe(self, victim: Held) -> None:
        """Refuse victims of other volumes: nothing is ever copied across."""
        if victim.seen.device != self._mount[1]:
            raise RefusedError(_ACROSS)

    def check(self, item: Item) -> None:
        """Refuse a victim whose place is taken, or cannot be had."""
        path = self._path(item)
        folder, name = os.path.split(path)
        there = _that_exists(folder)
        handle = _opened(there, self._folders)
        if self._mount_of(item.name.folder) != self._mount:
            raise RefusedError(_ACROSS)
        if there not in self._reasons:
            self._reasons[there] = self._unfit(there, handle)
        if reason := self._reasons[there]:
            raise RefusedError(reason)
        if (there == folder and looks.is_there(handle, name)) or path in self._promised:
            raise RefusedError(f"its place is taken: {display.shown(outside(path))}")
        self._promised.add(path)

    def prepare(self, item: Item) -> None:
        """Make the folders that the name needs, each in its open parent, so that no link leads them elsewhere."""
        path = self._path(item)
        folder, name = os.path.split(path)
        there = _that_exists(folder)
        for part in os.path.relpath(folder, there).split(os.fsencode(os.sep)) if there != folder else ():
            with closing(Folders()) as above, suppress(FileExistsError):  # those on the way need not stay open
                make_folder(_opened(there, above), part)
            there = os.path.join(there, part)
        item.target, item.spot = path, Spot(_opened(folder, self._folders), name)

    def abandon(self, item: Item) -> None:
        """Leave the folders: others may use them by now."""

    def aside(self, item: Item) -> None:
        """Rename the victim into its place."""
        move(item, item.here, self.whereabouts(item))

    def whereabouts(self, item: Item) -> Spot:
        """Return its place in the target."""
        assert item.spot is not None
        return item.spot

    def commit(self, item: Item) -> None:
        """Do nothing more: it lies where it is to lie."""

    def back(self, item: Item) -> None:
        """Rename it back."""
        move(item, self.whereabouts(item), item.here, back=True)

    def sync(self) -> None:
        """Do nothing more: all folders that it changes are open, and are synced with the others."""

    def _mount_of(self, folder: bytes) -> tuple[bytes, int]:
        if folder not in self._mounts:
            self._mounts[folder] = mount_of(folder)
        return self._mounts[folder]

    def _unfit(self, folder: bytes, handle: FolderHandle) -> str:
        """Return why nothing can be moved to a folder, empty if it can."""
        if self._mount_of(folder) != self._mount:
            return _ACROSS
        return permits.of_folder(handle, folder, display.shown(outside(folder)))

    def _path(self, item: Item) -> bytes:
        root = item.name.root
        top, path = os.path.join(root, b""), item.name.path
        below = path[len(top) :] if path.startswith(top) else os.path.basename(path)
        return os.path.join(self._target, self._places[root], below)


def _opened(folder: bytes, folders: Folders) -> FolderHandle:
    """Return a folder that is there, in the target or above it, opened.

    Raises:
        RefusedError: a link is on the way to it, or it is none.
    """
    try:
        return folders.handle(folder)
    except OSError as error:
        said = "a symbolic link leads there" if error.errno == errno.ELOOP else error.strerror
        raise RefusedError(f"its place {display.shown(outside(folder))} cannot be had: {said}") from error


def places(roots: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return the folder in the target for each root: its own name, numbered where two roots share one."""
    found: dict[bytes, bytes] = {}
    for root in dict.fromkeys(roots):
        drive, rest = os.path.splitdrive(outside(root))
        name = os.path.basename(rest.rstrip(b"/\\")) or drive.replace(b":", b"").replace(b"\\", b"_").strip(b"_")
        if os.path.isfile(absolute(root)):
            name = b""  # a file that was named itself has no tree
        taken, number, own = set(found.values()), 2, name
        while own and own in taken:
            own, number = b"%s (%d)" % (name, number), number + 1
        found[root] = own
    return found


def _that_exists(folder: bytes) -> bytes:
    """Return the innermost folder on the way that is there already."""
    while not os.path.lexists(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder
