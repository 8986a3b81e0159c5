"""The groups of a result, made when they are looked at: a million files held as objects would need a gigabyte."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, groupby, islice, repeat, starmap
from typing import overload

from dedupe.files.chunks import LEAST, FileRow, GroupChunk, GroupHeader
from dedupe.files.classes import Classes
from dedupe.files.columns import gather
from dedupe.files.path_order import PathOrder
from dedupe.files.table import FileTable
from dedupe.result import File, Group
from dedupe.storage.paths import outside_all

_file = partial(tuple.__new__, File)  # as File._make, in half the time


class FoundFiles(Sequence[File]):
    """Files by their index in the table of entries, in the order given."""

    __slots__ = ("_links", "_members", "_table")

    def __init__(self, table: FileTable, links: Mapping[int, Sequence[int]], members: Sequence[int]) -> None:
        self._table = table
        self._links = links  # the other names of some
        self._members = members

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[File]:
        parts = (self._members[begin : begin + LEAST] for begin in range(0, len(self), LEAST))
        return (_file(row) for part in parts for row in _rows(self._table, self._links, part))

    @overload
    def __getitem__(self, at: int) -> File: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[File]: ...

    def __getitem__(self, at: int | slice) -> File | Sequence[File]:
        if isinstance(at, slice):
            return FoundFiles(self._table, self._links, self._members[at])
        return next(iter(FoundFiles(self._table, self._links, (self._members[at],))))


def _rows(table: FileTable, links: Mapping[int, Sequence[int]], members: Sequence[int]) -> Iterator[FileRow]:
    """Yield what some files consist of."""
    pick = gather(members)
    modified_ns = [table.times(i)[0] for i in members] if table.far else pick(table.modified_ns)
    inode = list(map(table.inode_of, members)) if table.wide else pick(table.inode)
    others: Iterable[tuple[bytes, ...]] = repeat((), len(members))
    if links:
        others = [tuple(outside_all(table.paths(links[i]))) if i in links else () for i in members]
    device = [table.volumes[v].device for v in pick(table.volume)]
    return zip(outside_all(table.paths(members)), modified_ns, device, inode, others, strict=True)


class FoundGroups(Sequence[Group]):
    """Groups in the order of a report: by reclaimable bytes, most first, then by the path of the first file."""

    __slots__ = ("_algorithm", "_classes", "_links", "_table", "reclaimable_bytes", "redundant_files")

    def __init__(self, table: FileTable, classes: Classes, links: Mapping[int, Sequence[int]], algorithm: str) -> None:
        self._table = table
        self._classes = classes
        self._links = links
        self._algorithm = algorithm
        classes.sort_members(PathOrder(table).sorted)
        firsts, counts = classes.firsts(0, len(classes)), classes.counts(0, len(classes))
        gains = array("Q", (table.size[i] * (count - 1) for i, count in zip(firsts, counts, strict=True)))
        self.redundant_files = classes.total - len(classes)
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
        classes, count = self._classes, last - first
        sizes = gather(classes.firsts(first, last))(self._table.size)
        ids, algorithm = range(first + 1, last + 1), repeat(self._algorithm, count)
        return zip(ids, sizes, algorithm, classes.digests(first, last), classes.counts(first, last), strict=True)

    def chunks(self) -> Iterator[GroupChunk]:
        """Yield all groups in runs."""
        for first, last in self._classes.spans(LEAST):
            rows = _rows(self._table, self._links, self._classes.members(first, last))
            yield GroupChunk(list(self._headers(first, last)), list(rows))

    def folders(self) -> set[bytes]:
        """Return the folders of all names, each with a separator at its end."""
        table, links = self._table, self._links
        used: set[int] = set()
        for span in self._classes.spans(LEAST):
            members = self._classes.members(*span)
            used.update(gather(members)(table.folder))
            if links:
                used.update(table.folder[other] for i in members if i in links for other in links[i])
        return set(outside_all([table.folders[each] for each in used]))

    def _made(self, first: int, last: int) -> Iterator[Group]:
        """Yield a run of groups.  Their files are made together, but those of a large one, the last, when looked at."""
        members = self._classes.members(first, last)
        files = iter(FoundFiles(self._table, self._links, members))
        for number, size, algorithm, digest, count in self._headers(first, last):
            if count < LEAST:
                own: Sequence[File] = tuple(islice(files, count))
            else:
                own = FoundFiles(self._table, self._links, members[-count:])
            yield Group(number, size, algorithm, digest, own)

    def __iter__(self) -> Iterator[Group]:
        return chain.from_iterable(starmap(self._made, self._classes.spans(LEAST)))

    @overload
    def __getitem__(self, at: int) -> Group: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Group]: ...

    def __getitem__(self, at: int | slice) -> Group | Sequence[Group]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        at = range(len(self))[at]
        return next(self._made(at, at + 1))
