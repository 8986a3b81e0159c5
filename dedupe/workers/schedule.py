"""How files are read, by what they lie on: by how many readers, and in which order.  Never reads what is in them.

On a rotating disk the head's travels are the cost, some 10 ms each: one reader at a time, in the order of the disk, but
all disks at once.  A server's answers take their time too, but it gives many at once: more readers than cores.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from itertools import chain, compress, count
from typing import TYPE_CHECKING, TypeVar

from dedupe.files.table import FileTable
from dedupe.storage import extents, mounts
from dedupe.storage.opener import Opener
from dedupe.workers.cores import cores
from dedupe.workers.lanes import Lane, Lanes
from dedupe.workers.pool import Pool
from dedupe.workers.tuning import WorkerTuning

if TYPE_CHECKING:
    from concurrent.futures import Executor

T = TypeVar("T")
B = TypeVar("B")

# Of a network file system.  By FUSE with 5 ms (1 ms) before each answer, two cores, 4,000 small files and 12 of 8 MiB:
# 2 readers 47 s (11 s), 4 23 s (5.8 s), 8 15 s (4.0 s), 16 11 s (3.1 s), with the same CPU time.  No more, as each may
# hold 64 MiB, and a rotating disk may lie behind the server.
_A_CORE, _READERS = 4, 16  # for each core, and at most
_ROOTS = 100  # that are asked whether they are of the network: there may be a million, each a file


class Order(StrEnum):
    """In which order files are read."""

    LISTED = "listed"
    INODE = "inode"
    PHYSICAL = "physical"  # by the first byte's place on the disk


class Schedule:
    """How the files of one scan are read.

    Args:
        roots: absolute paths below which they lie, as far as that is known.
        jobs: readers that the user wants, which is obeyed; None if nothing was said.
        opener: opens them.
        tuning: of what is asked and of the pool; None for what was measured.

    Attributes:
        readers: how many there are on this machine.
    """

    def __init__(
        self,
        roots: Sequence[bytes] = (),
        jobs: int | None = None,
        *,
        opener: Opener | None = None,
        tuning: WorkerTuning | None = None,
    ) -> None:
        self._jobs = jobs
        self._opener = opener or Opener()
        self._tuning = tuning or WorkerTuning.default
        self.readers = jobs or cores()
        if not jobs:
            disks = _disks_of_roots(roots[:_ROOTS])
            rotating = len(frozenset[str]().union(*disks))
            if any(map(mounts.is_network, roots[:_ROOTS])):
                self.readers = max(self.readers, min(_A_CORE * self.readers, _READERS))
            elif rotating:  # one for each, which waits for its disk, beside those of the other disks
                self.readers = max(self.readers, rotating + (0 if all(disks) else self.readers))

    def pool(self, executor: Executor | None = None) -> Pool:
        """Return a pool of the readers, or of an executor, which alone knows how many workers it has."""
        return Pool(self.readers if executor is None else self._jobs, executor, self._tuning)

    def order(self, table: FileTable, files: int) -> Order:
        """Return in which order the files of a rotating disk are read, where so many places would have to be asked."""
        if not any(_disks(table)):
            return Order.LISTED
        tells_place = sys.platform == "linux"
        return Order.PHYSICAL if tells_place and files <= self._tuning.places_asked else Order.INODE

    def lanes(
        self,
        table: FileTable,
        items: Sequence[T],
        files_of: Callable[[T], Sequence[int]],
        batches: Callable[[Sequence[T]], Iterator[B]],
    ) -> Lanes[B]:
        """Return batches of files, or of sets of files, each in the lane of the rotating disks that it lies on.

        What lies on one is read in the order of the disk, by one reader unless the user says how many; the rest as it
        was listed.  The files of a set are read in step, window by window, and no order keeps the head from travelling
        between them.

        Args:
            table: the files.
            items: what is read.
            files_of: the files of an item.
            batches: makes batches of the items of a lane; called once for each.
        """
        disks = _disks(table)
        if not any(disks):
            return Lanes.of(batches(items))
        volume = table.volume
        parts: dict[frozenset[str], list[T]] = {}
        for item in items:
            needed = frozenset[str]().union(*{disks[volume[i]] for i in files_of(item)})
            parts.setdefault(needed, []).append(item)
        order = self.order(table, sum(len(part) for needed, part in parts.items() if needed))
        asked = set(compress(count(), disks)) if order is Order.PHYSICAL else set()
        first = lambda item: next(i for i in files_of(item) if disks[volume[i]])  # noqa: E731
        ordered = {
            needed: self._in_order(table, part, first, asked) if needed else part for needed, part in parts.items()
        }
        if self._jobs:
            return Lanes.of(batches(list(chain.from_iterable(map(ordered.__getitem__, sorted(ordered, key=sorted))))))
        return Lanes(Lane(needed, batches(part)) for needed, part in ordered.items())

    def _in_order(self, table: FileTable, items: Sequence[T], file_of: Callable[[T], int], asked: set[int]) -> list[T]:
        """Return items by volume, by the place of the file that stands for each, and by its inode.

        Args:
            table: the files.
            items: what is read.
            file_of: the file that stands for an item.
            asked: the volumes that are asked where a file lies.
        """
        places = {i: self._place(table, i, asked) for i in map(file_of, items)} if asked else {}
        volume, inode_of = table.volume, table.inode_of
        # one key after the other, the last one first: a tuple for each of a million files would take 100 MB
        ordered = sorted(items, key=lambda item: inode_of(file_of(item)))
        ordered.sort(key=lambda item: places.get(file_of(item), 0))
        ordered.sort(key=lambda item: volume[file_of(item)])
        return ordered

    def _place(self, table: FileTable, i: int, asked: set[int]) -> int:
        """Return where a file begins if its volume is one of those asked, and ask none again that does not tell."""
        volume = table.volume[i]
        if volume not in asked:
            return 0
        try:
            descriptor = self._opener.open(table.path(i))
            try:
                return extents.first_byte(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:  # whatever keeps it from being read is told when it is
            if error.errno in extents.NOT_OFFERED:
                asked.discard(volume)
            return 0


def _disks(table: FileTable) -> list[frozenset[str]]:
    """Return of each volume of a table on which rotating disks it lies."""
    return [mounts.rotating_disks(volume.device, volume.mount_point) for volume in table.volumes]


def _disks_of_roots(roots: Sequence[bytes]) -> list[frozenset[str]]:
    """Return of each root that is there on which rotating disks it lies."""
    found = []
    for root in roots:
        with contextlib.suppress(OSError):
            found.append(mounts.rotating_disks(os.stat(root).st_dev, root))
    return found
