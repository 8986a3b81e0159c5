"""How much goes into one batch: what keeps a worker busy for some time, judged by how long those before it took."""

from __future__ import annotations

# Handing over a batch costs 0.15 ms; a disk that answers slowly must not keep Ctrl-C and progress waiting.
_SECONDS = 0.03


class BatchSize:
    """Grows and shrinks by a factor of two at most, so that one odd batch changes little.

    Args:
        amount: of the first batch, in the unit that the caller counts in.
        least, most: what no batch falls below or exceeds.
    """

    __slots__ = ("_least", "_most", "amount")

    def __init__(self, amount: int, *, least: int, most: int) -> None:
        self.amount = amount
        self._least = least
        self._most = most

    def learn(self, amount: int, seconds: float) -> None:
        """Learn how long a worker took for so much; no time at all teaches nothing."""
        if amount and seconds > 0:
            wanted = min(max(amount * _SECONDS / seconds, self.amount / 2), self.amount * 2)
            self.amount = int(min(max(wanted, self._least), self._most))
