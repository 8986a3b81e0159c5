r"""Windows' rules for paths: extended-length inside the program, plain outside.  Makes no system call of its own.

An extended-length path (`\\?\D:\x`, `\\?\UNC\server\share\x`) has no limit of 260 characters, and Windows takes every
name in it literally: `NUL`, `x.` and `x ` are then files like any other.  So what Windows would resolve in a plain path
(slashes, `.`, `..`, current directories) has to be resolved before.  The rules are in Microsoft's "Naming
Files, Paths, and Namespaces" and "Maximum Path Length Limitation".

Paths are bytes as `os.fsencode` makes them on Windows: UTF-8, which here may hold a lone half of a surrogate pair.
"""

from __future__ import annotations

import ntpath
from typing import TYPE_CHECKING

from dedupe.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

VERBATIM = "\\\\?\\"
VERBATIM_UNC = VERBATIM + "UNC\\"
DEVICES = "\\\\.\\"


def extended(path: bytes, current: Callable[[str], str] = ntpath.abspath) -> bytes:
    r"""Return `path` as an absolute extended-length path; one that is extended already is returned unchanged.

    Args:
        path: as a user writes it: `D:\x`, `D:` (the current directory on that drive), `\x`, `x/y`, `\\server\share`.
        current: gives the current directory of a drive (`"D:"`), or of the process (`"."`), as a plain absolute path.

    Returns:
        The path without `.`, `..` and `/`; a drive's or share's root ends in a backslash, nothing else does.
        Paths of devices (`\\.\PhysicalDrive0`) have no such form and are returned unchanged.

    """
    text = _decoded(path)
    if text.startswith((VERBATIM, DEVICES)):
        return path
    # `//?/D:/x` is not an extended-length path: Windows resolves it like a plain one
    text = _decoded(plain(_encoded(text.replace("/", "\\"))))
    if text.startswith((VERBATIM, DEVICES)):
        return _encoded(text)
    drive, rest = ntpath.splitdrive(text)
    if not drive and not rest.startswith("\\"):
        drive, rest = _joined(current("."), rest)
    elif not drive:
        drive = _joined(current("."), "")[0]
    elif not drive.startswith("\\\\") and not rest.startswith("\\"):
        drive, rest = _joined(current(drive), rest)
    prefix = VERBATIM_UNC + drive[2:] if drive.startswith("\\\\") else VERBATIM + drive
    return _encoded(prefix + "\\" + "\\".join(_resolved(rest)))


def plain(path: bytes) -> bytes:
    r"""Return an extended-length path as people and other programs write it; any other path unchanged.

    `extended` undoes it exactly.  `\\?\Volume{...}\` and the like have no plain form and stay.
    """
    text = _decoded(path)
    if text[: len(VERBATIM_UNC)].upper() == VERBATIM_UNC:
        return _encoded("\\\\" + text[len(VERBATIM_UNC) :])
    if text.startswith(VERBATIM) and text[5:7] == ":\\":
        return _encoded(text[len(VERBATIM) :])
    return path


def mended(argument: str) -> tuple[str, str | None]:
    r"""Undo what a Windows shell makes of `"D:\"`, in which it takes the last quote for a part of the path.

    Only for Windows, where no name can hold a quote.

    Returns:
        The path that was meant, and a sentence about it for the user, or None if nothing was changed.

    Raises:
        UsageError: the quote took in further arguments, and it is not known where each of them ended.

    """
    path, quote, swallowed = argument.partition('"')
    if swallowed.strip('" '):
        message = (
            f'The path {path}\\ took in the arguments after it ({swallowed.strip()}), because \\" stands for a quote'
        )
        raise UsageError(f"{message}: write it without the backslash at its end, or with two of them.")
    if quote:
        path = path.rstrip("\\") + "\\"
        return (
            path,
            f'Read {argument} as {path}, because in a Windows shell \\" at the end of a path stands for a quote.',
        )
    if len(path) == 2 and path[1] == ":":
        return path, f"{path} means the current directory on that drive: write {path}\\ for the whole drive."
    return path, None


def _joined(directory: str, rest: str) -> tuple[str, str]:
    """Split a current directory into its drive and the remainder, with `rest` put after it."""
    drive, inner = ntpath.splitdrive(_decoded(plain(_encoded(directory))))
    return drive, inner + "\\" + rest


def _resolved(rest: str) -> list[str]:
    """Return the names in `rest`, with `.` and `..` resolved; the parent of the root is the root, as on Windows."""
    names: list[str] = []
    for name in rest.split("\\"):
        if name == "..":
            del names[-1:]
        elif name not in ("", "."):
            names.append(name)
    return names


def _decoded(path: bytes) -> str:
    return path.decode("utf-8", "surrogatepass")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
