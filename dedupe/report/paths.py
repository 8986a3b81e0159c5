"""The paths report, for scripts: blocks of exact names with a blank line between, as fdupes and jdupes print them.

One name a physical file; files of catalogs have none that a program could use.  Names are the file system's bytes as
they are; one that holds a new line is told apart with `--null` only, where a NUL ends each name and an empty name
stands between blocks.

What is redundant is one list without blocks, for programs that take every line for a name; hard links of a redundant
file are redundant names.
"""

from __future__ import annotations

from collections.abc import Iterator

from dedupe.report.base import Style
from dedupe.report.listed import listed, namer
from dedupe.report.redundant import keepers_of
from dedupe.result import Proof, ScanResult


def render(result: ScanResult, style: Style) -> Iterator[bytes]:
    """Yield the blocks."""
    end = b"\0" if style.null else b"\n"
    named = namer(style)
    if style.redundant:
        keepers = keepers_of(result, style)
        for group in listed(result.groups, style):
            if found := keepers.redundant(group):
                yield b"".join([named(name) + end for names in found.files for name in names])
        return
    between = b""
    for group in listed(result.groups, style):
        if here := [named(file.path) + end for file in group.files if file.proof is not Proof.OFFLINE]:
            yield between + b"".join(here)
            between = end
