"""What a scan found: groups, problems, skips and totals.  Reads no file and prints nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from dedupe.digests.base import BackendChoice


class ProblemKind(StrEnum):
    """Why a file or folder could not take part."""

    PERMISSION = "permission"
    NOT_FOUND = "not-found"  # a root that never was there
    VANISHED = "vanished"  # seen by the walk, gone when it was to be read
    CHANGED = "changed"
    SHORT_READ = "short-read"
    IO = "io"
    TOO_LONG = "too-long"
    LINK_LOOP = "link-loop"
    NOT_A_FILE = "not-a-file"  # a root or an entry that is neither file nor folder
    ROT = "rot"  # other content than when it was read last, under the same size and times: its disk may fail


class SkipReason(StrEnum):
    """Why an entry was left out on purpose; counted, not listed."""

    EMPTY = "empty"
    TOO_SMALL = "too-small"
    TOO_LARGE = "too-large"
    SYMLINK = "symlink"
    SPECIAL = "special"
    EXCLUDED = "excluded"
    NOT_INCLUDED = "not-included"
    DEFAULT_EXCLUDE = "default-exclude"
    PSEUDO_FILE_SYSTEM = "pseudo-file-system"
    OTHER_FILE_SYSTEM = "other-file-system"
    CLOUD = "cloud-placeholder"
    OWN_OUTPUT = "own-output"


class Proof(StrEnum):
    """How it is known that a file has the content of its group; the strongest first."""

    COMPARED = "compared"  # every byte was compared in this run
    HASHED = "hashed"  # its full digest was computed in this run
    REMEMBERED = "remembered"  # a digest that was remembered from an earlier run stands for it


class NameKind(StrEnum):
    """What a further name of a physical file is."""

    HARD_LINK = "hard link"
    SYMBOLIC_LINK = "symbolic link"
    MOUNTED = "mounted"  # the same folder reached through another mount


class File(NamedTuple):  # not a frozen dataclass: a report makes one for each file, at a third of the time
    """One physical file of a group.  Paths are absolute, as the user reached them, in the file system's bytes."""

    path: bytes
    modified_ns: int
    device: int
    inode: int
    links: tuple[bytes, ...] = ()  # other names of this same file inside the roots, sorted


@dataclass(frozen=True, slots=True)
class Group:
    """Two or more physical files of equal content, ordered by path."""

    id: int  # 1, 2, 3 ... in the order of the report
    size: int  # bytes of each file
    algorithm: str  # of the digest; "bytes" where files were compared only
    digest: bytes | None
    files: Sequence[File]

    @property
    def reclaimable_bytes(self) -> int:
        """Bytes that would be free if one physical file stayed."""
        return self.size * (len(self.files) - 1)


@dataclass(frozen=True, slots=True)
class Problem:
    """A file or folder that could not be read, or changed meanwhile."""

    path: bytes
    kind: ProblemKind
    message: str


@dataclass(frozen=True, slots=True)
class FolderCount:
    """What lies below a folder that the walk listed, at any depth."""

    files: int  # names of files that took part
    bytes: int  # their sizes
    left_out: int  # entries that were skipped or could not be read: nothing is known of what they hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over a scan.  Bytes are bytes; everything else is a count."""

    files: int = 0  # physical files that took part
    bytes: int = 0  # their sizes
    skipped: Mapping[SkipReason, int] = field(default_factory=dict)
    groups: int = 0
    redundant_files: int = 0  # physical files beyond the first of each group
    reclaimable_bytes: int = 0
    bytes_read: int = 0  # content only
    cache_hits: int = 0  # files for which a remembered value spared reading
    problems: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanResult:
    """The outcome of `find_duplicates`: groups by reclaimable bytes (most first), then path."""

    version: str
    started: str  # ISO 8601, UTC
    seconds: float
    roots: Sequence[bytes]
    confirm: str
    backend: BackendChoice
    totals: Totals
    groups: Sequence[Group]
    problems: Sequence[Problem]
    notes: Sequence[str] = ()  # sentences for the user, such as a cache that could not be used
    folders: Mapping[bytes, FolderCount] = field(default_factory=dict)  # listed folders; none where that is not known
    phases: Mapping[str, float] = field(default_factory=dict)  # seconds a phase, in order
