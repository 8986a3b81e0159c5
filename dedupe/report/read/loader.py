"""Tells which program wrote a saved report, and has it read back into a result.  Opens no file."""

from __future__ import annotations

import json
import os

from dedupe.errors import NothingUsableError, UsageError
from dedupe.report.read import json_lines, json_reports, other_finders
from dedupe.report.read.values import BrokenReport
from dedupe.result import ScanResult
from dedupe.storage import display
from dedupe.storage.byte_order import as_utf8

_CSV = b"group,file,size,algorithm,digest,"  # how our own begins, in every version
KNOWN = "dedupe (JSON, JSON lines), fclones (JSON, CSV), rmlint (JSON), jdupes (JSON) or fdupes"


def look(path: bytes) -> os.stat_result | None:
    """Return what the disk says of a name now, None where it is not here."""
    try:
        return os.lstat(path)
    except (OSError, ValueError):
        return None


def load_report(data: bytes, source: bytes, *, look: other_finders.Look = look) -> ScanResult:
    """Return the result that a report holds; `source` is the name of its file, for messages.

    Other finders write no dates, and fdupes not even sizes, so those are asked from the disk, by `look`; names that one
    wrote relative to an unknown folder are taken from the current one.  Nothing of a report of our own is asked again.

    Raises:
        UsageError: this is no report that can be read here.
        NothingUsableError: it is one, but broken.
    """
    name = display.shown(source)
    data = as_utf8(data)
    try:
        return _dispatch(data, name, look)
    except (BrokenReport, ValueError) as error:
        raise NothingUsableError(f"The report {name} is broken: {error}.") from error


def _dispatch(data: bytes, name: str, look: other_finders.Look) -> ScanResult:
    if not data.strip():
        raise UsageError(f"{name} is empty, and so no report of {KNOWN}.")
    if json_lines.is_such(data):
        return json_lines.result_of(data)
    if data.lstrip()[:1] in (b"{", b"["):
        return _from_json(data, name, look)
    first = data.partition(b"\n")[0].strip()
    if first == b"size,hash,count,files":
        return other_finders.fclones_csv(data, look)
    if first.startswith(b"# Report by fclones"):
        raise UsageError(f"{name} is fclones' report for people: have it written with --format json.")
    if first.startswith(_CSV):
        raise UsageError(
            f"{name} is a CSV report of dedupe, which says too little to be read back: use the JSON report."
        )
    result = None if b"\0" in data else other_finders.fdupes(data, look)
    if result is None:
        raise UsageError(f"{name} is no report of {KNOWN}.")
    return result


def _from_json(data: bytes, name: str, look: other_finders.Look) -> ScanResult:
    try:
        # rmlint writes the bytes of a name as they are: such text survives as lone surrogates, and ours never has any
        document = json.loads(data.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError) as error:
        if (result := other_finders.fdupes(data, look)) is not None:  # names may start with a bracket
            return result
        raise NothingUsableError(f"The report {name} is broken: it is no whole JSON ({error}).") from error
    if isinstance(document, list):
        return other_finders.rmlint(document, look)
    if "schema" in document:
        return json_reports.result_of(document)
    if "matchSets" in document:
        return other_finders.jdupes(document, look)
    if "header" in document and "groups" in document:
        return other_finders.fclones(document, look)
    raise UsageError(f"{name} is JSON, but no report of {KNOWN}.")
