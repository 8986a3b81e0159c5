"""The journal: one file of JSON lines a run, written before each act and after it.  Acts on nothing.

The file lies in the user's state folder, is readable by its owner alone and only ever grows.  While a run is alive it
holds a lock on its journal; a journal without that lock and without a foot belongs to a run that was killed.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from dedupe.actions.records import Intent, Outcome
from dedupe.errors import NothingUsableError
from dedupe.storage import display
from dedupe.storage.rename import sync_folder
from dedupe.version import __version__

SCHEMA = "dedupe-journal/1"
ENDING = ".jsonl"
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_LENGTH = 8  # of a run's name: milliseconds until 2059
_NAME = re.compile(rf"[0-9a-z]{{{_LENGTH}}}{re.escape(ENDING)}")
_TORN = b" \n"  # ends a torn line; no whole one ends like that
_LOCKED_BYTE = 1 << 62  # beyond any journal: where Windows' lock keeps nobody from reading

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


def default_folder() -> str:
    """Return where the user's journals lie."""
    import platformdirs

    return os.path.join(platformdirs.user_state_dir("dedupe", appauthor=False), "journal")


class Journal:
    """A journal that is being written; a context manager.

    Args:
        folder: where journals lie; made if it is not there.
        action: what the run does, a word of the command line.
        options: what else it was told.
        marks_sha256: of the file that says what is to be done.
        undoes: of an undo, the run.

    Raises:
        NothingUsableError: it cannot be written, so that nothing may be done.
    """

    def __init__(
        self, folder: str, action: str, options: Mapping[str, Any], *, marks_sha256: str = "", undoes: str = ""
    ) -> None:
        self._folder = folder
        self._open: set[int] = set()  # intents of which the journal does not say how they ended
        self._is_torn = False
        _check_owner(folder)
        with self._needed():
            os.makedirs(folder, mode=0o700, exist_ok=True)
            self.run, self._file = _create(folder)
        self.path = os.path.join(folder, self.run + ENDING)
        head = {
            "kind": "head",
            "schema": SCHEMA,
            "run": self.run,
            "version": __version__,
            "host": platform.node(),
            "user": _user(),
            "started": now(),
            "system": f"{platform.system()} {platform.release()}",
            "action": action,
            "marks_sha256": marks_sha256,
            "undoes": undoes,
            "options": dict(options),
        }
        try:
            with self._needed():
                _lock(self._file)
                self.put([head])
                self.sync()
                sync_folder(os.fsencode(folder))
        except BaseException:
            os.close(self._file)
            with contextlib.suppress(OSError):
                os.unlink(self.path)  # nothing was begun
            raise

    def intend(self, intents: Iterable[Intent]) -> None:
        """Write what is going to be done, and have it on the disk before returning.

        Raises:
            NothingUsableError: it cannot be written: what was intended must not be done.
        """
        intents = list(intents)
        self._open |= {intent.n for intent in intents}
        with self._needed():
            self.put(intent.as_object() for intent in intents)
            self.sync()

    def tell(self, outcome: Outcome) -> None:
        """Write how an intent ended.

        Raises:
            NothingUsableError: it cannot be written: nothing more may be done.
        """
        with self._needed():
            self.put([outcome.as_object()])
        self._open.discard(outcome.n)

    def end(self, totals: Mapping[str, Any]) -> None:
        """Write the foot: the run has come to its end.

        Without a word on how each of its intents ended it gets none, and the next run looks, as after a kill.

        Raises:
            NothingUsableError: it cannot be written.
        """
        if self._open:
            return
        with self._needed():
            self.put([foot(totals)])
            self.sync()

    def put(self, objects: Iterable[Mapping[str, Any]]) -> None:
        """Append lines, each whole; behind one that could not be written whole, on a line of their own."""
        for each in objects:
            begin, self._is_torn = _TORN if self._is_torn else b"", True
            write_all(self._file, begin + json.dumps(each).encode() + b"\n")
            self._is_torn = False

    def sync(self) -> None:
        """Have all lines on the disk."""
        os.fsync(self._file)

    @contextlib.contextmanager
    def _needed(self) -> Any:
        try:
            yield
        except OSError as error:
            where = display.shown_text(self._folder)
            raise NothingUsableError(
                f"The journal in {where} cannot be written: {error.strerror}. Without it nothing is done: "
                "make room there, or set XDG_STATE_HOME to a folder that can be written."
            ) from error

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)


def now() -> str:
    """Return the time as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of some bytes, which one call need not do on a disk that is nearly full."""
    while data:
        data = data[os.write(descriptor, data) :]


@contextlib.contextmanager
def taken(path: str) -> Iterator[int | None]:
    """Hold the lock of a run that was killed, so that nobody else settles it; None if it is alive, or held.

    Raises:
        OSError: the journal cannot be opened.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0))
    try:
        try:
            _lock(descriptor)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
                raise
            yield None
        else:
            yield descriptor
    finally:
        os.close(descriptor)


def append(descriptor: int, objects: Iterable[Mapping[str, Any]]) -> None:
    """Add lines to the journal of a run that was killed; what it wrote last may be torn.

    Raises:
        OSError: it cannot be written.
    """
    end = os.lseek(descriptor, 0, os.SEEK_END)
    os.lseek(descriptor, max(end - 1, 0), os.SEEK_SET)
    torn = end > 0 and os.read(descriptor, 1) != b"\n"
    lines = b"".join(json.dumps(each).encode() + b"\n" for each in objects)
    write_all(descriptor, (_TORN if torn else b"") + lines)
    os.fsync(descriptor)


def foot(totals: Mapping[str, Any]) -> dict[str, Any]:
    """Return the line that ends a journal."""
    return {"kind": "foot", "ended": now(), "totals": dict(totals)}


def is_alive(path: str) -> bool:
    """Return whether the run that writes a journal is still at work."""
    try:
        with taken(path) as descriptor:
            return descriptor is None
    except OSError:
        return False


def _create(folder: str) -> tuple[str, int]:
    """Return a run's name, which sorts behind all that are there, whatever the clock says, and its new file."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
    last = max((int(name.removesuffix(ENDING), 36) for name in names(folder)), default=0)
    number = max(time.time_ns() // 1_000_000, last + 1)
    while True:
        run = _in_36(number).rjust(_LENGTH, "0")
        try:
            return run, os.open(os.path.join(folder, run + ENDING), flags, 0o600)
        except FileExistsError:
            number += 1


def names(folder: str) -> list[str]:
    """Return the names of all journals in a folder, the oldest first.

    Raises:
        OSError: the folder cannot be read.
    """
    return sorted(name for name in os.listdir(folder) if _NAME.fullmatch(name))


def _check_owner(folder: str) -> None:
    """Refuse to write among another user's files, as `sudo` can have it: their owner could read and undo none of it.

    Raises:
        NothingUsableError: that would be done.
    """
    above = folder
    while not os.path.isdir(above) and above != os.path.dirname(above):
        above = os.path.dirname(above)
    if sys.platform != "win32" and os.stat(above).st_uid not in (os.geteuid(), 0):
        raise NothingUsableError(
            f"{display.shown_text(above)} is another user's folder, and no place for your journal: run this without "
            "sudo, with `sudo -H`, or with XDG_STATE_HOME set to a folder of your own. Nothing was done."
        )


def _in_36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits


def _user() -> str:
    try:
        import getpass

        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no such user is listed
        return ""


def _lock(descriptor: int) -> None:
    """Take the lock that shows the run to be alive; some file systems know no locks, and then all count as ended."""
    if sys.platform == "win32":
        at = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, at, os.SEEK_SET)
    else:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN):
                raise
