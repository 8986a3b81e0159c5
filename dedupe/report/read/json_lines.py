"""Reads the JSON lines report back, by putting its lines together to the JSON report that they are parts of."""

from __future__ import annotations

import json
import re
from typing import Any

from dedupe.report.read import json_reports
from dedupe.report.read.values import BrokenReport, words
from dedupe.result import ScanResult

_BEGINNING = re.compile(rb'\s*\{\s*"type"\s*:\s*"header"')
_LISTS = {"group": "groups", "problem": "problems"}
_ANSWERS = ("identical_folders", "contained_folder")  # of a comparison that the groups allow again


def is_such(data: bytes) -> bool:
    """Return whether a report begins as one of JSON lines does."""
    return _BEGINNING.match(data) is not None


def result_of(data: bytes) -> ScanResult:
    """Return the result that a report holds.  It does not say what else lies in folders, so that none are compared.

    Raises:
        BrokenReport: a line is none of the report's, the last one is missing, or a value is not what the schema says.
    """
    document: dict[str, Any] = {"groups": [], "problems": []}
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            _take(document, line, number)
    if "schema" not in document or "totals" not in document:
        raise BrokenReport("it ends before its totals, as one does whose writing was broken off")
    return json_reports.result_of(document)


def _take(document: dict[str, Any], line: bytes, number: int) -> None:
    """Put what one line holds into its place."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BrokenReport(f"line {number} is no whole JSON ({error})") from error
    if not isinstance(value, dict):
        raise BrokenReport(f"line {number} is no object")
    kind = words(value, "type", f"line {number}")
    del value["type"]
    if kind == "header" and "schema" not in document and "schema" in value:
        document.update({**value, **document})
    elif kind == "totals" and "totals" not in document:
        document["totals"] = value
    elif kind in _LISTS and "totals" not in document:
        document[_LISTS[kind]].append(value)
    elif kind not in _ANSWERS:
        raise BrokenReport(f"line {number} has the type {kind!r}, which has no place there")
