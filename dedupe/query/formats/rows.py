"""The missing files as CSV, a row a name; hard links of one physical file share `file`."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator

from dedupe.query.answer import MissingResult
from dedupe.report.base import Style
from dedupe.report.csv_report import cell, path_cells
from dedupe.report.units import utc_time
from dedupe.storage import display

COLUMNS = ("file", "size", "modified", "reason", "path", "path_base64", "root")


def render(result: MissingResult, style: Style) -> Iterator[bytes]:
    """Yield the header, then the rows."""
    yield BOM_UTF8 if style.to_file else b""
    yield (",".join(COLUMNS) + "\r\n").encode()
    roots = [cell(display.text(root)) for root in result.card]
    for number, file in enumerate(result.missing, 1):
        start = f"{number},{file.size},{utc_time(file.modified_ns)},{file.reason}"
        yield "".join([f"{start},{path_cells(name)},{roots[file.root]}\r\n" for name in file.names]).encode()
