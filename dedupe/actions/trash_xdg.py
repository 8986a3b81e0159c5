"""Where the trash of a file lies on Linux desktops, by the freedesktop.org specification 1.0.

Makes the folders of a trash, and nothing else.  A volume whose trash cannot be had is refused; nothing takes its place.
Specification: https://specifications.freedesktop.org/trash-spec/1.0/
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Self

from dedupe.actions.permits import mount_of
from dedupe.actions.trash_slots import Trash
from dedupe.storage import display


class NoTrashError(OSError):
    """There is no trash for a file that could be used; the text is one sentence."""


class NotMadeError(NoTrashError):
    """There is no trash yet, and one can be made."""

    passed_over = ""  # as of a `Trash`


class Trashes:
    """The trashes of many files, each looked for once and open until this is closed."""

    def __init__(self, home: bytes | None = None) -> None:
        """Look for nothing yet.

        Args:
            home: where the user's data lies, if not where the system says.
        """
        self._home = home
        self._by_folder: dict[tuple[bytes, int], Trash] = {}
        self._by_place: dict[bytes, Trash] = {}
        self._looked: dict[tuple[bytes, int], NoTrashError | None] = {}
        self.passed_over: dict[str, None] = {}  # trashes that are not used, and why
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def find(self, path: bytes, *, device: int) -> Trash:
        """Return the trash that a file belongs to, as `find_trash` does.

        Raises:
            NoTrashError: there is none, with the reason.
        """
        key = os.path.dirname(path), device
        if key not in self._by_folder:
            found = find_trash(path, device=device, home=self._home)
            known = self._by_place.setdefault(found.folder, found)
            if known is found:
                self._open.enter_context(found)
            else:
                found.close()
            self._by_folder[key] = known
            self._note(found)
        return self._by_folder[key]

    def look(self, path: bytes, *, device: int) -> None:
        """Look whether a file has a trash, or one could be made for it; makes nothing.

        Raises:
            NoTrashError: there is none, with the reason.
        """
        key = os.path.dirname(path), device
        if key not in self._looked:
            try:
                found = find_trash(path, device=device, home=self._home, make=False)
                self._note(found)
                found.close()
                self._looked[key] = None
            except NotMadeError as none:
                self._note(none)
                self._looked[key] = None
            except NoTrashError as error:
                self._looked[key] = error
        if (refusal := self._looked[key]) is not None:
            raise refusal

    def _note(self, found: Trash | NotMadeError) -> None:
        if found.passed_over:
            self.passed_over[found.passed_over] = None


if sys.platform == "linux":
    from dedupe.storage import opening

    def data_home() -> bytes:
        """Return where this user's data lies, by the XDG base directory specification."""
        given = os.environb.get(b"XDG_DATA_HOME", b"")
        return given if given.startswith(b"/") else os.path.join(os.path.expanduser(b"~"), b".local/share")

    def find_trash(path: bytes, *, device: int, home: bytes | None = None, make: bool = True) -> Trash:
        """Return the trash that a file belongs to: on its own volume, made if it is not there yet.

        Args:
            path: of the file; absolute.
            device: its `st_dev`.
            home: where the user's data lies, in place of `data_home()`.
            make: make what is missing of it.

        Raises:
            NoTrashError: there is none, with the reason; NotMadeError if it only has not been made.
        """
        folder = os.path.realpath(os.path.dirname(path))
        top, found = _top(folder)
        if found != device:
            raise NoTrashError(errno.EXDEV, "it lies on another volume than its folder, as a mounted file does", path)
        home = os.path.realpath(os.path.join(data_home() if home is None else home, b"Trash"))
        if _top(_existing(home)) == (top, found):
            return _made(home, None, make=make)
        try:
            return _shared(top, make=make)
        except NotMadeError:
            raise
        except NoTrashError as error:  # then the user's own in the top folder is the one
            passed = "" if error.errno == errno.ENOENT else f"{_shown(top, b'.Trash')} is not used: {error.strerror}."
        try:
            trash = _made(os.path.join(top, b".Trash-%d" % os.geteuid()), top, make=make)
        except NotMadeError as none:
            none.passed_over = passed
            raise
        trash.passed_over = passed
        return trash

    def _shown(*parts: bytes) -> str:
        return display.shown(os.path.join(*parts))

    def open_trash(folder: bytes, top: bytes | None = None) -> Trash:
        """Open a trash that is there, as a journal names it.

        Args:
            folder: its path, free of symbolic links.
            top: of the volume; None for the one in the user's home.

        Raises:
            NoTrashError: it is not this user's, or not built as a trash is.
        """
        files = _open_own(folder, b"files")
        try:
            return Trash(folder, top, files, _open_own(folder, b"info"))
        except OSError:
            os.close(files)
            raise

    def _shared(top: bytes, *, make: bool) -> Trash:
        """Return the user's part of a trash that the administrator made for all: a real folder with the sticky bit."""
        folder = os.path.join(top, b".Trash")
        try:
            seen = os.lstat(folder)
        except OSError as error:
            raise NoTrashError(error.errno, error.strerror, folder) from error
        if not stat.S_ISDIR(seen.st_mode) or not seen.st_mode & stat.S_ISVTX:
            raise NoTrashError(errno.EPERM, "it is no folder with the sticky bit", folder)
        return _made(os.path.join(folder, b"%d" % os.geteuid()), top, make=make)

    def _made(folder: bytes, top: bytes | None, *, make: bool) -> Trash:
        """Return a trash; what is missing of it is made, for this user alone."""
        try:
            if top is None:
                _check_home(_existing(folder))
                if make:
                    os.makedirs(os.path.dirname(folder), 0o700, exist_ok=True)
            for each in (folder, os.path.join(folder, b"files"), os.path.join(folder, b"info")):
                if not make and not os.path.lexists(each):
                    raise _not_made(each)
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(each, 0o700)
                _check_own(os.lstat(each), each)
            return open_trash(folder, top)
        except NoTrashError:
            raise
        except OSError as error:
            raise NoTrashError(error.errno, _unusable(folder, error.strerror), folder) from error

    def _not_made(folder: bytes) -> NoTrashError:
        """Return that a folder of a trash is not there yet, or that it cannot be made."""
        above = _existing(os.path.dirname(folder))
        try:
            if os.statvfs(above).f_flag & os.ST_RDONLY:
                return NoTrashError(errno.EROFS, _unusable(folder, os.strerror(errno.EROFS)), folder)
        except OSError as error:
            return NoTrashError(error.errno, _unusable(folder, error.strerror), folder)
        if not os.access(above, os.W_OK | os.X_OK, effective_ids=True):
            return NoTrashError(errno.EACCES, _unusable(folder, os.strerror(errno.EACCES)), folder)
        return NotMadeError(errno.ENOENT, "it is not made yet", folder)

    def _unusable(folder: bytes, reason: str | None) -> str:
        return f"its trash {_shown(folder)} cannot be used ({reason})"

    def _check_home(above: bytes) -> None:
        """Refuse another user's home, as `sudo` can leave it: what is made there could not be used by its owner.

        Raises:
            NoTrashError: it is.
        """
        if os.stat(above).st_uid not in (os.geteuid(), 0):
            said = "the home folder is another user's: run this without sudo, or with `sudo -H`"
            raise NoTrashError(errno.EPERM, said, above)

    def _check_own(seen: os.stat_result, folder: bytes) -> None:
        if not stat.S_ISDIR(seen.st_mode):
            raise NoTrashError(errno.ENOTDIR, "the place of its trash is taken by something that is no folder", folder)
        if seen.st_uid != os.geteuid():
            raise NoTrashError(errno.EPERM, "the place of its trash is taken by a folder of another user", folder)

    def _open_own(folder: bytes, name: bytes) -> int:
        path = os.path.join(folder, name)
        try:
            opened = opening.open_folder(path)
        except OSError as error:
            raise NoTrashError(error.errno, f"it is no trash ({error.strerror})", path) from error
        try:
            _check_own(os.fstat(opened), path)
        except OSError:
            os.close(opened)
            raise
        return opened

    def _existing(path: bytes) -> bytes:
        """Return the nearest folder at or above a path that is there."""
        while not os.path.isdir(path):
            path = os.path.dirname(path)
        return path

    def _top(folder: bytes) -> tuple[bytes, int]:
        """Return the highest folder from which files can be renamed into a real folder, and its device.

        That is where the mount begins (a bind mount too, though it has the same device), or a subvolume of btrfs
        (which is no mount, though it has another device).
        """
        here = mount_of(folder)
        while folder != b"/":
            above = os.path.dirname(folder)
            if mount_of(above) != here:
                break
            folder = above
        return folder, here[1]

else:
    _NOWHERE = "dedupe knows the trash of Linux desktops only"

    def find_trash(path: bytes, *, device: int, home: bytes | None = None, make: bool = True) -> Trash:  # noqa: ARG001
        """Raise NoTrashError: this system has no such trash."""
        raise NoTrashError(errno.ENOTSUP, _NOWHERE, path)

    def open_trash(folder: bytes, top: bytes | None = None) -> Trash:  # noqa: ARG001
        """Raise NoTrashError: this system has no such trash."""
        raise NoTrashError(errno.ENOTSUP, _NOWHERE, folder)
