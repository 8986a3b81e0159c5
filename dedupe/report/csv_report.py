"""The CSV report: a row a name, for spreadsheets and data frames.  Owns the columns.

RFC 4180 in UTF-8; a file starts with a byte-order mark, without which Excel shows mojibake.  Names of one physical
file share `file`; the first of them is a real name, and `kind` says what each is: "file" for the first, then "hard
link", "symbolic link", "mounted".  `path` is absolute, so that no cell starts with a formula sign; where it is not
exact (see `display`) `path_base64` holds the bytes.  `root` is the root that the file was found below, empty where
that is not known.  `modified` is empty for a date outside the years 1 to 9999.

The rows are put together by hand: only a path can need quotes, and `csv.writer`, which looks at every character of
every cell, took four times as long.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from dedupe.report.base import Style
from dedupe.report.units import utc_time
from dedupe.result import GroupChunk, NameKind, Proof, ScanResult
from dedupe.storage import display

COLUMNS = ("group", "file", "size", "algorithm", "digest", "modified", "path", "path_base64", "kind", "root")
_needs_quotes = re.compile(r'[",\r\n]').search


def render(result: ScanResult, style: Style) -> Iterator[bytes]:
    """Yield the header, then the rows."""
    yield BOM_UTF8 if style.to_file else b""
    yield _lines([",".join(COLUMNS)])
    roots = [cell(display.text(root)) for root in result.roots]
    for chunk in result.groups.chunks():
        yield _lines(_rows(chunk, roots))


def _lines(rows: Iterable[str]) -> bytes:
    return "".join([row + "\r\n" for row in rows]).encode()


def _rows(chunk: GroupChunk, roots: Sequence[str]) -> Iterator[str]:
    """Yield a row for each name; `file` counts the physical files of a group from 1."""
    columns = chunk.files
    files = zip(columns.path, columns.modified_ns, columns.root, columns.proof, *columns[-len(NameKind) :], strict=True)
    for group, size, algorithm, digest, _, count, _ in chunk.headers:
        common = f"{size},{cell(algorithm)},{digest.hex() if digest is not None else ''}"
        for number, (path, modified_ns, root, proof, *further) in enumerate(islice(files, count), 1):
            start = f"{group},{number},{common},{utc_time(modified_ns)}"
            end = roots[root] if root is not None else ""
            yield f"{start},{path_cells(path)},{kind_of(proof)},{end}"
            if any(further):
                for kind, names in zip(NameKind, further, strict=True):
                    yield from [f"{start},{path_cells(name)},{kind},{end}" for name in names]


def kind_of(proof: Proof | None) -> str:
    """Return what a file's first name is."""
    return "offline" if proof is Proof.OFFLINE else "file"


def path_cells(path: bytes) -> str:
    """Return the two cells of a path."""
    try:
        return cell(path.decode()) + ","
    except UnicodeDecodeError:
        return f"{cell(display.text(path))},{display.base64_if_needed(path)}"


def cell(text: str) -> str:
    """Return `text` as a cell, in quotes where a reader would take it for more than one."""
    return '"' + text.replace('"', '""') + '"' if _needs_quotes(text) else text
