"""The settings of a scan, checked once.  Nothing below this module sees flags or the environment."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from dedupe.errors import UsageError

AnyPath: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]


class Confirm(StrEnum):
    """How equality is proven, and which digest a group carries."""

    SHA256 = "sha256"
    SHA512 = "sha512"
    BLAKE2B = "blake2b"
    BLAKE3 = "blake3"
    XXH3 = "xxh3"
    BYTES = "bytes"


class BackendName(StrEnum):
    """Who computes the digests."""

    AUTO = "auto"
    HASHLIB = "hashlib"
    CNG = "cng"


class Scope(StrEnum):
    """Which equal files are looked for, where there are several roots."""

    ALL = "all"
    ACROSS = "across"  # groups with files under two roots or more
    WITHIN = "within"  # groups below one root, as if each root were scanned by itself


class Then(StrEnum):
    """What breaks a tie: which copy is the one to stay."""

    NEWEST = "newest"
    OLDEST = "oldest"
    SHORTEST = "shortest"
    FIRST_ROOT = "first-root"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a user wants to stay.  Folders may be relative to the current one.

    Attributes:
        protect: nothing below these folders is ever redundant.
        protect_name: nothing with such a name is: patterns such as `*.psd`.
        only_in: nothing outside these folders is redundant.
        prefer: where a copy lies below one of these it is the one to stay, the first named first.
        then: which copy stays where several still could.
    """

    protect: Sequence[bytes] = ()
    protect_name: Sequence[str] = ()
    only_in: Sequence[bytes] = ()
    prefer: Sequence[bytes] = ()
    then: Sequence[Then] = ()

    def __bool__(self) -> bool:
        """Return whether any rule is given."""
        return any((self.protect, self.protect_name, self.only_in, self.prefer, self.then))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanConfig:
    """All settings of a scan.

    Raises:
        UsageError: a value makes no sense, or no root is given.
    """

    roots: Sequence[AnyPath]  # files and folders to scan
    confirm: Confirm = Confirm.SHA256
    backend: BackendName = BackendName.AUTO
    cache: AnyPath | None = None  # the cache's file; None remembers nothing
    jobs: int | None = None  # files read at once; None: one a core, or what suits the disk or the server better
    min_size: int = 1  # bytes; 0 brings empty files in
    max_size: int | None = None  # bytes
    include: Sequence[str] = ()  # patterns; if there are any, files that match none are left out
    exclude: Sequence[str] = ()  # patterns; files are left out, folders not entered
    exclude_lines: Sequence[str] = ()  # rules as .gitignore has them, for paths below each root
    ignore_case: bool = False  # of patterns and rules; on Windows no case counts anyway
    accept: Sequence[bytes] = ()  # digests by `confirm` of duplicates that are wanted: they are counted and left out
    default_excludes: bool = True  # leave out recycle bins, snapshots and pseudo file systems
    trash: bool = False  # of these, leave out pseudo file systems alone: their files are not data
    follow_symlinks: bool = False
    one_file_system: bool = False  # stay on the file system of each root
    cloud_files: bool = False  # read placeholders too, which downloads them
    scope: Scope = Scope.ALL
    across_volumes: bool = False  # only groups with files on two volumes or more
    cluster: str | None = None  # the address of a scheduler of dask.distributed, whose workers do the reading
    worker_roots: Sequence[tuple[AnyPath, AnyPath]] = ()  # folders by their absolute paths on workers and here
    own_files: Sequence[
        AnyPath | int
    ] = ()  # files that the caller writes, as paths or descriptors: never part of a scan

    def __post_init__(self) -> None:
        """Check the values and bring them to one type each."""
        for name in ("roots", "include", "exclude", "exclude_lines", "accept", "own_files"):
            if isinstance(getattr(self, name), (str, bytes, os.PathLike)):
                raise UsageError(f"{name} must be a list: a single text would be taken for a list of its letters.")
        if not self.roots:
            raise UsageError("Nothing to scan: name at least one file or folder.")
        self._refuse_empty()
        self._check_cluster()
        if any(b"\0" in os.fsencode(r) for r in self.roots):
            raise UsageError("A path cannot hold a NUL character; use --null for lists that NUL separates.")
        for name, kind in (("confirm", Confirm), ("backend", BackendName), ("scope", Scope)):
            value = getattr(self, name)
            if value not in list(kind):
                raise UsageError(f"{name} cannot be {value!r}: choose one of {', '.join(kind)}.")
            object.__setattr__(self, name, kind(value))
        if self.accept and self.confirm is Confirm.BYTES:
            raise UsageError("What is accepted is known by digests, and --confirm bytes has none: choose another.")
        if self.jobs is not None and self.jobs < 1:
            raise UsageError(f"jobs must be 1 or more, not {self.jobs}.")
        if self.min_size < 0:
            raise UsageError(f"min_size must be 0 or more bytes, not {self.min_size}.")
        if self.max_size is not None and self.max_size < self.min_size:
            raise UsageError(
                f"max_size ({self.max_size} bytes) is below min_size ({self.min_size} bytes): no file fits."
            )

    def _check_cluster(self) -> None:
        """Refuse folders of workers that are none, or that nobody would have."""
        if self.worker_roots and self.cluster is None:
            raise UsageError("--worker-root says where workers of a cluster have a folder: give --cluster too.")
        for pair in self.worker_roots:
            if not all(os.path.isabs(os.fsencode(path)) for path in pair):
                raise UsageError(f"--worker-root needs two absolute paths, WORKER=HERE, not {pair!r}.")

    def _refuse_empty(self) -> None:
        """Refuse names without a character: the system would take them for the current folder or a nameless file."""
        paths = [*self.roots, *self.own_files, *([] if self.cache is None else [self.cache])]
        if any(not isinstance(path, int) and not os.fsencode(path) for path in paths):
            raise UsageError("A path is empty: name a file or a folder (a dot is the current folder).")
        if any(not pattern.strip("/" + os.sep) for pattern in (*self.include, *self.exclude)):
            raise UsageError("A pattern is empty, which matches no file: write one such as *.jpg, or leave it out.")
