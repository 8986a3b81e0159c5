"""The CSV report: a row a name, for spreadsheets and data frames.  Owns the columns.

RFC 4180 in UTF-8; a file starts with a byte-order mark, without which Excel shows mojibake.  Names of one physical
file (hard links) share `file`.  `path` is absolute, so that no cell starts with a formula sign; where it is not exact
(see `names`) `path_base64` holds the bytes.  `modified` is empty for a date outside the years 1 to 9999.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from dedupe import names
from dedupe.report.base import Style
from dedupe.report.units import utc_time
from dedupe.result import Group, ScanResult

COLUMNS = ("group", "file", "size", "algorithm", "digest", "modified", "path", "path_base64")
_PIECE = 64 * 1024


def render(result: ScanResult, style: Style) -> Iterator[bytes]:
    """Yield the header, then the rows."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)  # the default dialect: comma, CRLF, quotes where needed
    writer.writerow(COLUMNS)
    encoding = "utf-8-sig" if style.to_file else "utf-8"
    for group in result.groups:
        writer.writerows(_rows(group))
        if buffer.tell() >= _PIECE:
            yield buffer.getvalue().encode(encoding)
            encoding = "utf-8"
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue().encode(encoding)


def _rows(group: Group) -> Iterator[tuple[object, ...]]:
    """Yield a row for each name; `file` counts the physical files of the group from 1."""
    digest = group.digest.hex() if group.digest is not None else ""
    for number, file in enumerate(group.files, 1):
        start = (group.id, number, group.size, group.algorithm, digest, utc_time(file.modified_ns))
        for path in (file.path, *file.links):
            yield (*start, names.text(path), names.base64_if_needed(path))
