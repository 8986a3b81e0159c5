"""The values of a saved report, each checked as it is taken.  Knows no program's format.

What is taken here can be written in every format, and our own JSON of it is taken again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from dedupe.result import Group
from dedupe.storage import display

T = TypeVar("T")

MOST = 2**100  # beyond any sum of sizes, length of a scan, or date of a file
MOST_BYTES = 2**63 - 1  # that a file can hold
_KINDS: dict[type, str] = {str: "text", int: "a whole number", dict: "an object", list: "a list"}
_ABSOLUTE = re.compile(rb"/|\\|[A-Za-z]:\\")  # of any system, as a report from Windows may be read elsewhere
_HEX = re.compile("([0-9A-Fa-f]{2})+")


class BrokenReport(ValueError):  # noqa: N818 - what it is
    """What is wrong with a report, to stand in a sentence after its name."""


def take(holder: dict[str, Any], key: str, kind: type[T], where: str) -> T:
    """Return a value of exactly this kind: a bool is no int."""
    value = holder.get(key)
    if type(value) is not kind:
        raise BrokenReport(f"{where} has no {key!r} that is {_KINDS[kind]}")
    return value


def words(holder: dict[str, Any], key: str, where: str) -> str:
    """Return a text that is no path."""
    return whole(take(holder, key, str, where), f"{where} has a {key!r}")


def whole(text: str, what: str) -> str:
    """Return a text, unless it holds bytes that are no part of one; `what` is to stand in a sentence before that."""
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        raise BrokenReport(f"{what} that is not valid Unicode")
    return text


def count(holder: dict[str, Any], key: str, where: str, *, least: int = 0, most: int = MOST_BYTES) -> int:
    """Return a whole number that is not negative, nor more than a file can hold."""
    number = take(holder, key, int, where)
    if number < least:
        raise BrokenReport(f"{where} has a {'negative ' if number < 0 else ''}{key!r} of {number}")
    if number > most:
        raise BrokenReport(f"{where} has a {key!r} that is too large to be true")
    return number


def digest(text: str, where: str) -> bytes:
    """Return the bytes of a digest that is written in hexadecimal digits."""
    if not _HEX.fullmatch(text):
        raise BrokenReport(f"{where} has a digest that is not hexadecimal")
    return bytes.fromhex(text)


def path(holder: dict[str, Any], key: str, where: str) -> bytes:
    """Return the exact bytes of an absolute path."""
    exact = holder.get(key + "_base64")
    return _path(take(holder, key, str, where), exact, where)


def paths(holder: dict[str, Any], key: str, where: str) -> tuple[bytes, ...]:
    """Return the exact bytes of a list of absolute paths."""
    texts = strings(take(holder, key, list, where), where)
    if not texts:
        return ()
    exact: object = holder.get(key + "_base64", [None] * len(texts))
    if not isinstance(exact, list) or len(exact) != len(texts):
        raise BrokenReport(f"{where} has not as many {key + '_base64'!r} as {key!r}")
    return tuple(_path(text, base64, where) for text, base64 in zip(texts, exact, strict=True))


def _path(text: str, base64: object, where: str) -> bytes:
    if base64 is not None and not isinstance(base64, str):
        raise BrokenReport(f"{where} has a base64 that is no text")
    try:
        exact = display.exact(text, base64)
    except ValueError as error:
        raise BrokenReport(f"{where} has a path that cannot be read: {error}") from error
    return absolute(exact, where)


def absolute(exact: bytes, where: str) -> bytes:
    """Return a path that must be absolute: another means nothing outside the folder that its report was made in."""
    if not _ABSOLUTE.match(exact):
        raise BrokenReport(f"{where} has a path that is not absolute: {display.shown(exact)}")
    return exact


def strings(values: object, where: str) -> Sequence[str]:
    """Return a list of texts."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise BrokenReport(f"{where} has a list of something that is no text")
    return values


def check_groups(groups: Iterable[Group]) -> None:
    """Refuse groups that cannot all be true: one number for two of them, or one name at two places.

    Raises:
        BrokenReport: they cannot.
    """
    numbers: set[int] = set()
    names: set[bytes] = set()
    for group in groups:
        if group.id in numbers:
            raise BrokenReport(f"it has two groups with the id {group.id}")
        numbers.add(group.id)
        for name in (name for file in group.files for name in file.names):
            if name in names:
                raise BrokenReport(f"group {group.id} has a path that was there before: {display.shown(name)}")
            names.add(name)
