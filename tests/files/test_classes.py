"""Classes in columns: a list of pairs in all that it says, and never a digest that is another class's."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.files.classes import Classes

with_digests = st.tuples(st.binary(min_size=4, max_size=4), st.lists(st.integers(0, 99), min_size=1, max_size=4))
without = st.tuples(st.none(), st.lists(st.integers(0, 99), min_size=1, max_size=4))
tables = st.lists(st.lists(with_digests, max_size=5), max_size=4) | st.lists(st.lists(without, max_size=5), max_size=4)


def table(pairs: list[tuple[bytes | None, list[int]]]) -> Classes:
    """Return classes made of pairs."""
    made = Classes()
    for digest, members in pairs:
        made.append(digest, members)
    return made


def plain(classes: Classes) -> list[tuple[bytes | None, list[int]]]:
    """Return classes as pairs."""
    return [(digest, list(members)) for digest, members in classes]


@given(tables)
def test_tables_are_lists_of_pairs(parts: list[list[tuple[bytes | None, list[int]]]]) -> None:
    """However a table grows, by one class or by many, it holds what a list would, also after a journey."""
    whole = Classes()
    for part in parts:
        whole.extend(pickle.loads(pickle.dumps(table(part))))
    pairs = [pair for part in parts for pair in part]
    assert plain(whole) == plain(table(pairs)) == pairs


@pytest.mark.parametrize(("first", "second"), [(b"four", None), (None, b"four"), (b"four", b"eight888")])
def test_digests_of_two_kinds_are_refused(first: bytes | None, second: bytes | None) -> None:
    """A class with a digest beside one without would shift all that follow: it is refused, and nothing is taken in."""
    classes = table([(first, [1, 2])])
    with pytest.raises(ValueError, match="beside others"):
        classes.append(second, [3, 4])
    with pytest.raises(ValueError, match="beside others"):
        classes.extend(table([(second, [3, 4])]))
    assert plain(classes) == [(first, [1, 2])]
