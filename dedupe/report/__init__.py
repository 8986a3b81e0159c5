"""Report formats: a result to bytes, one file a format.  Opens no scanned file and prints nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import NamedTuple

from dedupe.errors import UsageError
from dedupe.report.base import Render, Style

__all__ = ["FORMATS", "Format", "Render", "Style", "format_for"]


class Format(NamedTuple):
    """A report format: its name, the file endings that choose it, and the module that renders it.

    The module is imported at the first rendering only: SQLite's helpers alone cost more than a small scan.
    """

    name: str
    endings: tuple[str, ...]  # lower case, with the dot
    module: str
    binary: bool = False  # no text: never sent to a terminal

    def render(self, result: object, style: Style) -> Iterator[bytes]:
        """Yield the report piece by piece; the module says of which kind of result."""
        render: Callable[[object, Style], Iterator[bytes]] = import_module(self.module).render
        return render(result, style)


FORMATS: dict[str, Format] = {
    "csv": Format("csv", (".csv",), "dedupe.report.csv_report"),
    "db": Format("db", (".db", ".sqlite", ".sqlite3"), "dedupe.report.db", binary=True),
    "html": Format("html", (".html", ".htm"), "dedupe.report.html"),
    "json": Format("json", (".json",), "dedupe.report.json_report"),
    "jsonl": Format("jsonl", (".jsonl", ".ndjson"), "dedupe.report.jsonl"),
    "paths": Format("paths", (".paths",), "dedupe.report.paths"),
    "text": Format("text", (".txt",), "dedupe.report.text"),
}
"""Every format by its name, sorted."""


def format_for(path_or_name: str | bytes, formats: Mapping[str, Format] = FORMATS) -> Format:
    """Return the format of that name (`json`), else the one that a file's ending chooses (`out/dups.json`).

    Args:
        path_or_name: of a report.
        formats: those that there are of its kind of result, by their names.

    Raises:
        UsageError: neither a name nor an ending that belongs to a format.
    """
    asked = os.fsdecode(path_or_name)
    if asked in formats:
        return formats[asked]
    by_ending = {ending: each for each in formats.values() for ending in each.endings}
    ending = os.path.splitext(asked)[1].lower()
    if ending in by_ending:
        return by_ending[ending]
    raise UsageError(f"No report format goes with {asked!r}: its ending must be one of {' '.join(sorted(by_ending))}.")
