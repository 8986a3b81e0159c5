"""What a line of a list says, whatever its format."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a list: a file, and the digest that it had."""

    path: bytes
    digest: bytes
    algorithms: tuple[str, ...]  # one, or those that the digest's length leaves open, the likeliest first
    size: int | None = None  # bytes of the file, where the list says it


@dataclass(frozen=True, slots=True)
class Sums:
    """A list: its entries in order, and the numbers of lines (from 1) that are neither entry, comment nor empty."""

    entries: tuple[Entry, ...]
    malformed: tuple[int, ...]
