"""What a walk found so far, and what it has still to look at.  Lists nothing itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from dedupe.files.table import FileTable
from dedupe.result import Problem, SkipReason


class PendingFolder(NamedTuple):
    """A folder that is still to be listed, or some files of one so large that looking at them is shared out."""

    folder: bytes
    device: int  # of its root
    names: bytes = b""  # of the files, NUL between them; without any the folder itself is to be listed


@dataclass(slots=True)
class Listing:
    """What was found below some folders, and the folders that still wait to be listed."""

    table: FileTable = field(default_factory=FileTable)
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    pending: list[PendingFolder] = field(default_factory=list)
    unlisted: list[bytes] = field(default_factory=list)  # folders that waited in vain

    def take(self, other: Listing) -> None:
        """Add what another listing found."""
        self.table.extend(other.table)
        self.skipped.update(other.skipped)
        self.problems += other.problems
        self.pending += other.pending
        self.unlisted += other.unlisted
