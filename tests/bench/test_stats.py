"""The arithmetic of the laboratory, with numbers that were worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.bench.stats import crossovers, pair_ratio, rate, summarise

TIMES = st.lists(st.floats(min_value=1e-9, max_value=1e3), min_size=1, max_size=9)


def test_summary() -> None:
    """Minimum, median, maximum and spread of known timings."""
    summary = summarise([3.0, 1.0, 2.0, 5.0, 2.0])
    assert (summary.minimum, summary.median, summary.maximum) == (1.0, 2.0, 5.0)
    assert summary.spread == 2.0


@pytest.mark.parametrize(("median", "noisy"), [(1.0, False), (1.09, False), (1.11, True)])
def test_noisy_from_a_tenth(median: float, *, noisy: bool) -> None:
    """A median more than a tenth above the minimum means a noisy machine."""
    assert summarise([1.0, median, 9.0]).noisy is noisy


@given(TIMES)
def test_summary_is_ordered(seconds: list[float]) -> None:
    """The median lies between minimum and maximum, whatever the timings."""
    summary = summarise(seconds)
    assert summary.minimum <= summary.median <= summary.maximum
    assert summary.spread >= 0


def test_rate() -> None:
    """A GB is 10^9 bytes, and no time at all is no error."""
    assert rate(3_000_000_000, 2.0) == 1.5
    assert rate(1, 0.0) == math.inf


def test_pair_ratio_is_by_round() -> None:
    """A round in which everything was slow does not change the ratio."""
    assert pair_ratio([2.0, 20.0, 2.0], [1.0, 10.0, 1.0]) == 2.0
    assert pair_ratio([1.0, 4.0, 9.0], [1.0, 2.0, 3.0]) == 2.0


def test_pair_ratio_needs_pairs() -> None:
    """Timings of different numbers of rounds are no pairs."""
    with pytest.raises(ValueError, match="argument"):
        pair_ratio([1.0], [1.0, 2.0])


@given(TIMES)
def test_pair_ratio_with_itself(seconds: list[float]) -> None:
    """Everything is as fast as itself."""
    assert pair_ratio(seconds, seconds) == 1.0


def test_crossover_in_the_middle() -> None:
    """Twice as slow at 64 and twice as fast at 4096 means a turn at their geometric mean, 512."""
    assert crossovers([64, 4096], [2.0, 1.0], [1.0, 2.0]) == (pytest.approx(512),)


def test_crossover_leans_to_the_closer_side() -> None:
    """A ratio of 2 at 1 and of 1/4 at 8 turns at a third of the way, at 2."""
    assert crossovers([1, 8], [2.0, 1.0], [1.0, 4.0]) == (pytest.approx(2),)


def test_no_crossover_where_the_order_stays() -> None:
    """Where one is faster at every size nothing turns round."""
    assert crossovers([1, 2, 4], [1.0, 1.0, 1.0], [2.0, 3.0, 1.5]) == ()


def test_noise_is_no_crossover() -> None:
    """Times within the tolerance do not turn the order round."""
    assert crossovers([1, 2, 4], [1.0, 1.02, 1.0], [2.0, 1.0, 2.0]) == ()


def test_near_ties_are_bridged() -> None:
    """A turn is found across a size at which both are equal."""
    assert crossovers([1, 2, 4], [2.0, 1.0, 1.0], [1.0, 1.0, 2.0]) == (pytest.approx(2),)


def test_several_crossovers() -> None:
    """An order that turns twice has two crossovers, ascending."""
    assert crossovers([1, 4, 16], [2.0, 1.0, 2.0], [1.0, 2.0, 1.0]) == (pytest.approx(2), pytest.approx(8))


@given(st.lists(st.tuples(st.floats(1e-6, 1e3), st.floats(1e-6, 1e3)), min_size=2, max_size=8))
def test_crossovers_do_not_depend_on_who_is_first(times: list[tuple[float, float]]) -> None:
    """The order turns round at the same sizes for A against B as for B against A."""
    sizes = [1 << place for place in range(len(times))]
    one, other = zip(*times, strict=True)
    assert crossovers(sizes, one, other) == pytest.approx(crossovers(sizes, other, one))
