"""Batches grow and shrink with what they cost, within bounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dedupe.workers.batch_size import _SECONDS, BatchSize

lessons = st.lists(st.tuples(st.integers(0, 10_000), st.floats(0, 100)), max_size=30)


@given(st.integers(32, 8192), lessons)
def test_no_batch_leaves_its_bounds_or_jumps(first: int, taught: list[tuple[int, float]]) -> None:
    """Whatever is learnt, the next batch is between least and most, and within a factor of two of the last."""
    size = BatchSize(first, least=32, most=8192)
    for amount, seconds in taught:
        before = size.amount
        size.learn(amount, seconds)
        assert 32 <= size.amount <= 8192
        assert before // 2 <= size.amount <= before * 2


@given(st.floats(1e-6, 1e-2))
def test_a_steady_cost_gives_batches_of_the_wanted_time(each: float) -> None:
    """Where a unit always costs the same, a few batches are enough to find how many fill the time."""
    size = BatchSize(256, least=1, most=1 << 20)
    for _ in range(20):
        size.learn(size.amount, size.amount * each)
    assert 0.4 * _SECONDS <= size.amount * each <= 1.01 * _SECONDS or size.amount == 1


def test_a_batch_without_time_teaches_nothing() -> None:
    """What was lost with its worker, or held nothing, says nothing of the cost."""
    size = BatchSize(100, least=1, most=1000)
    size.learn(100, 0.0)
    size.learn(0, 1.0)
    assert size.amount == 100
