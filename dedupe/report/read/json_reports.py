"""Reads the JSON report back into a result.  Believes nothing: each value is checked as it is taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from dedupe.digests.base import BackendChoice
from dedupe.report import jsontext
from dedupe.result import File, FolderCount, Group, Problem, ProblemKind, ScanResult, SkipReason, Totals
from dedupe.storage import display

T = TypeVar("T")
Word = TypeVar("Word", bound=StrEnum)


class BrokenReport(ValueError):  # noqa: N818 - what it is
    """What is wrong with a report, to stand in a sentence after its name."""


def result_of(document: dict[str, Any]) -> ScanResult:
    """Return the result that a parsed `dedupe-report/1` holds.

    Raises:
        BrokenReport: a value is missing or is not what the schema says.
    """
    if document["schema"] != jsontext.SCHEMA:
        raise BrokenReport(f"its schema is {document['schema']!r}, and this version reads {jsontext.SCHEMA!r} only")
    backend = take(document, "backend", dict, "the report")
    return ScanResult(
        version=take(document, "version", str, "the report"),
        started=take(document, "started", str, "the report"),
        seconds=_seconds(document),
        roots=paths(document, "roots", "the report"),
        confirm=take(document, "confirm", str, "the report"),
        backend=BackendChoice(take(backend, "name", str, "backend"), take(backend, "reason", str, "backend")),
        totals=_totals(take(document, "totals", dict, "the report")),
        groups=_each(document, "groups", _group),
        problems=_each(document, "problems", _problem),
        notes=tuple(_strings(document.get("notes", []), "notes")),
        folders=dict(_each(document, "folders", _folder)) if "folders" in document else {},
    )


def take(holder: dict[str, Any], key: str, kind: type[T], where: str) -> T:
    """Return a value of exactly this kind: a bool is no int."""
    value = holder.get(key)
    if type(value) is not kind:
        raise BrokenReport(f"{where} has no {key!r} that is {_KINDS[kind]}")
    return value


_MOST = 2**100  # beyond any sum of sizes or length of a scan
_KINDS: dict[type, str] = {str: "text", int: "a whole number", dict: "an object", list: "a list"}


def count(holder: dict[str, Any], key: str, where: str, *, most: int = 2**63 - 1) -> int:
    """Return a whole number that is not negative, nor more than a file can hold."""
    number = take(holder, key, int, where)
    if number < 0:
        raise BrokenReport(f"{where} has a negative {key!r}")
    if number > most:
        raise BrokenReport(f"{where} has a {key!r} that is too large to be true")
    return number


def path(holder: dict[str, Any], key: str, where: str) -> bytes:
    """Return the exact bytes of an absolute path."""
    exact = holder.get(key + "_base64")
    return _path(take(holder, key, str, where), exact, where)


def paths(holder: dict[str, Any], key: str, where: str) -> tuple[bytes, ...]:
    """Return the exact bytes of a list of absolute paths."""
    texts = _strings(take(holder, key, list, where), where)
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
    if exact[:1] not in (b"/", b"\\") and exact[1:3] != b":\\":
        raise BrokenReport(f"{where} has a path that is not absolute")
    return exact


def _strings(values: object, where: str) -> Sequence[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise BrokenReport(f"{where} has a list of something that is no text")
    return values


def _each(document: dict[str, Any], key: str, made: Callable[[dict[str, Any], str], T]) -> tuple[T, ...]:
    """Return what is made of each object of a list."""
    found = []
    for i, value in enumerate(take(document, key, list, "the report"), 1):
        where = f"{key} number {i}"
        if not isinstance(value, dict):
            raise BrokenReport(f"{where} is no object")
        found.append(made(value, where))
    return tuple(found)


def _seconds(document: dict[str, Any]) -> float:
    seconds = document.get("seconds")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < _MOST:
        raise BrokenReport("the report has no 'seconds' that is a number")
    return seconds


def _totals(totals: dict[str, Any]) -> Totals:
    skipped = take(totals, "skipped", dict, "totals")
    fields = [name for name in Totals.__dataclass_fields__ if name != "skipped"]
    return Totals(
        skipped={_word(SkipReason, reason, "totals"): count(skipped, reason, "totals") for reason in skipped},
        **{field: count(totals, field, "totals", most=_MOST) for field in fields},
    )


def _word(kind: type[Word], word: str, where: str) -> Word:
    try:
        return kind(word)
    except ValueError as error:
        raise BrokenReport(f"{where} has the word {word!r}, which only a newer version may know") from error


def _group(group: dict[str, Any], where: str) -> Group:
    digest = None if group.get("digest", "") is None else take(group, "digest", str, where)
    files = tuple(_file(file, where) for file in take(group, "files", list, where))
    if len(files) < 2:
        raise BrokenReport(f"{where} has fewer than two files")
    try:
        exact = None if digest is None else bytes.fromhex(digest)
    except ValueError as error:
        raise BrokenReport(f"{where} has a digest that is not hexadecimal") from error
    size, algorithm = count(group, "size", where), take(group, "algorithm", str, where)
    return Group(count(group, "id", where), size, algorithm, exact, files)


def _file(file: object, where: str) -> File:
    if not isinstance(file, dict):
        raise BrokenReport(f"{where} has a file that is no object")
    return File(
        path(file, "path", where),
        take(file, "modified_ns", int, where),
        _number(file, "device", where),
        _number(file, "inode", where),
        paths(file, "links", where),
    )


def _number(file: dict[str, Any], key: str, where: str) -> int:
    digits = take(file, key, str, where)
    if not (digits.isascii() and digits.isdigit() and len(digits) < 40):
        raise BrokenReport(f"{where} has a file whose {key!r} is no number")
    return int(digits)


def _problem(problem: dict[str, Any], where: str) -> Problem:
    kind = _word(ProblemKind, take(problem, "kind", str, where), where)
    return Problem(path(problem, "path", where), kind, take(problem, "message", str, where))


def _folder(folder: dict[str, Any], where: str) -> tuple[bytes, FolderCount]:
    numbers = (count(folder, key, where, most=_MOST) for key in ("files", "bytes", "left_out"))
    return path(folder, "path", where), FolderCount(*numbers)
