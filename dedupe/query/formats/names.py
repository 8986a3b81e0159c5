"""The missing files for scripts such as rsync: every name on the card, exact bytes, one a line or ended by NUL."""

from __future__ import annotations

from collections.abc import Iterator

from dedupe.query.answer import MissingResult
from dedupe.report.base import Style


def render(result: MissingResult, style: Style) -> Iterator[bytes]:
    """Yield the names, those of one file after each other."""
    end = b"\0" if style.null else b"\n"
    for file in result.missing:
        yield b"".join([name + end for name in file.names])
