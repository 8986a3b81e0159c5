"""What a scan found: groups, problems, skips and totals.  Reads no file and prints nothing."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias, overload

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
    SET_ASIDE = "set-aside"  # under a temporary name of dedupe's own: an act was cut off
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
    ACCEPTED = "accepted"  # a duplicate that is wanted


class Proof(StrEnum):
    """How it is known that a file has the content of its group; the strongest first."""

    COMPARED = "compared"  # every byte was compared in this run
    HASHED = "hashed"  # its full digest was computed in this run
    REMEMBERED = "remembered"  # a digest that was remembered from an earlier run stands for it
    OFFLINE = "offline"  # a catalog's digest stands for it: the file itself is away

    @classmethod
    def weakest(cls, proofs: Iterable[Proof | None]) -> Proof | None:
        """Return the weakest of several, None where there is none or one of them is not known."""
        found = set(proofs)
        return None if None in found else next((proof for proof in reversed(cls) if proof in found), None)


class NameKind(StrEnum):
    """What a further name of a file is."""

    HARD_LINK = "hard link"  # a real name as good as the first: the file stays until the last of these is removed
    SYMBOLIC_LINK = "symbolic link"  # leads to the file, and to nothing once that is removed
    MOUNTED = "mounted"  # the same name in the same folder, mounted at another place: removing one removes both


class File(NamedTuple):  # not a frozen dataclass: a report makes one for each file, at a third of the time
    """One physical file of a group.  Paths are absolute, as the user reached them, in the file system's bytes."""

    path: bytes  # a real name, never a symbolic link
    modified_ns: int
    device: int  # a hint for this run on this host: made up at each mount
    inode: int
    root: int | None = None  # index into the roots of the result; None where it is not known
    volume: int | None = None  # index into the volumes of the result; None where it is not known
    proof: Proof | None = None  # None in reports that do not say
    links: tuple[bytes, ...] = ()  # hard links: further real names of this same file inside the roots, sorted
    symlinks: tuple[bytes, ...] = ()  # symbolic links inside the roots that lead to it, sorted
    mounted: tuple[bytes, ...] = ()  # its names below another mount of the same folder, sorted

    @property
    def real_names(self) -> tuple[bytes, ...]:
        """Return the names that are entries of folders of their own, `path` first."""
        return (self.path, *self.links)

    @property
    def names(self) -> tuple[bytes, ...]:
        """Return all names of the file, `path` first."""
        return (*self.real_names, *self.symlinks, *self.mounted)


@dataclass(frozen=True, slots=True)
class Group:
    """Two or more physical files of equal content, ordered by path."""

    id: int  # 1, 2, 3 ... in the order of the report
    size: int  # bytes of each file
    algorithm: str  # of the digest; "bytes" where files were compared only
    digest: bytes | None
    files: Sequence[File]

    @property
    def copies(self) -> int:
        """Return how many of its files are here: catalogs tell of others."""
        return sum(file.proof is not Proof.OFFLINE for file in self.files)

    @property
    def reclaimable_bytes(self) -> int:
        """Bytes that would be free if one physical file stayed."""
        return self.size * max(self.copies - 1, 0)

    @property
    def proof(self) -> Proof | None:
        """The weakest proof of its files; None where one of them does not say."""
        return Proof.weakest(file.proof for file in self.files)


Names: TypeAlias = tuple[bytes, ...]
# all of a Group but its files; how many those are, and how many of them are here
GroupHeader: TypeAlias = tuple[int, int, str, bytes | None, Proof | None, int, int]


class FileColumns(NamedTuple):
    """Many files, a column for each field of `File`."""

    path: Sequence[bytes]
    modified_ns: Sequence[int]
    device: Sequence[int]
    inode: Sequence[int]
    root: Sequence[int | None]
    volume: Sequence[int | None]
    proof: Sequence[Proof | None]
    links: Sequence[Names]
    symlinks: Sequence[Names]
    mounted: Sequence[Names]


