"""Reads the JSON report back into a result.  Believes nothing: each value is checked as it is taken."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple, TypeVar

from dedupe.digests.base import BackendChoice
from dedupe.folders.tree import above_copies
from dedupe.report import jsontext
from dedupe.report.read.values import (
    MOST,
    BrokenReport,
    check_groups,
    count,
    digest,
    path,
    paths,
    strings,
    take,
    whole,
    words,
)
from dedupe.result import (
    File,
    FolderCount,
    Group,
    GroupList,
    Problem,
    ProblemKind,
    Proof,
    ScanResult,
    SkipReason,
    Totals,
    VolumeInfo,
)

T = TypeVar("T")
Word = TypeVar("Word", bound=StrEnum)

_FIRST = "dedupe-report/1"  # knows neither proofs, nor roots and volumes of files, nor what kind a further name is
_SCHEMAS = (_FIRST, jsontext.SCHEMA)


class _Context(NamedTuple):
    """What the values of a group depend on."""

    is_first: bool  # of the schemas
    roots: int  # how many there are
    volumes: int


def result_of(document: dict[str, Any]) -> ScanResult:
    """Return the result that a parsed report of any known schema holds.

    Raises:
        BrokenReport: a value is missing, is not what the schema says, or contradicts another.
    """
    if document["schema"] not in _SCHEMAS:
        known = " and ".join(map(repr, _SCHEMAS))
        raise BrokenReport(f"its schema is {document['schema']!r}, and this version reads {known} only")
    backend = take(document, "backend", dict, "the report")
    is_first = document["schema"] == _FIRST
    roots = paths(document, "roots", "the report")
    volumes = () if is_first else _each(document, "volumes", _volume)
    groups = GroupList(_each(document, "groups", partial(_group, _Context(is_first, len(roots), len(volumes)))))
    check_groups(groups)
    problems = _each(document, "problems", _problem)
    folders = dict(_each(document, "folders", _folder)) if "folders" in document else {}
    return ScanResult(
        version=words(document, "version", "the report"),
        started=words(document, "started", "the report"),
        seconds=_seconds(document),
        roots=roots,
        volumes=volumes,
        confirm=words(document, "confirm", "the report"),
        backend=BackendChoice(words(backend, "name", "backend"), words(backend, "reason", "backend")),
        totals=_totals(take(document, "totals", dict, "the report"), groups, len(problems)),
        groups=groups,
        problems=problems,
        notes=tuple(whole(note, "the report has a note") for note in strings(document.get("notes", []), "notes")),
        folders={folder: folders[folder] for folder in above_copies(groups, folders)},
    )


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
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < MOST:
        raise BrokenReport("the report has no 'seconds' that is a number")
    return float(seconds)


def _totals(totals: dict[str, Any], groups: GroupList, problems: int) -> Totals:
    skipped = take(totals, "skipped", dict, "totals")
    fields = [name for name in Totals.__dataclass_fields__ if name != "skipped"]
    made = Totals(
        skipped={_word(SkipReason, reason, "totals"): count(skipped, reason, "totals") for reason in skipped},
        **{field: count(totals, field, "totals", most=MOST) for field in fields},
    )
    sums = {
        "groups": len(groups),
        "redundant_files": sum(max(group.copies - 1, 0) for group in groups),
        "reclaimable_bytes": sum(group.reclaimable_bytes for group in groups),
        "problems": problems,
    }
    for field, there in sums.items():
        if (said := getattr(made, field)) != there:
            raise BrokenReport(f"totals has {said} {field!r}, and its lists make {there}")
    return made


def _word(kind: type[Word], word: str, where: str) -> Word:
    try:
        return kind(word)
    except ValueError as error:
        raise BrokenReport(f"{where} has the word {word!r}, which only a newer version may know") from error


def _volume(volume: dict[str, Any], where: str) -> VolumeInfo:
    point = b"" if volume.get("mount_point", "") is None else path(volume, "mount_point", where)
    kind = words(volume, "file_system", where)
    return VolumeInfo(words(volume, "id", where), words(volume, "label", where), kind, point)


def _group(context: _Context, group: dict[str, Any], where: str) -> Group:
    digits = None if group.get("digest", "") is None else take(group, "digest", str, where)
    files = tuple(_file(context, file, where) for file in take(group, "files", list, where))
    if len(files) < 2:
        raise BrokenReport(f"{where} has fewer than two files")
    made = Group(
        count(group, "id", where, least=1),
        count(group, "size", where),
        words(group, "algorithm", where),
        None if digits is None else digest(digits, where),
        files,
    )
    if count(group, "reclaimable_bytes", where, most=MOST) != made.reclaimable_bytes:
        raise BrokenReport(f"{where} has {len(files)} files of {made.size} bytes, which make other 'reclaimable_bytes'")
    if not context.is_first and _proof(group, where) != made.proof:
        raise BrokenReport(f"{where} has a 'proof' that is not the weakest of its files'")
    return made


def _file(context: _Context, file: object, where: str) -> File:
    if not isinstance(file, dict):
        raise BrokenReport(f"{where} has a file that is no object")
    modified_ns = take(file, "modified_ns", int, where)
    if abs(modified_ns) >= MOST:
        raise BrokenReport(f"{where} has a file whose 'modified_ns' is no date")
    known = (path(file, "path", where), modified_ns, _number(file, "device", where), _number(file, "inode", where))
    if context.is_first:
        return File(*known, links=paths(file, "links", where))
    return File(
        *known,
        _place(file, "root", context.roots, where),
        _place(file, "volume", context.volumes, where),
        _proof(file, where),
        *(paths(file, key, where) for key in ("links", "symlinks", "mounted")),
    )


def _place(file: dict[str, Any], key: str, there: int, where: str) -> int | None:
    """Return an index into a list of so many, or None where the report has null."""
    if file.get(key, "") is None:
        return None
    at = count(file, key, where)
    if at >= there:
        raise BrokenReport(f"{where} has a file with the {key!r} {at}, and the report lists {there}")
    return at


def _proof(holder: dict[str, Any], where: str) -> Proof | None:
    if holder.get("proof", "") is None:
        return None
    return _word(Proof, take(holder, "proof", str, where), where)


def _number(file: dict[str, Any], key: str, where: str) -> int:
    digits = take(file, key, str, where)
    if not (digits.isascii() and digits.isdigit() and len(digits) < 40):
        raise BrokenReport(f"{where} has a file whose {key!r} is no number")
    return int(digits)


def _problem(problem: dict[str, Any], where: str) -> Problem:
    kind = _word(ProblemKind, take(problem, "kind", str, where), where)
    return Problem(path(problem, "path", where), kind, words(problem, "message", where))


def _folder(folder: dict[str, Any], where: str) -> tuple[bytes, FolderCount]:
    numbers = (count(folder, key, where, most=MOST) for key in ("files", "bytes", "left_out"))
    return path(folder, "path", where), FolderCount(*numbers)
