"""How far a scan is, told while it runs.  The one place that knows tqdm; decides nothing about the scan."""

from __future__ import annotations

import sys
from typing import Any, Protocol


class Progress(Protocol):
    """Is told of phases, one after the other."""

    def begin(self, phase: str, total: int | None, *, in_bytes: bool = False) -> None:
        """Start a phase of `total` files or bytes; None where nobody knows."""

    def reach(self, count: int) -> None:
        """Say how much of the phase is done."""

    def end(self) -> None:
        """Close the phase."""


class Silent:
    """Says nothing."""

    def begin(self, phase: str, total: int | None, *, in_bytes: bool = False) -> None:
        """Say nothing."""

    def reach(self, count: int) -> None:
        """Say nothing."""

    def end(self) -> None:
        """Say nothing."""


class Bars:
    """One line a phase on standard error, gone when the phase is over."""

    def __init__(self) -> None:
        import tqdm  # only where it is shown: it takes as long to import as a small scan

        tqdm.tqdm.monitor_interval = 0  # its thread would forbid workers to start by fork
        self._tqdm = tqdm.tqdm
        self._bar: Any = None

    def begin(self, phase: str, total: int | None, *, in_bytes: bool = False) -> None:
        """Show a bar, or a count where the total is unknown."""
        self.end()
        self._bar = self._tqdm(
            total=total,
            desc=phase,
            unit="B" if in_bytes else " files",
            unit_scale=True,
            unit_divisor=1024 if in_bytes else 1000,
            leave=False,
            dynamic_ncols=True,
            file=sys.stderr,
            delay=0.2,
        )

    def reach(self, count: int) -> None:
        """Move the bar."""
        if self._bar is not None:
            most = self._bar.total
            self._bar.update((min(count, most) if most else count) - self._bar.n)

    def end(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
