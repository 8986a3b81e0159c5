"""What is told while work goes on, to whoever wants to know how far it is.  Shows nothing itself."""

from __future__ import annotations

from typing import Protocol


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
