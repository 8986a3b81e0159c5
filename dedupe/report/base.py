"""The contract of a report format: a result becomes bytes.  Opens no file and prints nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from dedupe.result import File, Group, ScanResult

Staying: TypeAlias = Callable[[Group], Sequence[File] | None]


class Sort(StrEnum):
    """What a list of groups is sorted by; where two are alike, the one that wastes more comes first."""

    RECLAIMABLE = "reclaimable"
    SIZE = "size"
    FILES = "files"
    PATH = "path"


class Style(NamedTuple):
    """Where a report goes and what its reader wants; a format ignores what does not concern it."""

    to_file: bool = False  # into a file, not to standard output: CSV then starts with a byte-order mark
    colour: bool = False  # text: ANSI colours
    null: bool = False  # paths: NUL ends a path, not a new line
    folders: bool = False  # text: identical and contained folders too
    redundant: bool = False  # text, paths: only what need not be kept
    staying: Staying | None = None  # which files of a group stay; None: one of the first root
    across: bool = False  # groups span roots: copies within one are marked, and those below the root that stays stay
    all_problems: bool = False  # text: every problem, not the first few
    top: int | None = None  # text, paths: so many groups at most
    sort: Sort = Sort.RECLAIMABLE  # text, paths: which comes first
    relative_to: bytes | None = None  # text, paths: names are relative to this folder; None: absolute


Render: TypeAlias = Callable[[ScanResult, Style], Iterator[bytes]]
"""Yield a report piece by piece; a million groups are never held as one text."""
