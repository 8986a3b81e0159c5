"""What a run came to: acted, already done, refused, failed, each with its reason.  Acts on nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple


class Refusal(NamedTuple):
    """A name that nothing was done about, and why."""

    path: bytes  # as the marks have it
    reason: str


@dataclass(slots=True)
class Tally:
    """The sums of a run; names are those of the marks."""

    run: str = ""  # the journal's; empty for a dry run, and where there was nothing to do
    done: int = 0  # names
    done_bytes: int = 0  # of files of which all known names were acted on
    freed: int = 0  # bytes that became free
    freed_more: bool = False  # maybe: files that went shared blocks, or lay in layers that nothing goes from
    already: list[Refusal] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    failed: list[Refusal] = field(default_factory=list)
    unknown: list[Refusal] = field(default_factory=list)  # it could not be put back: the reason says where it lies
    places: list[str] = field(default_factory=list)  # where victims lie now, such as folders of trashes
    about: str = ""  # of an undo: the run that it takes back
    notes: list[str] = field(default_factory=list)
    stopped: str = ""  # why the run ended early
    interrupted: bool = False  # by the user

    @property
    def is_complete(self) -> bool:
        """Return whether all that was asked for is done, or was before."""
        return not (self.refused or self.failed or self.unknown or self.stopped)

    def totals(self) -> dict[str, object]:
        """Return the numbers for the journal's foot."""
        return {
            "done": self.done,
            "done_bytes": self.done_bytes,
            "freed": self.freed,
            "already": len(self.already),
            "refused": counted(self.refused),
            "failed": counted(self.failed),
            "unknown": counted(self.unknown),
            "stopped": self.stopped,
        }


def counted(refusals: Iterable[Refusal]) -> dict[str, int]:
    """Return how often each reason was given, the most frequent first."""
    found: dict[str, int] = {}
    for refusal in refusals:
        found[refusal.reason] = found.get(refusal.reason, 0) + 1
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))
