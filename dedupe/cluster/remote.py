"""What a worker does: prove that it sees the same folders, and answer with the stats of all that it looked at.

Knows files by their paths on the machine that asks; only what calls the system has the worker's own.  Believed by
nobody: see `answers`.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, TypeVar

from dedupe.cluster.places import OutsideError, Places, is_below
from dedupe.cluster.proof import FolderStat, WantedRoot, find, look
from dedupe.result import SkipReason
from dedupe.storage import file_stat, mounts, volumes
from dedupe.storage.opener import Opener, read_at
from dedupe.storage.volume import NOWHERE
from dedupe.walk.filters import Filters
from dedupe.walk.listing import Listing, PendingFiles, PendingFolder
from dedupe.walk.scanner import FolderScanner
from dedupe.workers import counters
from dedupe.workers.counters import Counter

T = TypeVar("T")

_RUNS = 64  # of which this process remembers the folders: a worker may live for months
_NO_PLACES = Places(())
_proven: dict[str, Places] = {}  # by run


class Standing(NamedTuple):
    """What a worker can do for a run."""

    system: str  # as `os.name` has it
    missing: tuple[str, ...]  # why it cannot help with some folders, as the end of a sentence about it
    found: int  # folders with which it can


class Answer(NamedTuple):
    """What a worker made of a batch, and what it saw."""

    worker: str  # its address
    result: Any  # of the task; None where it could not take it on
    seen: Sequence[Any] = ()  # a `FileStat` for each file in the order of the batch, or a `FolderStat` for each folder
    counted: int = 0  # bytes


class Unproven(NamedTuple):
    """A process has not shown that it sees the same folders: it has taken the place of one that had."""

    worker: str


class Call:
    """A call that is made by the worker that unpickles it: neither scheduler nor dask need know this package."""

    __slots__ = ("_arguments", "_function")

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self._function = function
        self._arguments = arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self._function, self._arguments


def introduce(run: str, roots: Sequence[WantedRoot]) -> Standing:
    """Look for the folders of a run, and remember where they are."""
    mounts.forget()
    volumes.forget()
    _proven.pop(run, None)
    told = [(root.here, *find(root)) for root in roots]
    places = Places(tuple((here, there) for here, there, _ in told if there))
    missing = tuple(why for _, there, why in told if not there)
    if not places.is_clear():
        return Standing(os.name, ("several of the folders lie in one place there",), 0)
    if places.pairs:
        _proven[run] = places
        for old in list(_proven)[:-_RUNS]:
            _proven.pop(old, None)
    return Standing(os.name, missing, len(places.pairs))


def work(run: str, parcel: bytes) -> Answer | Unproven:
    """Return what becomes of a task and its batch, which are pickled together."""
    places = _proven.get(run)
    if places is None:
        return Unproven(_address())
    task, batch = pickle.loads(parcel)  # noqa: S301 - it came as what dask unpickles
    counter = Counter()
    try:
        if isinstance(task, FolderScanner):
            return Answer(_address(), *_list_folders(task, batch, places))
        opener = WitnessOpener(places=places)
        result = counters.run(counter, _opening_by(task, opener), batch)
    except OutsideError:
        return Answer(_address(), None)
    return Answer(_address(), result, opener.told(), counter.done)


def _address() -> str:
    dask = sys.modules.get("distributed")
    return str(dask.get_worker().address) if dask else ""


@dataclass(frozen=True, slots=True)
class WitnessOpener(Opener):
    """Opens files by their paths elsewhere, and notes what each was when it was opened."""

    places: Places = _NO_PLACES
    seen: dict[bytes, tuple[int, ...]] = field(default_factory=dict)

    def told(self) -> list[tuple[int, ...]]:
        """Return the stats of all files in the order in which they were opened first."""
        return list(self.seen.values())

    def identity(self, path: bytes) -> tuple[int, int]:
        """Return device and inode of a name."""
        return Opener.identity(self, self.places.there(path))

    def stat(self, path: bytes) -> file_stat.FileStat:
        """Return the stat of a file by its name."""
        return Opener.stat(self, self.places.there(path))

    def open(self, path: bytes) -> int:
        """Open a file for reading, and note its stat: one that was another before counts as none."""
        descriptor = Opener.open(self, self.places.there(path))
        try:
            now = tuple(file_stat.of_descriptor(descriptor))
            self.seen[path] = now if self.seen.get(path, now) == now else ()
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def read(self, path: bytes, length: int) -> bytes:
        """Return the first `length` bytes of a file, fewer only where it ends before."""
        return self.read_with_stat(path, length)[0]

    def read_with_stat(self, path: bytes, length: int) -> tuple[bytes, tuple[int, ...]]:
        """Return the same, and the stat that the file had after it was read."""
        descriptor = self.open(path)
        try:
            return read_at(descriptor, length, 0), file_stat.of_descriptor(descriptor)
        finally:
            os.close(descriptor)


def _opening_by(task: T, opener: WitnessOpener) -> T:
    """Return a task that opens files by another opener, in all of its parts."""
    if isinstance(task, Opener):
        return WitnessOpener(task.follow, opener.places, opener.seen)  # type: ignore[return-value]
    if isinstance(task, tuple) and hasattr(task, "_replace"):
        parts = {name: _opening_by(getattr(task, name), opener) for name in task._fields}  # type: ignore[attr-defined]
        return task._replace(**parts)  # type: ignore[no-any-return]
    return task


class _FiltersHere:
    """The rules of a scan for paths as they are where it was asked for, applied to those of this worker."""

    def __init__(self, filters: Filters, places: Places) -> None:
        self._filters = filters
        self._places = places
        self.any_names, self.pseudo = filters.any_names, filters.pseudo
        self.min_size, self.max_size = filters.min_size, filters.max_size
        self.of_size = filters.of_size

    def of_file(self, folder: bytes, name: bytes) -> SkipReason | None:
        """Return why a file is left out for its name, or None."""
        return self._filters.of_file(self._places.here(folder), name)

    def of_folder(self, path: bytes) -> SkipReason | None:
        """Return why a folder is not entered, or None."""
        return self._filters.of_folder(self._places.here(path))


@dataclass(slots=True)
class _WitnessScanner(FolderScanner):
    """Lists folders, and notes what each was before and after."""

    seen: list[FolderStat | None] = field(default_factory=list)  # None where it changed meanwhile

    def folder(self, listing: Listing, pending: PendingFolder) -> None:
        """List one folder."""
        before = look(pending.folder)
        FolderScanner.folder(self, listing, pending)
        self.seen.append(before if look(pending.folder) == before else None)

    def _shared(self, listing: Listing, pending: PendingFiles) -> None:
        before = look(pending.folder)
        FolderScanner._shared(self, listing, pending)
        self.seen.append(before if look(pending.folder) == before else None)


def _list_folders(
    task: FolderScanner, batch: Sequence[PendingFolder | PendingFiles], places: Places
) -> tuple[Listing, Sequence[FolderStat | None]]:
    """Return a listing with paths as they are where it was asked for, and the stat of each of its folders."""
    given = {f.name: getattr(task, f.name) for f in fields(task) if f.init}
    shared = (path for path in task.boundaries if any(is_below(path, here) for here, _ in places.pairs))
    boundaries = frozenset(map(places.there, shared))
    given.update(filters=_FiltersHere(task.filters, places), boundaries=boundaries, own=())
    scanner = _WitnessScanner(**given)
    listing = scanner([pending._replace(folder=places.there(pending.folder), mount=NOWHERE) for pending in batch])
    table = listing.table
    table.folders = [places.here(folder) for folder in table.folders]
    listing.pending = [
        pending._replace(folder=places.here(pending.folder), mount=NOWHERE) for pending in listing.pending
    ]
    return listing, scanner.seen
