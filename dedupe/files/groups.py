"""The groups of a result, made when they are looked at: a million files held as objects would need a gigabyte."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, groupby, islice, repeat, starmap
from operator import mul
from typing import TypeAlias, overload

from dedupe.files.classes import Classes
from dedupe.files.columns import gather
from dedupe.files.path_order import PathOrder
from dedupe.files.table import FileTable
from dedupe.result import (
    CHUNK,
    File,
    FileColumns,
    Group,
    GroupChunk,
    GroupHeader,
    Groups,
    NameKind,
    Names,
    Proof,
    VolumeInfo,
)
from dedupe.storage.paths import outside, outside_all

_file = partial(tuple.__new__, File)  # as File._make, in half the time


FurtherNames: TypeAlias = Mapping[int, Sequence[tuple[int, NameKind]]]
"""The further names of a file, as indexes in the order of their paths, by the index of its first."""


def volumes_of(table: FileTable) -> list[VolumeInfo]:
    """Return the volumes that the files of a table lie on, as a report names them."""
    return [VolumeInfo(v.id, v.label, v.file_system, outside(v.mount_point)) for v in table.volumes]


def _columns(table: FileTable, names: FurtherNames, members: Sequence[int], proofs: Sequence[Proof]) -> FileColumns:
    """Return what some files consist of."""
    pick = gather(members)
    volume = pick(table.volume)
    return FileColumns(
        outside_all(table.paths(members)),
        [table.times(i)[0] for i in members] if table.far else pick(table.modified_ns),
        gather(volume)([each.device for each in table.volumes]),
        list(map(table.inode_of, members)) if table.wide else pick(table.inode),
        table.roots_of(members),
        volume,
        proofs,
        *[_further(table, names, members, kind) for kind in NameKind],
    )


def _further(table: FileTable, names: FurtherNames, members: Sequence[int], kind: NameKind) -> Sequence[Names]:
    """Return the further names of one kind of each of some files."""
    if not names:
        return [()] * len(members)
    found = ([other for other, its_kind in names.get(i, ()) if its_kind is kind] for i in members)
    return [tuple(outside_all(table.paths(others))) for others in found]


class FoundFiles(Sequence[File]):
    """Files by their index in the table, in the order given."""

    __slots__ = ("_members", "_names", "_proofs", "_table")

    def __init__(self, table: FileTable, names: FurtherNames, members: Sequence[int], proofs: Sequence[Proof]) -> None:
        self._table = table
        self._names = names
        self._members = members
        self._proofs = proofs

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[File]:
        parts = (slice(begin, begin + CHUNK) for begin in range(0, len(self), CHUNK))
        return chain.from_iterable(map(self._made, parts))

    def _made(self, at: slice) -> Iterator[File]:
        return map(_file, zip(*_columns(self._table, self._names, self._members[at], self._proofs[at]), strict=True))

    @overload
    def __getitem__(self, at: int) -> File: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[File]: ...

    def __getitem__(self, at: int | slice) -> File | Sequence[File]:
        if isinstance(at, slice):
            return FoundFiles(self._table, self._names, self._members[at], self._proofs[at])
        at = range(len(self))[at]
        return next(self._made(slice(at, at + 1)))


class FoundGroups(Groups):
    """Groups in the order of a report: by reclaimable bytes, most first, then by the path of the first file."""

    __slots__ = ("_algorithm", "_classes", "_names", "_table", "reclaimable_bytes", "redundant_files")

    def __init__(self, table: FileTable, classes: Classes, names: FurtherNames, algorithm: str) -> None:
        self._table = table
        self._classes = classes
        self._names = names
        self._algorithm = algorithm
        classes.sort_members(PathOrder(table).sorted)
        firsts = classes.firsts(0, len(classes))
        more = [max(count - 1, 0) for count in classes.copies(0, len(classes))]
        gains = array("Q", map(mul, gather(firsts)(table.size), more))
        self.redundant_files = sum(more)
        self.reclaimable_bytes = sum(gains)
        classes.reorder(self._ordered(firsts, gains))

    def _ordered(self, firsts: Sequence[int], gains: Sequence[int]) -> Iterator[int]:
        """Yield the classes by number; paths are compared only where the bytes leave it open."""
        by_gain = sorted(range(len(gains)), key=gains.__getitem__, reverse=True)
        for _, same in groupby(by_gain, key=gains.__getitem__):
            classes = list(same)
            if len(classes) > 1:
                paths = self._table.paths([firsts[n] for n in classes])
                classes = [classes[k] for k in sorted(range(len(paths)), key=paths.__getitem__)]
            yield from classes

    def __len__(self) -> int:
        return len(self._classes)

    def _headers(self, first: int, last: int) -> Iterator[GroupHeader]:
        """Yield all but the files of a run of groups."""
        classes = self._classes
        return zip(
            range(first + 1, last + 1),
            gather(classes.firsts(first, last))(self._table.size),
            repeat(self._algorithm, last - first),
            classes.digests(first, last),
            classes.weakest(first, last),
            classes.counts(first, last),
            classes.copies(first, last),
            strict=True,
        )

    def chunks(self) -> Iterator[GroupChunk]:
        """Yield all groups, so many together that they have about a thousand files."""
        for first, last in self._classes.spans(CHUNK):
            members, proofs = self._classes.members(first, last), self._classes.proofs(first, last)
            files = _columns(self._table, self._names, members, proofs)
            yield GroupChunk(list(self._headers(first, last)), files)

    def folders(self) -> set[bytes]:
        """Return the folders of all names, each with a separator at its end."""
        table = self._table
        used: set[int] = set()
        for span in self._classes.spans(CHUNK):
            members = self._classes.members(*span)
            used.update(gather(members)(table.folder))
            if self._names:
                used.update(table.folder[other] for i in members for other, _ in self._names.get(i, ()))
        return set(outside_all([table.folders[each] for each in used]))

    def proofs(self) -> Counter[Proof | None]:
        """Return how many groups rest on each proof."""
        spans = self._classes.spans(CHUNK)
        return Counter(chain.from_iterable(starmap(self._classes.weakest, spans)))

    def _made(self, first: int, last: int) -> Iterator[Group]:
        """Yield a run of groups.  Their files are made together, but those of a large one, the last, when looked at."""
        members, proofs = self._classes.members(first, last), self._classes.proofs(first, last)
        files = FoundFiles(self._table, self._names, members, proofs)
        each = iter(files)
        for number, size, algorithm, digest, _, count, _ in self._headers(first, last):
            own: Sequence[File] = tuple(islice(each, count)) if count < CHUNK else files[-count:]
            yield Group(number, size, algorithm, digest, own)

    def __iter__(self) -> Iterator[Group]:
        return chain.from_iterable(starmap(self._made, self._classes.spans(CHUNK)))

    @overload
    def __getitem__(self, at: int) -> Group: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Group]: ...

    def __getitem__(self, at: int | slice) -> Group | Sequence[Group]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        at = range(len(self))[at]
        return next(self._made(at, at + 1))
