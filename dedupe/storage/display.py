r"""Turns names of files into text for people and terminals, and reports back into exact bytes.  Touches no file.

A path is bytes inside the program.  Reports show it as UTF-8 text in which each byte that is no part of valid UTF-8
is written as `\xNN`; such a text alone is ambiguous (a name may hold a literal `\x41`), so the exact bytes follow in
base64, and loading a report prefers those.  On Windows `os.fsencode` writes a lone
surrogate as three bytes that are no valid UTF-8 either, so the same rule covers it.
"""

from __future__ import annotations

import binascii
import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # controls, invisible formats (bidi among them), line separators
_JOINERS = "\u200c\u200d"  # part of ordinary Persian words and of emoji; they do not change the order of text
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def text(path: bytes) -> str:
    r"""Return `path` as text without lone surrogates; bytes that are not valid UTF-8 become `\xNN`."""
    return path.decode("utf-8", "backslashreplace")


def base64_if_needed(path: bytes) -> str | None:
    """Return the exact bytes in base64 where `text` cannot be turned back into them, else None."""
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        return binascii.b2a_base64(path, newline=False).decode("ascii")
    return None


def exact(readable: str, base64: str | None = None) -> bytes:
    """Return the bytes of a path from its base64 if there is one, else from its text.

    Raises:
        ValueError: the base64 is invalid, the text holds a lone surrogate, or the path is empty or holds a NUL.
    """
    path = readable.encode("utf-8") if base64 is None else binascii.a2b_base64(base64, strict_mode=True)
    if not path or b"\0" in path:
        raise ValueError("no path")
    return path


def shown(path: bytes) -> str:
    r"""Return `path` as one line that is safe on a terminal: see `shown_text`; undecodable bytes become `\xNN`."""
    return shown_text(text(path))


def shown_text(line: str) -> str:
    """Return `line` with control, bidi and other invisible characters written as escapes.

    A backslash stays one backslash, as Windows paths would be unreadable otherwise: text for people, not for programs.
    """
    if line.isprintable():
        return line
    return "".join(_escape(character) for character in line)


def _escape(character: str) -> str:
    if character in _JOINERS or unicodedata.category(character) not in _HIDDEN:
        return character
    code = ord(character)
    if code < 0x80:  # above, `\xNN` would read as a raw byte
        return _SHORT.get(character, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def for_console(utf8: bytes, encoding: str) -> bytes:
    """Return UTF-8 text in a console's own encoding; what that encoding lacks becomes an escape, never an error.

    `utf8` holds whole characters, such as one piece of a text report; an unknown encoding counts as ASCII.
    """
    line = utf8.decode("utf-8", "backslashreplace")
    try:
        return line.encode(encoding, "backslashreplace")
    except LookupError:
        return line.encode("ascii", "backslashreplace")
