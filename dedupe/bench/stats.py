"""The arithmetic of the laboratory: spread, ratios, crossovers.  Knows neither clocks nor hashes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

# The minimum is what the machine can do; a median this far above it was made by something else that ran
NOISY = 1.10
# Two times closer than this are no order: the difference does not come back in the next run
TOLERANCE = 0.03


@dataclass(frozen=True, slots=True)
class Summary:
    """What is worth knowing of some timings, all in seconds."""

    minimum: float
    median: float
    maximum: float

    @property
    def spread(self) -> float:
        """How far the slowest is from the fastest, as a share of the median (0.1 is 10 %)."""
        return (self.maximum - self.minimum) / self.median

    @property
    def noisy(self) -> bool:
        """Whether the median is so far from the minimum that the machine was doing something else."""
        return self.median > self.minimum * NOISY


def summarise(seconds: Sequence[float]) -> Summary:
    """Return minimum, median and maximum of at least one timing."""
    return Summary(min(seconds), median(seconds), max(seconds))


def rate(size: int, seconds: float) -> float:
    """Return bytes a second in GB/s, where a GB is 10^9 bytes; infinite where no time was seen to pass."""
    return size / seconds / 1e9 if seconds > 0 else math.inf


def pair_ratio(baseline: Sequence[float], seconds: Sequence[float]) -> float:
    """Return how many times as fast as the baseline something is: the median over the rounds.

    The n-th timings of both belong to the same round: what slowed the machine down then slowed down both.

    Raises:
        ValueError: they do not have the same number of rounds.
    """
    return median(base / own for base, own in zip(baseline, seconds, strict=True))


def crossovers(
    sizes: Sequence[int], first: Sequence[float], second: Sequence[float], tolerance: float = TOLERANCE
) -> tuple[float, ...]:
    """Return the sizes at which the order of two participants turns round, ascending.

    `first` and `second` are seconds at `sizes` (ascending).  Times within `tolerance` of each other say nothing of
    the order.  Between two sizes the logarithm of the ratio is taken as a straight line over that of the size.
    """
    found = []
    last: tuple[float, float] | None = None  # logarithms of size and ratio where the order was last plain
    for size, one, other in zip(sizes, first, second, strict=True):
        here = (math.log(size), math.log(one / other))
        if abs(here[1]) <= math.log1p(tolerance):
            continue
        if last and last[1] * here[1] < 0:
            share = last[1] / (last[1] - here[1])
            found.append(math.exp(last[0] + share * (here[0] - last[0])))
        last = here
    return tuple(found)
