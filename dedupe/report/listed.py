"""What a list for people shows of a result: which groups, in which order, by which names.  Finds no duplicates."""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import islice
from operator import itemgetter
from typing import Any

from dedupe.report.base import Sort, Style
from dedupe.result import Group, GroupHeader, Groups

_KEYS: dict[Sort, Callable[[GroupHeader, bytes], Any]] = {
    Sort.SIZE: lambda header, _: -header[1],
    Sort.FILES: lambda header, _: -header[5],
    Sort.PATH: lambda _, path: path,
}


def listed(groups: Groups, style: Style) -> Iterable[Group]:
    """Return the groups that a list shows, in its order; where two are alike in it, in that of the report."""
    if style.sort is Sort.RECLAIMABLE:
        return groups if style.top is None else islice(groups, style.top)
    keys = enumerate(_keys(groups, _KEYS[style.sort]))
    by_key = itemgetter(1)
    ordered = sorted(keys, key=by_key) if style.top is None else heapq.nsmallest(style.top, keys, key=by_key)
    return (groups[place] for place, _ in ordered)


def hidden(groups: Sequence[Group], style: Style) -> int:
    """Return how many groups a list leaves out."""
    return 0 if style.top is None else max(0, len(groups) - style.top)


def _keys(groups: Groups, key: Callable[[GroupHeader, bytes], Any]) -> Iterator[Any]:
    for chunk in groups.chunks():
        first = 0
        for header in chunk.headers:
            yield key(header, chunk.files.path[first])
            first += header[5]


def namer(style: Style) -> Callable[[bytes], bytes]:
    """Return what writes a path as a list does: as it is, or relative to a folder, from where a shell can use it."""
    if style.relative_to is None:
        return lambda path: path
    return partial(_relative, lru_cache(maxsize=4096)(partial(_folder, style.relative_to)))


def _relative(folder_of: Callable[[bytes], bytes], path: bytes) -> bytes:
    """Return a path relative to a folder, never such that a program takes it for an option."""
    folder, name = os.path.split(path)
    shown = os.path.join(folder_of(folder), name)
    return os.path.join(b".", shown) if shown.startswith(b"-") else shown


def _folder(start: bytes, folder: bytes) -> bytes:
    """Return a folder relative to another, itself where there is no way between them, as between drives of Windows."""
    try:
        found = os.path.relpath(folder, start)
    except ValueError:
        return folder
    return b"" if found == b"." else found
