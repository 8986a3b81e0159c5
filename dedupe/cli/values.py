"""Parses what users type into options.  Knows no command."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable

from dedupe.cli import console, streams
from dedupe.errors import NothingUsableError, UsageError
from dedupe.storage import windows_paths
from dedupe.storage.byte_order import as_utf8
from dedupe.storage.paths import absolute

_SIZE = re.compile(r"(\d{1,99})(?:\.(\d{1,99}))?\s*([kmgtpe]?)(?:i?b)?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}


def size(text: str) -> int:
    """Return bytes for a size such as 4096, 10k, 1.5M or 1GiB; k is 1024.

    Raises:
        UsageError: it is no size.
    """
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise UsageError(
            f"{text!r} is not a size: write bytes, or a number with k, M, G or T, such as 10k, 4M or 1GiB."
        )
    fraction = match[2] or ""
    parts: int = 10 ** len(fraction)
    return (int(match[1] + fraction) << 10 * _POWERS[match[3].lower()]) // parts


def refuse_empty(option: str, *named: str | None) -> None:
    """Refuse a name without a character, as an unset variable in a script makes it, before it is taken for another.

    Raises:
        UsageError: one of them is empty.
    """
    if "" in named:
        raise UsageError(f"{option} is an empty text: give it a value, or leave it out.")


def cache_file(named: str | None) -> str:
    """Return the path of the cache: the one named, or else the user's default.

    Raises:
        UsageError: the name is empty, as an unset variable in a script makes it.
    """
    if named is None:
        from dedupe.cache.store import default_path

        return default_path()
    if not named:
        raise UsageError("--cache names no file: give a path, or leave the option out for your own cache.")
    return os.path.abspath(named)


def wanted_cache(named: str | None, *, no_cache: bool) -> str | None:
    """Return the path of the cache, None for a run without one.

    Raises:
        UsageError: one is named and refused at once, or the name is empty.
    """
    if named is not None and no_cache:
        raise UsageError("--cache and --no-cache contradict each other: give one of them.")
    return None if no_cache else cache_file(named)


def cache_files(cache: str | None) -> list[bytes]:
    """Return the files of the cache, which no report may replace."""
    if cache is None:
        return []
    from dedupe.cache.database import files_of

    return [os.fsencode(file) for file in files_of(cache)]


def content(source: str, what: str) -> bytes:
    """Return all of a file, or of standard input for `-`; `what` it is, for messages.

    Raises:
        NothingUsableError: it cannot be read.
    """
    return streams.stdin().read() if source == "-" else _file_content(source, what)


def _file_content(path: str, what: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise NothingUsableError(f"The {what} {path} cannot be read: {error.strerror}.") from error


def path_list(source: str, *, null: bool) -> list[bytes]:
    """Return the paths that a file (`-`: standard input) lists, one a line or, with `null`, ended by NUL each.

    Raises:
        NothingUsableError: the list cannot be read.
        UsageError: a line or record is empty, and would mean the current folder.
    """
    refuse_empty("--files-from", source)
    data = content(source, "list")
    parts = data.split(b"\0") if null else _lines(as_utf8(data))
    if not parts[-1]:
        parts.pop()  # what follows the last end of a line
    if b"" in parts:
        what = "record" if null else "line"
        raise UsageError(
            f"The list {source} names no path in {what} {parts.index(b'') + 1}: take the empty {what} out."
        )
    if sys.platform == "win32":
        parts = [_as_windows_has_it(part) for part in parts]
    return parts


def _as_windows_has_it(path: bytes) -> bytes:
    """Return a path in a form that `os.fsdecode` accepts on Windows, even if no file can have that name."""
    try:
        path.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return path.decode("utf-8", "surrogateescape").encode("utf-8", "surrogatepass")
    return path


def _lines(data: bytes) -> list[bytes]:
    """Return lines; carriage returns are removed only if every line ends in one, since one may be part of a name."""
    lines = data.split(b"\n")
    *ended, last = lines
    if any(ended) and all(line.endswith(b"\r") for line in ended if line):
        return [line.removesuffix(b"\r") for line in ended] + [last.removesuffix(b"\r")]
    return lines


def roots(arguments: Iterable[str]) -> list[bytes]:
    """Return the paths that users name as absolute ones; what a Windows shell did to one is undone, and said.

    Raises:
        UsageError: a path is empty, or the shell made one argument of several.
    """
    found = []
    for argument in arguments:
        path, note = windows_paths.mended(argument) if sys.platform == "win32" else (argument, None)
        if note:
            console.say(f"dedupe: {note}")
        found.append(absolute(os.fsencode(path)))
    return found


def exclude_lines(files: Iterable[str]) -> list[str]:
    """Return the rules of ignore files, one after the other.

    Raises:
        NothingUsableError: one cannot be read.
        UsageError: a name is empty.
    """
    return [line for name in files for line in _text_of(name, "--exclude-from").splitlines()]


def accepted_digests(name: str, algorithm: str) -> list[bytes]:
    """Return the digests by an algorithm that a list of wanted duplicates names.

    Raises:
        NothingUsableError: it cannot be read.
        UsageError: it is no such list, or the algorithm is none.
    """
    if algorithm == "bytes":
        raise UsageError("--accept knows duplicates by their digests, and --confirm bytes has none: choose another.")
    return [digest for kind, digest in listed_digests(name) if kind in ("", algorithm)]


def listed_digests(name: str) -> list[tuple[str, bytes]]:
    """Return all digests of a list of wanted duplicates, each with its algorithm, empty where the line names none.

    Raises:
        NothingUsableError: it cannot be read.
        UsageError: a line holds something else.
    """
    from dedupe.report import accept_list

    try:
        return list(accept_list.parse(_text_of(name, "--accept")))
    except ValueError as error:
        raise UsageError(f"The list {name} has no digest in line {error}: write it as sha256:…") from error


def _text_of(name: str, option: str) -> str:
    refuse_empty(option, name)
    return as_utf8(_file_content(name, "list")).decode("utf-8", "surrogateescape")
