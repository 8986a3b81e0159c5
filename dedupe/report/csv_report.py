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
from collections.abc import Iterable, Iterator
from itertools import islice

from dedupe.files.chunks import GroupChunk, chunks
from dedupe.report.base import Style
from dedupe.report.units import utc_time
from dedupe.result import ScanResult
from dedupe.storage import display

COLUMNS = ("group", "file", "size", "algorithm", "digest", "modified", "path", "path_base64")
_needs_quotes = re.compile(r'[",\r\n]').search


def render(result: ScanResult, style: Style) -> Iterator[bytes]:
    """Yield the header, then the rows."""
    yield BOM_UTF8 if style.to_file else b""
    yield _lines([",".join(COLUMNS)])
    for run in chunks(result.groups):
        yield _lines(_rows(run))


def _lines(rows: Iterable[str]) -> bytes:
    return "".join([row + "\r\n" for row in rows]).encode()


def _rows(run: GroupChunk) -> Iterator[str]:
    """Yield a row for each name; `file` counts the physical files of a group from 1."""
    files = iter(run.rows)
    for group, size, algorithm, digest, count in run.headers:
        common = f"{size},{_cell(algorithm)},{digest.hex() if digest is not None else ''}"
        for number, (path, modified_ns, _, _, links) in enumerate(islice(files, count), 1):
            start = f"{group},{number},{common},{utc_time(modified_ns)}"
            for name in (path, *links):
                yield f"{start},{_cell(display.text(name))},{display.base64_if_needed(name) or ''}"


def _cell(text: str) -> str:
    """Return `text` as a cell, in quotes where a reader would take it for more than one."""
    return '"' + text.replace('"', '""') + '"' if _needs_quotes(text) else text
