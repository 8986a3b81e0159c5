"""How files are read, by what they lie on: by how many readers, and in which order.  Never reads what is in them.

On a rotating disk the head's travels are the cost, some 10 ms each: one reader at a time, in the order of the disk.  A
server's answers take their time too, but it gives many at once: more readers than cores.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from itertools import compress, count
from typing import TYPE_CHECKING, TypeVar

from dedupe.files.table import FileTable
from dedupe.storage import extents, mounts
from dedupe.storage.opener import Opener
from dedupe.workers.cores import cores
from dedupe.workers.pool import Pool
from dedupe.workers.tuning import WorkerTuning

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from dedupe.workers.dispatch import Workers

T = TypeVar("T")

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
        if not jobs and any(map(mounts.is_network, roots[:_ROOTS])):
            self.readers = max(self.readers, min(_A_CORE * self.readers, _READERS))

    def pool(self, executor: Executor | None = None, workers: Workers | None = None) -> Pool:
        """Return a pool of the readers, or of an executor or others that know how many they are."""
        return Pool(self.readers if executor is None else self._jobs, executor, self._tuning, workers)

    def max_in_flight(self, table: FileTable) -> int | None:
        """Return how many batches may be read at one time; None for as many as keep the workers busy.

        One rotating disk among several makes one reader of all: most sets have a file on it, and the others wait for
        that.
        """
        return 1 if not self._jobs and any(_rotating(table)) else None

    def order(self, table: FileTable, files: int) -> Order:
        """Return in which order files are read, where so many places would have to be asked for."""
        if not any(_rotating(table)):
            return Order.LISTED
        tells_place = sys.platform == "linux"
        return Order.PHYSICAL if tells_place and files <= self._tuning.places_asked else Order.INODE

    def in_order(self, table: FileTable, items: Sequence[T], file_of: Callable[[T], int]) -> Sequence[T]:
        """Return files, or sets of which one file stands for all, in the order in which they are best read.

        The files of a set are read in step, window by window, and no order keeps the head from travelling between them.
        """
        order = self.order(table, len(items))
        if order is Order.LISTED:
            return items
        asked = set(compress(count(), _rotating(table))) if order is Order.PHYSICAL else set()
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


def _rotating(table: FileTable) -> list[bool]:
    """Return of each volume of a table whether its disk rotates."""
    return [mounts.rotates(volume.device, volume.mount_point) for volume in table.volumes]
