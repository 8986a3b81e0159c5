"""The files of a catalog as JSON lines, an object a file, all with the same keys but `path_base64`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from dedupe.query.catalog_files import CatalogFile, CatalogFiles
from dedupe.report import jsontext
from dedupe.report.base import Style

_BATCH = 512  # objects a piece


def render(files: CatalogFiles, style: Style) -> Iterator[bytes]:  # noqa: ARG001 - a format takes both
    """Yield line by line."""
    head = files.catalog.head
    start = f'{{"catalog": "{head.id}", {jsontext.path_member("root", head.root)}'
    left = iter(files)
    while batch := list(islice(left, _BATCH)):
        yield "".join([f"{start}, {_members(file)}}}\n" for file in batch]).encode()


def _members(file: CatalogFile) -> str:
    changed = "null" if file.changed_ns is None else file.changed_ns
    times = f'"size": {file.size}, "modified_ns": {file.modified_ns}, "changed_ns": {changed}'
    inode = f'"{file.inode}"' if file.inode else "null"  # as in reports: it may pass 2^63
    values = f'"inode": {inode}, "fingerprint": {_hex(file.fingerprint)}, "digest": {_hex(file.digest)}'
    return f'"volume": {jsontext.words(file.volume)}, {jsontext.path_member("path", file.path)}, {times}, {values}'


def _hex(value: bytes | None) -> str:
    return "null" if value is None else f'"{value.hex()}"'
