"""What users type into options, parsed once.  Knows no command."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable

from dedupe import winpath
from dedupe.cli import console
from dedupe.errors import NothingUsableError, UsageError
from dedupe.paths import absolute

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


def path_list(source: str, *, null: bool) -> list[bytes]:
    """Return the paths that a file (`-`: standard input) lists, one a line or, with `null`, ended by NUL each.

    Raises:
        NothingUsableError: the list cannot be read.
    """
    try:
        if source == "-":
            data = console.stdin().read()
        else:
            with open(source, "rb") as file:
                data = file.read()
    except OSError as error:
        raise NothingUsableError(f"The list {source} cannot be read: {error.strerror}.") from error
    parts = data.split(b"\0") if null else _lines(data.removeprefix(b"\xef\xbb\xbf"))
    if sys.platform == "win32":
        parts = [_as_windows_has_it(part) for part in parts]
    return [part for part in parts if part]


def _as_windows_has_it(path: bytes) -> bytes:
    """Return a path in the form that `os.fsdecode` takes there; bytes that no name can have lead to no file."""
    try:
        path.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return path.decode("utf-8", "surrogateescape").encode("utf-8", "surrogatepass")
    return path


def _lines(data: bytes) -> list[bytes]:
    """Return lines; a carriage return ends one only where it ends all, since it may be part of a name."""
    lines = data.split(b"\n")
    *ended, last = lines
    if any(ended) and all(line.endswith(b"\r") for line in ended if line):
        return [line.removesuffix(b"\r") for line in ended] + [last.removesuffix(b"\r")]
    return lines


def roots(arguments: Iterable[str]) -> list[bytes]:
    """Return what users name to be looked at as absolute paths; what a Windows shell did to one is mended and told.

    Raises:
        UsageError: the shell made one argument of several.
    """
    found = []
    for argument in arguments:
        path, note = winpath.mended(argument) if sys.platform == "win32" else (argument, None)
        if note:
            console.say(f"dedupe: {note}")
        found.append(absolute(os.fsencode(path)))
    return found
