"""What a walk found so far, and what it has still to look at.  Lists nothing itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from dedupe.files.table import FileTable
from dedupe.result import Problem, SkipReason
from dedupe.storage.volume import Mount, Volume

T = TypeVar("T")


class PendingFolder(NamedTuple):
    """A folder that is still to be listed."""

    folder: bytes
    mount: Mount  # that it lies on, unless a mount begins with it
    root: int  # from which of the scan's roots it was reached, in their order
    top: Volume  # of that root


class PendingFiles(NamedTuple):
    """Files of one folder so large that looking at them is shared out."""

    folder: bytes
    mount: Mount
    root: int
    names: bytes  # NUL between them


@dataclass(slots=True)
class Listing:
    """What was found below some folders, and the folders that still wait to be listed."""

    table: FileTable = field(default_factory=FileTable)
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    pending: list[PendingFolder | PendingFiles] = field(default_factory=list)
    unlisted: list[bytes] = field(default_factory=list)  # folders and files that could not be looked at
    catalogs: frozenset[bytes] = frozenset()  # roots that are catalogs, and were not listed
    alone_files: int = 0  # of those: names that share their content with nothing, and are in no table
    alone_bytes: int = 0  # their sizes
    notes: list[str] = field(default_factory=list)  # sentences for the user

    def take(self, other: Listing) -> None:
        """Add what another listing found."""
        self.table.extend(other.table)
        self.skipped.update(other.skipped)
        self.problems += other.problems
        self.pending += other.pending
        self.unlisted += other.unlisted

    def kept(self, items: Iterable[T], reasons: Iterable[SkipReason | None]) -> list[T]:
        """Return the items that there is no reason to leave out, and count the reasons that there are."""
        kept = []
        for item, reason in zip(items, reasons, strict=True):
            if reason is None:
                kept.append(item)
            else:
                self.skipped[reason] += 1
        return kept