class GroupChunk(NamedTuple):
    """Groups that follow each other, and the files of all of them, group after group."""

    headers: Sequence[GroupHeader]
    files: FileColumns


CHUNK = 1024  # files of a chunk: 100 KB of paths


class Groups(Sequence[Group]):
    """The groups of a result in the order of its report; equal to any others that say the same.

    Whoever writes them by the million takes them in chunks: an object for each took longer than to write it down.
    """

    __slots__ = ()

    @overload
    @abstractmethod
    def __getitem__(self, at: int) -> Group: ...

    @overload
    @abstractmethod
    def __getitem__(self, at: slice) -> Sequence[Group]: ...

    @abstractmethod
    def __getitem__(self, at: int | slice) -> Group | Sequence[Group]:
        """Return a group, or some, by place."""

    @abstractmethod
    def chunks(self) -> Iterator[GroupChunk]:
        """Yield all groups, so many together that they have about a thousand files."""

    @abstractmethod
    def folders(self) -> set[bytes]:
        """Return the folders of all names, each with a separator at its end."""

    @abstractmethod
    def proofs(self) -> Counter[Proof | None]:
        """Return how many groups rest on each proof."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Groups):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as a list: it may be as large


class GroupList(Groups):
    """Groups that are there as objects, as those of a report that was read back."""

    __slots__ = ("_groups",)

    def __init__(self, groups: Iterable[Group] = ()) -> None:
        self._groups = tuple(groups)

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups)

    @overload
    def __getitem__(self, at: int) -> Group: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Group]: ...

    def __getitem__(self, at: int | slice) -> Group | Sequence[Group]:
        return self._groups[at]

    def __repr__(self) -> str:
        return f"GroupList({list(self._groups)!r})"

    def chunks(self) -> Iterator[GroupChunk]:
        """Yield all groups, so many together that they have about a thousand files."""
        headers: list[GroupHeader] = []
        files: list[File] = []
        for group in self._groups:
            header = (group.id, group.size, group.algorithm, group.digest, group.proof, len(group.files), group.copies)
            headers.append(header)
            files += group.files
            if len(files) >= CHUNK:
                yield GroupChunk(headers, FileColumns(*zip(*files, strict=True)))
                headers, files = [], []
        if headers:
            yield GroupChunk(headers, FileColumns(*zip(*files, strict=True)))

    def folders(self) -> set[bytes]:
        """Return the folders of all names, up to the last slash, or backslash where there is none, as on Windows."""
        paths = (path for group in self._groups for file in group.files for path in file.names)
        return {path[: path.rfind(b"/") + 1 or path.rfind(b"\\") + 1] for path in paths}

    def proofs(self) -> Counter[Proof | None]:
        """Return how many groups rest on each proof."""
        return Counter(group.proof for group in self._groups)


class VolumeInfo(NamedTuple):
    """A file system that files of a result lie on."""

    id: str  # such as "uuid:…", "serial:…", "export:…": the same wherever and whenever it is mounted
    label: str  # the name that its owner gave it; "" for none
    file_system: str  # such as "ext4"; "" where it is not known
    mount_point: bytes  # where it was mounted, one place of maybe several; b"" where it is not known


class Problem(NamedTuple):
    """A file or folder that could not be read, or changed meanwhile."""

    path: bytes
    kind: ProblemKind
    message: str


class FolderCount(NamedTuple):
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
    groups: Groups
    problems: Sequence[Problem]
    volumes: Sequence[VolumeInfo] = ()  # those of its files; none in reports that do not say
    notes: Sequence[str] = ()  # sentences for the user, such as a cache that could not be used
    folders: Mapping[bytes, FolderCount] = field(default_factory=dict)  # listed folders; none where that is not known
    phases: Mapping[str, float] = field(default_factory=dict)  # seconds a phase, in order
