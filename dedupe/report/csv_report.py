"""The CSV report: a row a name, for spreadsheets and data frames.  Owns the columns.

RFC 4180 in UTF-8; a file starts with a byte-order mark, without which Excel shows mojibake.  Names of one physical
file (hard links) share `file`.  `path` is absolute, so that no cell starts with a formula sign; where it is not exact
(see `names`) `path_base64` holds the bytes.  `modified` is empty for a date outside the years 1 to 9999.

The rows are put together by hand: only a path can need quotes, and `csv.writer`, which looks at every character of
every cell, took four times as long.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator

from dedupe import names
from dedupe.report.base import Style
from dedupe.report.units import utc_time
from dedupe.result import Group, ScanResult

COLUMNS = ("group", "file", "size", "algorithm", "digest", "modified", "path", "path_base64")
_BATCH = 512  # rows a piece
_needs_quotes = re.compile(r'[",\r\n]').search


def render(result: ScanResult, style: Style) -> Iterator[bytes]:
    """Yield the header, then the rows."""
    rows = [",".join(COLUMNS)]
    yield BOM_UTF8 if style.to_file else b""
    for group in result.groups:
        rows += _rows(group)
        if len(rows) >= _BATCH:
            yield _lines(rows)
            rows = []
    yield _lines(rows)


def _lines(rows: list[str]) -> bytes:
    return "".join([row + "\r\n" for row in rows]).encode()


def _rows(group: Group) -> Iterator[str]:
    """Yield a row for each name; `file` counts the physical files of the group from 1."""
    digest = group.digest.hex() if group.digest is not None else ""
    common = f"{group.size},{_cell(group.algorithm)},{digest}"
    for number, file in enumerate(group.files, 1):
        start = f"{group.id},{number},{common},{utc_time(file.modified_ns)}"
        for path in (file.path, *file.links):
            yield f"{start},{_cell(names.text(path))},{names.base64_if_needed(path) or ''}"


def _cell(text: str) -> str:
    """Return `text` as a cell, in quotes where a reader would take it for more than one."""
    return '"' + text.replace('"', '""') + '"' if _needs_quotes(text) else text
