"""Tables fit the terminal: bars go first, then words, and a number is never cut or left out."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console  # noqa: TID251 - what draws is tested by what it draws

from dedupe.bench.draw import draw, draw_comparison
from dedupe.bench.fit import Fitting
from tests.bench.test_record import record

_CELL = st.text("abcdefghij0123456789.", min_size=1, max_size=14)


def drawn(table: Fitting, width: int) -> str:
    """Return what a table looks like at a width."""
    file = io.StringIO()
    table.draw(Console(file=file, width=width, no_color=True, highlight=False))
    return file.getvalue()


@given(st.lists(st.tuples(*[_CELL] * 5), min_size=1, max_size=4), st.integers(20, 120))
def test_names_and_numbers_are_whole_at_every_width(rows: list[tuple[str, ...]], width: int) -> None:
    """No line is wider than the terminal, and nothing is shortened by dots."""
    table = Fitting("case", "?code", "=GB/s", "|", "=ms")
    for row in rows:
        table.add_row(*row)
    text = drawn(table, width)
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    assert "\u2026" not in text
    joined = text.replace("\n", " ")
    assert all(cell in joined for row in rows for cell in (row[0], row[2], row[4]))


def test_bars_go_first_then_words() -> None:
    """As the room gets less; at the end each row is a paragraph, which has the words again."""
    table = Fitting("case", "?code", "=GB/s", "|")
    table.add_row("sha256", "OpenSSL", "1.80", "#" * 20)
    texts = [drawn(table, width) for width in (60, 40, 22, 12)]
    seen = [("#" in text, "OpenSSL" in text, "GB/s 1.80" in " ".join(text.split())) for text in texts]
    assert seen == [(True, True, False), (False, True, False), (False, False, False), (False, True, True)]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_whole_record_keeps_its_numbers(width: int) -> None:
    """Speed, times, spread, ratio and those of other programs."""
    file = io.StringIO()
    draw(record(), Console(file=file, width=width, no_color=True, force_terminal=True, highlight=False))
    text = file.getvalue()
    for number in ("1.00", "10.00", "0.25", "40.00", "80.00", "150 %", "0.67", "500.00", "100.0"):
        assert number in text
    assert "\u2026" not in text


def test_two_records_alike_have_no_table_of_differences() -> None:
    """An empty table says nothing."""
    file = io.StringIO()
    draw_comparison(record(), record(), Console(file=file, width=80, no_color=True))
    assert file.getvalue().split()[0] == "participant"
