"""The forecast of who is busy for how long: sharing is for what would keep one worker longer than its share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.compare.fair_share import shared_ones


@pytest.mark.parametrize(
    ("costs", "workers", "expected"),
    [
        ([8], 2, [True]),
        ([8], 1, [False]),
        ([8, 8], 2, [False, False]),
        ([8, 8, 8], 2, [False, False, True]),
        ([8, 8, 8, 8], 2, [False] * 4),
        ([10, 8, 8], 2, [False, False, True]),
        ([100, 8, 8, 8], 4, [True, False, False, False]),
        ([8, 8], 8, [True, True]),
    ],
)
def test_what_exceeds_a_fair_share_is_shared(costs: list[int], workers: int, expected: list[bool]) -> None:
    """Where whole sets come out even none is shared; of others that which would end last is."""
    assert list(shared_ones([(c, 0) for c in costs], sum(costs), workers)) == expected


def test_sets_among_many_small_ones_are_whole() -> None:
    """What others have to do meanwhile counts, though it is never shared itself."""
    assert list(shared_ones([(8, 6)] * 3, 1000, 2)) == [False] * 3


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=20), st.integers(2, 9))
def test_no_worker_is_kept_for_long_by_whole_sets(costs: list[int], workers: int) -> None:
    """Sets that stay whole end with the fair share, whatever the others are."""
    costs.sort(reverse=True)
    total = sum(costs)
    shared = shared_ones([(c, 0) for c in costs], total, workers)
    whole = [c for c, is_shared in zip(costs, shared, strict=True) if not is_shared]
    loads = [0] * workers
    for c in whole:
        loads[loads.index(min(loads))] += c
    assert max(loads) <= 1.1 * total / workers + 1e-6
