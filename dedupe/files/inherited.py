"""Which table of files the present worker processes were forked with, so that files travel to them as numbers.

A process that is forked has all that its parent had then, and need not be sent it.  Others (spawned ones, those of
another host) are sent columns.  Starts no process, and knows none.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from dedupe.files.table import FileTable

_numbers = count(1)
_tables: dict[int, FileTable] = {}  # by a number that is never given twice


def announce(table: FileTable) -> int:
    """Note that the processes which are forked from now on have a table, and return its number."""
    number = next(_numbers)
    _tables[number] = table
    return number


def withdraw(number: int | None) -> None:
    """Note that the processes which had a table are gone."""
    if number is not None:
        _tables.pop(number, None)


def _inherited(number: int) -> FileTable:
    return _tables[number]


class StandIn:
    """What becomes the table itself in a process that was forked with it."""

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Callable[[int], FileTable], tuple[int]]:
        return _inherited, (self._number,)


def stand_in(table: FileTable) -> StandIn | None:
    """Return what to send to the present processes for a table that they have, None if they have not."""
    return next((StandIn(number) for number, known in tuple(_tables.items()) if known is table), None)
