"""Shows how far a scan is while it runs.  The only module that uses tqdm; decides nothing about the scan."""

from __future__ import annotations

import sys
from typing import Any, Protocol


class Progress(Protocol):
    """Receives the phases of the work, one after the other."""

    def begin(self, phase: str, total: int | None, *, in_bytes: bool = False) -> None:
        """Start a phase of `total` files or bytes; None if it is not known."""

    def reach(self, count: int) -> None:
        """Set how many files or bytes of the phase are done."""

    def end(self) -> None:
        """Close the phase."""


class Silent:
    """Shows nothing."""

    def begin(self, phase: str, total: int | None, *, in_bytes: bool = False) -> None:
        """Show nothing."""

    def reach(self, count: int) -> None:
        """Show nothing."""

    def end(self) -> None:
        """Show nothing."""


class Bars:
    """Shows one line per phase on standard error, and removes it when the phase is over."""

    def __init__(self) -> None:
        import tqdm  # only if progress is shown: importing it takes as long as a small scan

        tqdm.tqdm.monitor_interval = 0  # with its thread running, workers could not be forked
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
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
