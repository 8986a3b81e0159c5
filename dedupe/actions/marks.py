"""The marks: which copies stay and which are redundant, in the page's own format, `dedupe-marks/1`.

Reads and writes that one format, and checks its form; whether marks may be acted on is `plan`'s to say.  Touches no
file that the marks name.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from dedupe.errors import UsageError
from dedupe.report.read.values import BrokenReport, absolute, count, digest, take, whole
from dedupe.storage import display
from dedupe.storage.byte_order import as_utf8

SCHEMA = "dedupe-marks/1"
_CLAIM = re.compile(rb'"schema"\s*:\s*"dedupe-marks/')
T = TypeVar("T")

_LIST_KEYS = ("links", "symlinks", "mounted")


class MarkedFile(NamedTuple):
    """One physical file of a group, by its names; the numbers are hints of the scan, None where it gave none."""

    path: bytes
    links: tuple[bytes, ...] = ()  # further real names
    symlinks: tuple[bytes, ...] = ()  # symbolic links that lead to it
    mounted: tuple[bytes, ...] = ()  # its names below another mount of the same folder
    modified_ns: int | None = None
    device: int | None = None
    inode: int | None = None

    @property
    def real_names(self) -> tuple[bytes, ...]:
        """Return the names that are entries of folders: removing the last of them removes the file."""
        return (self.path, *self.links)


@dataclass(frozen=True, slots=True)
class MarkedGroup:
    """Files of equal content, of which some stay and some need not."""

    id: int
    size: int
    algorithm: str
    digest: bytes | None
    keep: tuple[MarkedFile, ...]
    redundant: tuple[MarkedFile, ...]


RULES = ("protect", "protect-name", "only-in", "prefer", "then")


class Rule(NamedTuple):
    """A rule that made the marks: its option without dashes, and the folder or word that it was given."""

    name: str
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """A whole marks file."""

    roots: Sequence[bytes]  # of the report
    groups: Sequence[MarkedGroup]
    version: str = ""  # of the program that scanned
    started: str = ""  # when the scan began
    saved: str = ""  # when the marks were written
    host: str = ""  # where the scan ran
    rules: Sequence[Rule] = ()  # in the order given; none in marks that were made by hand
    undecided: int = 0  # groups that the rules could not decide
    volumes: Sequence[dict[str, Any]] = ()  # of the report: id, label, file system
    sha256: str = field(
        default="", compare=False
    )  # of the file that they were read from, or of the report that they were made of


def is_marks(data: bytes) -> bool:
    """Return whether a file claims to be marks, and not, say, a report; wherever the claim stands, as after `jq -S`.

    Within a name it cannot stand: there the quotation marks have backslashes.
    """
    return _CLAIM.search(as_utf8(data)) is not None


def read(data: bytes, source: str) -> Marks:
    """Return the marks that a file holds; `source` is its name, for messages.

    Raises:
        UsageError: a value is missing or is not what the schema says.
    """
    try:
        document = json.loads(as_utf8(data).decode("utf-8"))
        return _marks(document, hashlib.sha256(data).hexdigest())
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise UsageError(f"The marks {source} cannot be acted on: {reason}.") from error


def write(marks: Marks) -> Iterator[bytes]:
    """Yield the marks as one JSON text, a line a group, as the page writes it."""
    head = {
        "schema": SCHEMA,
        "saved": marks.saved,
        "report": {
            "version": marks.version,
            "started": marks.started,
            "roots": [path_object(root) for root in marks.roots],
        },
        "host": marks.host,
        "volumes": list(marks.volumes),
        "root_order": [path_object(root) for root in marks.roots],
        "rules": [{"rule": rule.name, **path_object(rule.value, "value")} for rule in marks.rules],
        "undecided": marks.undecided,
    }
    yield f'{json.dumps(head)[:-1]}, "groups": ['.encode()
    comma = ""
    for group in marks.groups:
        yield f"{comma}\n{json.dumps(_group_object(group))}".encode()
        comma = ","
    yield b"\n]}\n"


def path_object(path: bytes, key: str = "path") -> dict[str, str]:
    """Return a path as keys of a JSON object: its text, and its exact bytes where the text cannot say them."""
    exact = display.base64_if_needed(path)
    return {key: display.text(path)} | ({} if exact is None else {f"{key}_base64": exact})


def _group_object(group: MarkedGroup) -> dict[str, Any]:
    return {
        "id": group.id,
        "size": group.size,
        "algorithm": group.algorithm,
        "digest": None if group.digest is None else group.digest.hex(),
        "keep": [_file_object(file) for file in group.keep],
        "redundant": [_file_object(file) for file in group.redundant],
    }


def _file_object(file: MarkedFile) -> dict[str, Any]:
    found: dict[str, Any] = path_object(file.path)
    for key in _LIST_KEYS:
        if names := getattr(file, key):
            found[key] = [path_object(name) for name in names]
    if file.modified_ns is not None:
        found["modified_ns"] = file.modified_ns
    for key in ("device", "inode"):
        if (number := getattr(file, key)) is not None:
            found[key] = str(number)  # up to 128 bits, which few readers of JSON take as a number
    return found


def _marks(document: object, sha256: str) -> Marks:
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        told = document.get("schema") if isinstance(document, dict) else None
        raise BrokenReport(f"its schema is {told!r:.60}, and this version reads {SCHEMA!r} only")
    report = take(document, "report", dict, "the file")
    groups = tuple(_group(g, f"group number {n}") for n, g in enumerate(take(document, "groups", list, "the file"), 1))
    volumes = _optional(document, "volumes", list, "the file") or []
    return Marks(
        roots=tuple(_paths(report, "roots", "the report's head")),
        groups=groups,
        version=_words(report, "version"),
        started=_words(report, "started"),
        saved=_words(document, "saved"),
        host=_words(document, "host"),
        rules=tuple(_rules(_optional(document, "rules", list, "the file") or [])),
        undecided=_optional(document, "undecided", int, "the file") or 0,
        volumes=tuple(volume for volume in volumes if isinstance(volume, dict)),
        sha256=sha256,
    )


def _words(holder: dict[str, Any], key: str) -> str:
    return whole(_optional(holder, key, str, "the head") or "", f"the head has a {key!r}")


def _rules(rules: list[Any]) -> Iterator[Rule]:
    for number, rule in enumerate(rules, 1):
        where = f"rule number {number}"
        if not isinstance(rule, dict):
            raise BrokenReport(f"{where} is no object")
        name = take(rule, "rule", str, where)
        if name not in RULES:  # acting would leave out what it forbids
            raise BrokenReport(f"{where} is {name!r}, which this version does not know")
        yield Rule(name, _exact(rule, "value", where))


def _group(group: object, where: str) -> MarkedGroup:
    if not isinstance(group, dict):
        raise BrokenReport(f"{where} is no object")
    return MarkedGroup(
        count(group, "id", where),
        count(group, "size", where),
        whole(take(group, "algorithm", str, where), f"{where} has an algorithm"),
        None if group.get("digest") is None else digest(take(group, "digest", str, where), where),
        tuple(_file(file, where) for file in take(group, "keep", list, where)),
        tuple(_file(file, where) for file in take(group, "redundant", list, where)),
    )


def _file(file: object, where: str) -> MarkedFile:
    if not isinstance(file, dict):
        raise BrokenReport(f"{where} has a file that is no object")
    return MarkedFile(
        _path(file, where),
        **{key: tuple(_paths(file, key, where)) for key in _LIST_KEYS if key in file},
        modified_ns=_optional(file, "modified_ns", int, where),
        device=_digits(file, "device", where),
        inode=_digits(file, "inode", where),
    )


def _paths(holder: dict[str, Any], key: str, where: str) -> Iterable[bytes]:
    for each in take(holder, key, list, where):
        if not isinstance(each, dict):
            raise BrokenReport(f"{where} has a name in {key!r} that is no object")
        yield _path(each, where)


def _path(holder: dict[str, Any], where: str) -> bytes:
    exact = absolute(_exact(holder, "path", where), where)
    parts = exact.split(b"/") if exact.startswith(b"/") else exact.replace(b"/", b"\\").split(b"\\")
    if b"." in parts or b".." in parts:  # what it names depends on links, and it would pass by every check of folders
        raise BrokenReport(f"{where} has a path with a part that is . or ..: {display.shown(exact)}")
    return exact


def _exact(holder: dict[str, Any], key: str, where: str) -> bytes:
    encoded = _optional(holder, f"{key}_base64", str, where)
    try:
        return display.exact(take(holder, key, str, where), encoded)
    except ValueError as error:
        raise BrokenReport(f"{where} has a {key!r} that cannot be read: {error}") from error


def _digits(file: dict[str, Any], key: str, where: str) -> int | None:
    text = _optional(file, key, str, where)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 40):
        raise BrokenReport(f"{where} has a file whose {key!r} is no number")
    return int(text)


def _optional(holder: dict[str, Any], key: str, kind: type[T], where: str) -> T | None:
    return None if holder.get(key) is None else take(holder, key, kind, where)
