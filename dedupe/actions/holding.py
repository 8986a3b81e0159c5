"""Files and folders held open while they are proven and acted on, so that nothing can take their place unseen.

Opens through real folders, follows no link, keeps writers away where the system can.  Reads and changes nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TypeAlias

from dedupe.actions import looks, permits
from dedupe.actions.aliases import Seen
from dedupe.actions.copies import Copy, Name
from dedupe.actions.looks import Look
from dedupe.storage import lease
from dedupe.storage.lasting import out_of_the_way
from dedupe.storage.opening import open_folder, open_nofollow

if sys.platform == "win32":
    from dedupe.storage import windows_acts

FolderHandle: TypeAlias = int


class RefusedError(Exception):
    """Why nothing is done about a file; its text is to stand after the file's name."""


class Folders:
    """Folders that are open, each once; a context manager that closes them."""

    def __init__(self) -> None:
        self._open: dict[bytes, FolderHandle] = {}
        self._writable: dict[bytes, str] = {}

    def __len__(self) -> int:
        return len(self._open)

    def handle(self, folder: bytes) -> FolderHandle:
        """Return an open folder by its real path.

        Raises:
            OSError: it is not there, or a link is on the way to it.
        """
        if folder not in self._open:
            self._open[folder] = open_folder(folder)
        return self._open[folder]

    def check_writable(self, names: Iterable[Name]) -> None:
        """Make sure that names can be changed in their folders, before anything is read for it.

        Raises:
            RefusedError: they cannot.
            OSError: a folder is not there, or a link is on the way to it.
        """
        for name in names:
            folder = self.handle(name.folder)
            if name.folder not in self._writable:
                self._writable[name.folder] = permits.of_folder(folder, name.folder)
            if reason := self._writable[name.folder] or permits.of_name(folder, name.name):
                raise RefusedError(reason)

    def all(self) -> list[FolderHandle]:
        """Return all that are open."""
        return list(self._open.values())

    def close(self) -> None:
        """Close all of them."""
        while self._open:
            os.close(self._open.popitem()[1])


@dataclass(slots=True, eq=False)
class Held:
    """A file that is open: a keeper, or a victim with all of its names."""

    copy: Copy
    descriptor: int
    seen: Look  # when it was opened, before it was read
    leased: bool
    folders: Folders
    _stack: ExitStack = field(repr=False)

    @property
    def name(self) -> Name:
        """Return the name that it was opened by."""
        return self.copy.names[0]

    @property
    def identity(self) -> tuple[int, int]:
        """Return what tells one file from another."""
        return self.seen.identity

    @property
    def as_seen(self) -> Seen:
        """Return it with the folders of its names."""
        first, *others = dict.fromkeys(name.folder for name in self.copy.names)
        return Seen(self.seen, first, tuple(others))

    def folder(self, name: Name) -> FolderHandle:
        """Return the open folder of one of its names."""
        return self.folders.handle(name.folder)

    def look(self) -> Look:
        """Look at the open file again."""
        return looks.of_open(self.descriptor)

    def is_undisturbed(self, since: Look | None = None) -> bool:
        """Return whether nobody has changed it, or asked to write to it, since it was opened.

        Args:
            since: how our own acts left it, where they moved its time of change meanwhile.
        """
        return self.look().is_untouched_since(since or self.seen) and self.keeps_writers_away()

    def is_at(self, folder: FolderHandle, name: bytes) -> bool:
        """Return whether a name in an open folder is this very file, with the content that it was opened with."""
        try:
            return looks.within(folder, name).is_as(self.seen)
        except OSError:
            return False

    def is_by_its_path(self, expected: Look) -> bool:
        """Return whether it is still there by its path, looked up and opened anew from the top.

        Args:
            expected: as it was seen last.  A new time of change means that somebody wrote to it, or renamed it, which
                is what is seen of a keeper that was the victim itself under another mount.
        """
        try:
            now = looks.anew(self.name.real)
        except OSError:
            return False
        return now.is_untouched_since(expected) and self.keeps_writers_away()

    def keeps_writers_away(self) -> bool:
        """Return whether nobody has asked to write to it since it was opened, as far as the system tells."""
        return not self.leased or lease.is_kept(self.descriptor)

    def close(self) -> None:
        """Let writers in again and close the file."""
        self._stack.close()


def hold(copy: Copy, size: int, folders: Folders, *, is_victim: bool) -> Held:
    """Open a file of the plan.

    Raises:
        RefusedError: it is not what the plan says, or somebody writes to it.
        FileNotFoundError: it is gone.
        OSError: it cannot be opened.
    """
    name = copy.names[0]
    if reason := out_of_the_way(name.folder):
        raise RefusedError(reason)
    folder = folders.handle(name.folder)
    with ExitStack() as stack:
        descriptor, leased = _open(folder, name.name, stack, is_victim=is_victim)
        seen = looks.of_open(descriptor)
        if not seen.is_regular:
            raise RefusedError("is no regular file any more")
        if seen.is_elsewhere:
            raise RefusedError("is in a cloud only")
        if seen.size != size:
            raise RefusedError("has another size than in the report")
        if is_victim and (reason := permits.of_file(descriptor)):
            raise RefusedError(reason)
        return Held(copy, descriptor, seen, leased, folders, stack.pop_all())


def _open(folder: FolderHandle, name: bytes, stack: ExitStack, *, is_victim: bool) -> tuple[int, bool]:
    """Open a file and keep writers away; return whether that could be done."""
    if looks.within(folder, name).is_elsewhere:  # before it is opened, which may fetch it
        raise RefusedError("is in a cloud only")
    try:
        if sys.platform == "win32":
            descriptor = lease.open_denying_writers(windows_acts.at(folder, name), may_move=is_victim)
            stack.callback(os.close, descriptor)
            return descriptor, False
        else:  # noqa: RET505 - mypy takes what follows an if for Windows as unreachable there
            del is_victim  # what may be done with a name is its folder's to say
            descriptor = open_nofollow(folder, name)
            stack.callback(os.close, descriptor)
            return descriptor, stack.enter_context(lease.read_lease(descriptor))
    except lease.WriterError as error:
        raise RefusedError("is open for writing by another program") from error
