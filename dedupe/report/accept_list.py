"""The list of wanted duplicates: a digest a line, as `sha256:…` or alone; `#` begins a comment.  Judges no group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dedupe.report.units import counted
from dedupe.result import Group
from dedupe.storage import display


def parse(text: str) -> Iterator[tuple[str, bytes]]:
    """Yield the algorithm of each digest, in small letters and empty where the line names none, and the digest.

    Raises:
        ValueError: a line holds something else; its argument is the number of the line.
    """
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].strip()
        kind, _, digits = words.rpartition(":")
        if not words:
            continue
        try:
            yield kind.lower(), bytes.fromhex(digits)
        except ValueError as error:
            raise ValueError(number) from error


def lines(groups: Iterable[Group]) -> Iterator[bytes]:
    """Yield a line for each group that has a digest, with what it is as the comment."""
    for group in groups:
        if group.digest is not None:
            what = f"{counted(len(group.files), 'file')}, {display.shown(group.files[0].path)}"
            yield f"{group.algorithm}:{group.digest.hex()}  # {what}\n".encode("utf-8", "backslashreplace")
