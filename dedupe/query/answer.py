"""What was found missing: files, reasons and totals.  Reads no file and prints nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from dedupe.digests.base import BackendChoice
from dedupe.result import Problem, SkipReason

# entries that hold nothing to be lost
_WITHOUT_DATA = (SkipReason.EMPTY, SkipReason.SYMLINK, SkipReason.SPECIAL, SkipReason.PSEUDO_FILE_SYSTEM)


class MissingReason(StrEnum):
    """Why a file of the card counts as missing."""

    NOT_HELD = "not-held"  # no file of the archive has its content
    SAME_FILE = "same-file"  # the archive has nothing but this very file, reached by another way


class MissingFile(NamedTuple):
    """One physical file of the card whose content the archive does not hold; paths as the user reached them."""

    path: bytes
    size: int  # bytes
    modified_ns: int
    root: int  # index into the card's roots
    reason: MissingReason
    links: tuple[bytes, ...] = ()  # its further names on the card, sorted

    @property
    def names(self) -> tuple[bytes, ...]:
        """Return all names of the file on the card, `path` first."""
        return (self.path, *self.links)


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingTotals:
    """Sums of an answer.  Bytes are bytes; all else are counts of physical files of the card, unless told."""

    files: int = 0  # that were looked for: those that hold something
    bytes: int = 0
    catalogued_files: int = 0  # of those looked for, those of a catalog: what it lacks, nobody has looked for
    empty_files: int = 0  # names on the card; they have no content to look for
    held_files: int = 0
    held_bytes: int = 0
    linked_files: int = 0  # of the held ones, those that the archive has as a further hard link
    remembered_files: int = 0  # of the held ones, those for which a remembered digest was taken
    offline_files: int = 0  # of the held ones, those that only catalogs have
    probable_files: int = 0  # that a catalog without digests has by size and fingerprint: neither held nor missing
    missing_files: int = 0
    missing_bytes: int = 0
    unknown_files: int = 0  # could not be read, so that nobody knows
    archive_files: int = 0  # names in the archive
    archive_bytes: int = 0
    bytes_read: int = 0  # content only, of both sides
    cache_hits: int = 0  # files of both sides for which a remembered value spared reading
    problems: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingResult:
    """The outcome of `find_missing`: the files of the card that the archive does not hold, by root and path."""

    version: str
    started: str  # ISO 8601, UTC
    seconds: float
    card: Sequence[bytes]  # roots
    archive: Sequence[bytes]  # roots
    confirm: str
    backend: BackendChoice
    totals: MissingTotals
    missing: Sequence[MissingFile]
    problems: Sequence[Problem]
    card_skipped: Mapping[SkipReason, int] = field(default_factory=dict)
    archive_skipped: Mapping[SkipReason, int] = field(default_factory=dict)
    notes: Sequence[str] = ()  # sentences for the user
    phases: Mapping[str, float] = field(default_factory=dict)  # seconds a phase, in order

    @property
    def left_out(self) -> int:
        """Return how many entries of the card, files and whole folders, rules left out: nothing is known of them."""
        return sum(count for reason, count in self.card_skipped.items() if reason not in _WITHOUT_DATA)

    @property
    def is_certain(self) -> bool:
        """Return whether everything that was looked for could be read and told, so that what is not missing is held.

        Where no file holds anything, nothing was looked for: a broken card may show all its files so.  And a catalog
        does not know what could not be read, or was left out, when it was made, nor what came since.
        """
        totals = self.totals
        unsure = totals.unknown_files or totals.probable_files or totals.catalogued_files
        return bool(totals.files) and not self.problems and not unsure and not self.card_skipped.get(SkipReason.CLOUD)
