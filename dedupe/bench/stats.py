"""The arithmetic of the laboratory: spread, ratios, crossovers.  Knows neither clocks nor hashes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

# The minimum is what the machine can do; a median this far above it shows that other programs ran
NOISY = 1.10
# Times that are closer than this count as equal: the next run may reverse their order
TOLERANCE = 0.03


@dataclass(frozen=True, slots=True)
class Summary:
    """Minimum, median and maximum of some timings, in seconds."""

    minimum: float
    median: float
    maximum: float

    @property
    def spread(self) -> float:
        """The difference of the slowest and the fastest, as a share of the median (0.1 is 10 %)."""
        return (self.maximum - self.minimum) / self.median

    @property
    def noisy(self) -> bool:
        """Whether the median is so far from the minimum that the machine was doing something else."""
        return self.median > self.minimum * NOISY


def summarise(seconds: Sequence[float]) -> Summary:
    """Return minimum, median and maximum of at least one timing."""
    return Summary(min(seconds), median(seconds), max(seconds))


def rate(size: int, seconds: float) -> float:
    """Return bytes a second in GB/s, where a GB is 10^9 bytes; infinite if the clock measured no time."""
    return size / seconds / 1e9 if seconds > 0 else math.inf


def pair_ratio(baseline: Sequence[float], seconds: Sequence[float]) -> float:
    """Return how many times as fast as the baseline something is: the median over the rounds.

    The n-th timings of both belong to the same round: whatever slowed the machine down affected both.

    Raises:
        ValueError: they do not have the same number of rounds.
    """
    return median(base / own for base, own in zip(baseline, seconds, strict=True))


def crossovers(
    sizes: Sequence[int], first: Sequence[float], second: Sequence[float], tolerance: float = TOLERANCE
) -> tuple[float, ...]:
    """Return the sizes at which another of two participants becomes the faster one, ascending.

    `first` and `second` are seconds at `sizes` (ascending).  Times within `tolerance` of each other
    count as equal.  Between two sizes the logarithm of the ratio is taken as a straight line over that of the size.
    """
    found = []
    last: tuple[float, float] | None = None  # logarithms of size and ratio where the order was last clear
    for size, one, other in zip(sizes, first, second, strict=True):
        here = (math.log(size), math.log(one / other))
        if abs(here[1]) <= math.log1p(tolerance):
            continue
        if last and last[1] * here[1] < 0:
            share = last[1] / (last[1] - here[1])
            found.append(math.exp(last[0] + share * (here[0] - last[0])))
        last = here
    return tuple(found)
