"""Where remembered digests contradict the bytes: every file in question, and no other."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from dedupe.files.classes import Classes
from dedupe.files.columns import Column
from dedupe.result import Proof
from dedupe.scan.recall import Known
from dedupe.scan.rot import _class_numbers, _contradicted


@given(st.lists(st.tuples(st.integers(0, 2), st.one_of(st.none(), st.integers(0, 2))), min_size=1, max_size=12))
def test_a_witness_is_doubted_where_it_and_another_disagree_about_equality(files: list[tuple[int, int | None]]) -> None:
    """Two files are equal by their bytes and not by their digests, or the other way round: both are hashed."""
    known = Known(Column(16), Column(1))
    classes = Classes()
    for content in range(3):
        members = [i for i, (c, _) in enumerate(files) if c == content]
        if len(members) > 1:
            classes.append(None, members, Proof.COMPARED)
    for i, (_, witness) in enumerate(files):
        if witness is not None:
            known.digests.put(i, bytes([witness]))
    told = [(i, c, w) for i, (c, w) in enumerate(files) if w is not None]
    expected = {i for i, c, w in told for _, d, v in told if (c == d) != (w == v)}
    sets = [array("I", range(len(files)))]
    assert set(_contradicted(sets, known, _class_numbers(len(files), classes))) == expected
