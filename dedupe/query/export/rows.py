"""The files of a catalog as CSV, a row a file.  Paths are absolute, so that no cell starts with a formula sign."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from itertools import islice

from dedupe.query.catalog_files import CatalogFile, CatalogFiles
from dedupe.report.base import Style
from dedupe.report.csv_report import cell, path_cells
from dedupe.storage import display

COLUMNS = (
    *("catalog", "root", "volume", "path", "path_base64", "size", "modified_ns", "changed_ns", "inode"),
    *("fingerprint", "digest"),
)
_BATCH = 512  # rows a piece


def render(files: CatalogFiles, style: Style) -> Iterator[bytes]:
    """Yield the header, then the rows."""
    yield BOM_UTF8 if style.to_file else b""
    yield (",".join(COLUMNS) + "\r\n").encode()
    head = files.catalog.head
    start = f"{head.id},{cell(display.text(head.root))}"
    left = iter(files)
    while batch := list(islice(left, _BATCH)):
        yield "".join([f"{start},{_cells(file)}\r\n" for file in batch]).encode()


def _cells(file: CatalogFile) -> str:
    changed = "" if file.changed_ns is None else file.changed_ns
    numbers = f"{file.size},{file.modified_ns},{changed},{file.inode or ''}"
    values = f"{(file.fingerprint or b'').hex()},{(file.digest or b'').hex()}"
    return f"{cell(file.volume)},{path_cells(file.path)},{numbers},{values}"
