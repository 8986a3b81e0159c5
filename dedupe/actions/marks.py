"""The marks: which copies stay and which are redundant, in the page's own format, `dedupe-marks/1`.

Reads and writes that one format, and checks its form; whether marks may be acted on is `plan`'s to say.  Touches no
file that the marks name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dedupe.errors import UsageError
from dedupe.storage import display

SCHEMA = "dedupe-marks/1"
_ABSOLUTE = (b"/", b"\\")
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
    volumes: Sequence[dict[str, Any]] = ()  # of the report: root, id, file system; for people, nothing reads it
    sha256: str = field(default="", compare=False)  # of the file that they were read from


class BrokenMarks(UsageError):
    """A marks file that cannot be read: nothing of it is acted on."""


def is_marks(data: bytes) -> bool:
    """Return whether a file claims to be marks, and not, say, a report."""
    return b'"dedupe-marks/' in data[:4096]


def read(data: bytes, source: str) -> Marks:
    """Return the marks that a file holds; `source` is its name, for messages.

    Raises:
        BrokenMarks: a value is missing or is not what the schema says.
    """
    try:
        document = json.loads(data.removeprefix(b"\xef\xbb\xbf").decode("utf-8"))
        return _marks(document, hashlib.sha256(data).hexdigest())
    except (_BrokenError, ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise BrokenMarks(f"The marks {source} cannot be acted on: {reason}.") from error


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


class _BrokenError(Exception):
    """What is wrong with the marks, to stand in a sentence after their name."""


def _marks(document: object, sha256: str) -> Marks:
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        told = document.get("schema") if isinstance(document, dict) else None
        raise _BrokenError(f"its schema is {told!r:.60}, and this version reads {SCHEMA!r} only")
    report = _take(document, "report", dict, "the file")
    groups = tuple(_group(g, f"group number {n}") for n, g in enumerate(_take(document, "groups", list, "the file"), 1))
    volumes = _optional(document, "volumes", list, "the file") or []
    return Marks(
        roots=tuple(_paths(report, "roots", "the report's head")),
        groups=groups,
        version=_optional(report, "version", str, "the report's head") or "",
        started=_optional(report, "started", str, "the report's head") or "",
        saved=_optional(document, "saved", str, "the file") or "",
        host=_optional(document, "host", str, "the file") or "",
        rules=tuple(_rules(_optional(document, "rules", list, "the file") or [])),
        undecided=_optional(document, "undecided", int, "the file") or 0,
        volumes=tuple(volume for volume in volumes if isinstance(volume, dict)),
        sha256=sha256,
    )


def _rules(rules: list[Any]) -> Iterator[Rule]:
    for number, rule in enumerate(rules, 1):
        where = f"rule number {number}"
        if not isinstance(rule, dict):
            raise _BrokenError(f"{where} is no object")
        yield Rule(_take(rule, "rule", str, where), _bytes(rule, "value", where))


def _group(group: object, where: str) -> MarkedGroup:
    if not isinstance(group, dict):
        raise _BrokenError(f"{where} is no object")
    digest = None if group.get("digest") is None else _take(group, "digest", str, where)
    try:
        exact = None if digest is None else bytes.fromhex(digest)
    except ValueError as error:
        raise _BrokenError(f"{where} has a digest that is not hexadecimal") from error
    return MarkedGroup(
        _count(group, "id", where),
        _count(group, "size", where),
        _take(group, "algorithm", str, where),
        exact,
        tuple(_file(file, where) for file in _take(group, "keep", list, where)),
        tuple(_file(file, where) for file in _take(group, "redundant", list, where)),
    )


def _file(file: object, where: str) -> MarkedFile:
    if not isinstance(file, dict):
        raise _BrokenError(f"{where} has a file that is no object")
    lists = (tuple(_paths(file, key, where)) if key in file else () for key in _LIST_KEYS)
    modified_ns = _optional(file, "modified_ns", int, where)
    return MarkedFile(_path(file, where), *lists, modified_ns, _digits(file, "device", where), _digits(file, "inode", where))


def _paths(holder: dict[str, Any], key: str, where: str) -> Iterable[bytes]:
    for each in _take(holder, key, list, where):
        if not isinstance(each, dict):
            raise _BrokenError(f"{where} has a name in {key!r} that is no object")
        yield _path(each, where)


def _path(holder: dict[str, Any], where: str) -> bytes:
    exact = _bytes(holder, "path", where)
    if exact[:1] not in _ABSOLUTE and exact[1:3] != b":\\":
        raise _BrokenError(f"{where} has a path that is not absolute: {display.shown(exact)}")
    if any(part in (b".", b"..") for part in exact.replace(b"\\", b"/").split(b"/")):
        raise _BrokenError(f"{where} has a path that goes up or stays: {display.shown(exact)}")
    return exact


def _bytes(holder: dict[str, Any], key: str, where: str) -> bytes:
    encoded = _optional(holder, f"{key}_base64", str, where)
    try:
        return display.exact(_take(holder, key, str, where), encoded)
    except ValueError as error:
        raise _BrokenError(f"{where} has a {key!r} that cannot be read: {error}") from error


def _digits(file: dict[str, Any], key: str, where: str) -> int | None:
    text = _optional(file, key, str, where)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 40):
        raise _BrokenError(f"{where} has a file whose {key!r} is no number")
    return int(text)


_KINDS: dict[type, str] = {str: "text", int: "a whole number", dict: "an object", list: "a list"}


def _take(holder: dict[str, Any], key: str, kind: type, where: str) -> Any:
    """Return a value of exactly this kind: a bool is no int."""
    value = holder.get(key)
    if type(value) is not kind:
        raise _BrokenError(f"{where} has no {key!r} that is {_KINDS[kind]}")
    return value


def _optional(holder: dict[str, Any], key: str, kind: type, where: str) -> Any:
    return None if holder.get(key) is None else _take(holder, key, kind, where)


def _count(holder: dict[str, Any], key: str, where: str) -> int:
    number: int = _take(holder, key, int, where)
    if not 0 <= number < 2**63:
        raise _BrokenError(f"{where} has a {key!r} of {number}, which cannot be")
    return number
