"""Places in a trash: the info file that reserves a name, and the renames into the trash and out of it.

By the freedesktop.org specification 1.0.  Deletes no file and copies none; finds no trash.
Specification: https://specifications.freedesktop.org/trash-spec/1.0/
"""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Self
from urllib.parse import quote_from_bytes, unquote_to_bytes

from dedupe.storage import durable, opening
from dedupe.storage.rename import rename_no_replace, sync_folder

_ENDING = b".trashinfo"
_EXTENSION = 16  # bytes of an ending that is worth keeping where a name is cut
_LONGEST = 1 << 16  # bytes of an info file
_COUNTED = 10  # numbers that are tried before a name is drawn: a trash may hold thousands of one name


@dataclass(frozen=True)
class Slot:
    """A place in a trash: ours once its info file is there, which bears the name that the file gets."""

    trash: Trash
    name: bytes

    @property
    def path(self) -> bytes:
        """Where the file lies, once it is put there."""
        return os.path.join(self.trash.folder, b"files", self.name)

    def put(self, folder: int, name: bytes) -> None:
        """Rename a file of an open folder into the trash.

        Raises:
            FileExistsError: something without an info file has the name: forget this slot, reserve another.
            OSError: it was not put there; EXDEV if it lies on another volume or mount.
        """
        rename_no_replace(name, self.name, source_dir=folder, target_dir=self.trash.files)

    def take_back(self, folder: int, name: bytes) -> None:
        """Rename the file from the trash into an open folder, and give the slot up.

        Raises:
            FileExistsError: something has that name; the file is still in the trash.
            FileNotFoundError: it is not in the trash any more.
            OSError: it was not taken back.
        """
        rename_no_replace(self.name, name, source_dir=self.trash.files, target_dir=folder)
        self.forget()

    def forget(self) -> None:
        """Give the slot up, unless a file lies there: its info file goes."""
        try:
            opening.stat_at(self.trash.files, self.name)
        except FileNotFoundError:
            with suppress(FileNotFoundError):
                opening.unlink_at(self.trash.info, self.name + _ENDING)


class Trash:
    """One trash folder, open; `trash_xdg` finds and opens it.

    Attributes:
        folder: its path.
        top: the top folder of the volume that it belongs to; None for the one in the user's home.
        files: descriptor of the folder with the files.
        info: descriptor of the folder that tells where they came from.
        passed_over: which trash comes before it by the specification, and why it is not used; empty if none.

    """

    def __init__(self, folder: bytes, top: bytes | None, files: int, info: int) -> None:
        self.folder, self.top, self.files, self.info = folder, top, files, info
        self.passed_over = ""
        self._chosen: set[bytes] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close its folders; slots cannot be used any more."""
        os.close(self.files)
        os.close(self.info)

    def sync(self) -> None:
        """Have the names in the trash, and what their info files say, written to the disk."""
        if not durable.write_volume(self.info):  # one call for as many info files as were written since
            sync_folder(self.info)
            sync_folder(self.files)

    def slot(self, name: bytes) -> Slot:
        """Return the slot of a file that was put there before, by its name in the trash."""
        return Slot(self, name)

    def choose(self, name: bytes) -> Slot:
        """Return a place that is free, and is chosen only once by this object; it is nobody's until it is claimed."""
        longest = min(opening.longest_name(self.info), opening.longest_name(self.files))
        number = 0
        while True:
            number += 1
            tried = _numbered(name, number, longest - len(_ENDING))
            if tried not in self._chosen and not self._is_there(tried):
                self._chosen.add(tried)
                return Slot(self, tried)

    def claim(self, slot: Slot, original: bytes, when: datetime, *, sync: bool = True) -> bool:
        """Make a place ours, by writing where the file came from; return whether it still was free.

        Args:
            slot: the place.
            original: the file's absolute path.
            when: the time to write down; told in local time.
            sync: have the info file written to the disk, not only to the system.

        Raises:
            OSError: it could not be made; nothing stays of it.
        """
        date = when.astimezone().strftime("%Y-%m-%dT%H:%M:%S")
        place = quote_from_bytes(self._written(original), safe="/")
        text = f"[Trash Info]\nPath={place}\nDeletionDate={date}\n".encode("ascii")
        if not self._claim(slot.name + _ENDING, text, sync=sync):
            return False
        try:
            opening.stat_at(self.files, slot.name)
        except FileNotFoundError:
            return True
        opening.unlink_at(self.info, slot.name + _ENDING)  # ours; of the file nobody knows where it came from
        return False

    def reserve(self, name: bytes, original: bytes, when: datetime, *, sync: bool = True) -> Slot:
        """Choose a place for a file of a name and claim it, as `claim` does.

        Raises:
            OSError: it could not be made; nothing stays of it.
        """
        while True:
            slot = self.choose(name)
            if self.claim(slot, original, when, sync=sync):
                return slot

    def _is_there(self, name: bytes) -> bool:
        for folder, each in ((self.info, name + _ENDING), (self.files, name)):
            with suppress(FileNotFoundError):
                opening.stat_at(folder, each)
                return True
        return False

    def _written(self, original: bytes) -> bytes:
        """Return a path as the info file has it: in a volume's trash relative to the volume's top."""
        if self.top is None:
            return original
        real = os.path.join(os.path.realpath(os.path.dirname(original)), os.path.basename(original))
        return os.path.relpath(real, self.top)

    def _claim(self, name: bytes, text: bytes, *, sync: bool) -> bool:
        """Write a new info file; return False where one of that name is there."""
        try:
            made = opening.create_new(self.info, name)
        except FileExistsError:
            return False
        try:
            if os.write(made, text) < len(text):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.path.join(self.folder, b"info", name))
            if sync:
                os.fsync(made)
        except OSError:
            opening.unlink_at(self.info, name)
            raise
        finally:
            os.close(made)
        return True


def _numbered(name: bytes, number: int, longest: int) -> bytes:
    """Return a name for the trash: the file's own, cut and numbered where need be, its ending kept."""
    if number == 1 and len(name) <= longest:
        return name
    mark = b".%d" % number if number <= _COUNTED else b"." + secrets.token_hex(6).encode()
    stem, ending = os.path.splitext(name)
    if len(ending) > _EXTENSION:
        stem, ending = name, b""
    kept = stem[: longest - len(mark) - len(ending)]
    with suppress(UnicodeDecodeError):
        name.decode()
        kept = kept.decode(errors="ignore").encode()  # some file systems take no half characters
    return kept + mark + ending


def tells_of(info: tuple[int, bytes], original: bytes) -> bool:
    """Return whether an info file, a name in an open folder, is that of a file by its path; not another's.

    An empty one is: its writer was killed between making it and writing it, which is one call.

    Raises:
        OSError: it is not there, or cannot be read.
    """
    descriptor = opening.open_nofollow(*info)
    try:
        text = os.read(descriptor, _LONGEST)
    finally:
        os.close(descriptor)
    path = unquote_to_bytes(text.partition(b"\nPath=")[2].partition(b"\n")[0])
    return not text or path == original or (path != b"" and original.endswith(b"/" + path))
