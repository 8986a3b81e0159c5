"""Report files: opened before the work, written under a temporary name, then renamed.  Renders nothing itself."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from dedupe.cli.values import refuse_empty
from dedupe.errors import NothingUsableError, UsageError
from dedupe.report import FORMATS, Format, Style, format_for
from dedupe.storage import sqlite_owner
from dedupe.storage.paths import lies_below

# How our own reports begin: such a file inside a root may be replaced by a newer report, any other may not.
_OURS = re.compile(
    b"|".join(
        (
            rb'\{("type": "header", )?"schema": "dedupe-',
            rb"\xef\xbb\xbfgroup,file,size,algorithm,digest,",
            rb'<!doctype html>.{,4000}<meta name="generator" content="dedupe ',
            rb"No duplicates\.\r?\n",
            rb"Identical folders: \d",
            rb"Folders were not compared",
            rb"Group [\d,]+: [\d,]+ (empty )?files?[ ,]",
            rb"\xef\xbb\xbffile,size,modified,reason,",
            rb"Nothing (is|was found) missing",
            rb"Missing: ",
            rb"\xef\xbb\xbfcatalog,root,volume,path,",
            rb'\{"catalog": "[0-9a-f]{16}", "root": "',
        )
    ),
    re.DOTALL,
)


_LAST = 1 << 20  # bytes of a file of Parquet that hold what is said of it


@dataclass(slots=True)
class _Output:
    """One report file that is being written."""

    path: str  # as the user wrote it
    target: str  # where links lead
    format: Format
    file: BinaryIO
    temporary: str | None  # None: a device or a pipe, written in place


class Outputs:
    """The report files of one run; a context manager that leaves nothing half written behind.

    Args:
        paths: as given to `--output`.
        roots: nothing below these is overwritten, except a report of our own.
        kept: files that must not be overwritten wherever they lie, such as the cache.
        anywhere: links are followed, so that any file may be one of those to be scanned.
        formats: those that there are, by their names.

    Raises:
        UsageError: a path's ending names no format, or a file that is to stay would be overwritten; a database that
            is no report of ours stays wherever it lies.
        NothingUsableError: a file cannot be made where the path says.
    """

    def __init__(
        self,
        paths: Sequence[str],
        roots: Iterable[bytes] = (),
        kept: Iterable[bytes] = (),
        *,
        anywhere: bool = False,
        formats: Mapping[str, Format] = FORMATS,
    ) -> None:
        self._outputs: list[_Output] = []
        self._anywhere = anywhere
        self._formats = formats
        guarded = list(roots)
        kept_files = {os.path.realpath(k) for k in kept}
        try:
            for path in paths:
                self._add(path, guarded, kept_files)
        except BaseException:
            self.discard()
            raise

    def _add(self, path: str, roots: Sequence[bytes], kept: set[bytes]) -> None:
        import tempfile  # imports random and bisect, which a scan without report files does not need

        refuse_empty("--output", path)
        form = format_for(path, self._formats)
        target = os.path.realpath(path)
        place = os.fsencode(target)
        if os.path.isdir(target):
            raise UsageError(f"{path} is a folder: name a file to write the report to.")
        if place in kept:
            raise UsageError(f"{path} is the cache: name another file to write the report to.")
        if any(o.target == target for o in self._outputs):
            raise UsageError(f"{path} is named twice: give each report a file of its own.")
        ours = _replaceable(target)
        if not ours and (form.binary or _is_database(target)):
            raise UsageError(
                f"{path} is no report of dedupe, and stays as it is: name another file to write the report to."
            )
        if not ours and (self._anywhere or any(lies_below(place, r) for r in roots)):
            raise UsageError(f"{path} is one of the files to be scanned: name another file to write the report to.")
        try:
            with contextlib.suppress(FileNotFoundError):
                os.lstat(target)  # shows a name that is too long before the work, not after it
            if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
                self._outputs.append(_Output(path, target, form, open(target, "wb"), None))  # noqa: SIM115 - `write` closes it
                return
            folder, name = os.path.split(target)
            handle, temporary = tempfile.mkstemp(suffix=".part", prefix=f".{name[:40]}.", dir=folder)
            self._outputs.append(_Output(path, target, form, os.fdopen(handle, "wb"), temporary))
            if os.path.exists(target) and not os.access(target, os.W_OK):
                raise PermissionError(13, "it is there and may not be written")
        except OSError as error:
            raise NothingUsableError(f"The report {path} cannot be written: {error.strerror}.") from error

    @property
    def own_files(self) -> list[bytes]:
        """Return the paths that take no part in a scan."""
        found = [o.target for o in self._outputs] + [o.temporary for o in self._outputs if o.temporary]
        return [os.fsencode(p) for p in found]

    def write(self, result: object, style: Style) -> None:
        """Write every report and rename it to its final name, each whole or not at all.

        Raises:
            NothingUsableError: one could not be written; those before it are there.
        """
        for output in self._outputs:
            try:
                with output.file as file:
                    file.writelines(output.format.render(result, style))
                    file.flush()
                    if output.temporary is not None:
                        os.fsync(file.fileno())
                if output.temporary is not None:
                    _give_usual_mode(output.temporary, output.target)
                    os.replace(output.temporary, output.target)
                    output.temporary = None
            except (OSError, sqlite3.Error) as error:  # a database is made in the temporary folder, which may be full
                reason = getattr(error, "strerror", None) or error
                raise NothingUsableError(f"The report {output.path} could not be written: {reason}.") from error

    def discard(self) -> None:
        """Remove the reports that were not finished."""
        for output in self._outputs:
            with contextlib.suppress(OSError):
                output.file.close()
            if output.temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(output.temporary)

    def __enter__(self) -> Outputs:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()


def standard_output(name: str | None, outputs: Sequence[str], formats: Mapping[str, Format] = FORMATS) -> Format | None:
    """Return the format for standard output, or None for nothing.

    Raises:
        UsageError: `name` is no format that standard output can take.
    """
    if name is None:
        return None if outputs else formats["text"]
    known = [n for n, form in formats.items() if not form.binary and n != "html"]
    if name not in known:
        raise UsageError(f"{name!r} is no format for standard output: choose one of {', '.join(known)}.")
    return formats[name]


def _replaceable(target: str) -> bool:
    """Return whether nothing is lost if a file is overwritten: not there, a device, empty, or our own report."""
    if not os.path.isfile(target):  # a pipe is no data, and opening it would wait for a writer
        return True
    try:
        with open(target, "rb") as file:
            begin = file.read(4096)
    except OSError:
        return False
    if begin.startswith(sqlite_owner.MAGIC):
        return _is_our_database(target)
    if begin.startswith(b"PAR1"):
        return _is_our_export(target)
    return not begin or _OURS.match(begin) is not None


def _is_our_export(path: str) -> bool:
    """Return whether a file of Parquet is an export of ours: what is said of such a file stands at its end."""
    from dedupe.query.export.parquet import MARK

    with contextlib.suppress(OSError), open(path, "rb") as file:
        file.seek(-min(os.path.getsize(path), _LAST), os.SEEK_END)
        return MARK in file.read()
    return False


def _is_database(path: str) -> bool:
    with contextlib.suppress(OSError):
        return sqlite_owner.is_database(path)
    return False


def _is_our_database(path: str) -> bool:
    owner = sqlite_owner.application_of(path)
    return owner == sqlite_owner.REPORT or (owner == 0 and _is_report_of_0_1(path))


def _is_report_of_0_1(path: str) -> bool:
    """Return whether a database is a report of version 0.1, whose reports had no number of their own yet."""
    from urllib.parse import quote

    with contextlib.suppress(sqlite3.Error):
        uri = "file:" + quote(os.fsencode(path)) + "?mode=ro&immutable=1"
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as database:
            row = database.execute("SELECT schema FROM scan").fetchone()
            return row is not None and str(row[0]).startswith("dedupe-")
    return False


def _give_usual_mode(path: str, target: str) -> None:
    """Give a file the mode of the one whose place it takes, or that of any new file: temporary ones are private."""
    try:
        mode = stat.S_IMODE(os.stat(target).st_mode)
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    os.chmod(path, mode)
