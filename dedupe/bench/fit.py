"""Tables as wide as the terminal: where room is short, bars go first, then words, never numbers.  Measures nothing."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

_NUMBER, _WORDS, _BAR = "=", "?", "|"  # what the name of a column begins with, if it is no plain name


class Fitting:
    """A table whose columns may be left out.

    Args:
        columns: names; `=` before one stands for numbers, `?` for words that may go, `|` for bars, which go first.
    """

    def __init__(self, *columns: str) -> None:
        self._columns = columns
        self._rows: list[tuple[str, ...]] = []

    def add_row(self, *cells: str) -> None:
        """Add a cell for each column."""
        self._rows.append(cells)

    def draw(self, console: Console) -> None:
        """Print what fits; where the names and numbers alone do not, a paragraph for each row, with all of it."""
        bars = [n for n, name in enumerate(self._columns) if name.startswith(_BAR)]
        words = [n for n, name in enumerate(self._columns) if name.startswith(_WORDS)]
        for left_out in range(len(bars) + len(words) + 1):
            gone = {*bars, *words[: left_out - len(bars)]} if left_out > len(bars) else set(bars[:left_out])
            table = self._table([n for n in range(len(self._columns)) if n not in gone])
            if Measurement.get(console, console.options.update(width=10_000), table).maximum <= console.width:
                console.print(table)
                return
        self._paragraphs(console, [n for n in range(len(self._columns)) if n not in bars])

    def _table(self, shown: Sequence[int]) -> Table:
        table = Table(box=SIMPLE, pad_edge=False)
        for n in shown:
            name = self._columns[n]
            table.add_column(
                escape(name.lstrip(_NUMBER + _WORDS + _BAR)),
                justify="right" if name.startswith(_NUMBER) else "left",
                no_wrap=True,
            )
        for row in self._rows:
            table.add_row(*(escape(row[n]) for n in shown))
        return table

    def _paragraphs(self, console: Console, shown: Sequence[int]) -> None:
        first, *others = shown
        console.print()
        console.print(f"{self._columns[first]}:", markup=False)
        for row in self._rows:
            told = (f"{self._columns[n].lstrip(_NUMBER + _WORDS)} {row[n]}".strip() for n in others if row[n])
            console.print(f"{row[first]}: {', '.join(told)}", markup=False)
        console.print()
