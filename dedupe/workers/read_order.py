"""How files are read, by what they lie on: by how many readers, and in which order.  Never reads what is in them.

On a rotating disk the head's travels are the cost, some 10 ms each: one reader at a time, in the order of the disk.  A
server's answers take their time too, but it gives many at once: more readers than cores.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TypeVar

from dedupe.files.table import FileTable
from dedupe.storage import extents, mounts
from dedupe.storage.opener import Opener
from dedupe.workers.pool import cores

T = TypeVar("T")

# Asking where a file begins takes 6.0 us when everything is in memory, and reading 4 KiB of it 4.5 us (best of three
# turns over 20,000 files of ext4, CPU time): cheap beside one travel of the head, but a scan that needs none must not
# take twice as long for it.  So it costs 60 ms at most.
_ASKED = 10_000
# Of a distant file system.  By FUSE with 5 ms (1 ms) before each answer, two cores, 4,000 small files and 12 of 8 MiB:
# 2 readers 47 s (11 s), 4 23 s (5.8 s), 8 15 s (4.0 s), 16 11 s (3.1 s), with the same CPU time.  No more, as each may
# hold 64 MiB, and a rotating disk may lie behind the server.
_A_CORE, _READERS = 4, 16  # for each core, and at most
_ROOTS = 100  # that are asked whether they are distant: there may be a million, each a file


class Order(StrEnum):
    """In which order files are read."""

    LISTED = "listed"
    INODE = "inode"
    PHYSICAL = "physical"  # by the first byte's place on the disk


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """How files are read."""

    at_once: int | None = None  # batches in work at one time, at most; None: as many as there are workers
    order: Order = Order.LISTED


def plan(rotating: Iterable[bool], files: int, jobs: int | None, *, tells_place: bool) -> ReadPlan:
    """Return how files are read.

    One rotating disk among several makes one reader of all: most sets have a file on it, and the others wait for that.

    Args:
        rotating: of each device, whether it rotates.
        files: whose place would have to be asked for.
        jobs: readers that the user wants, which is obeyed; None if nothing was said.
        tells_place: whether this system tells where on its disk a file lies.
    """
    if not any(rotating):
        return ReadPlan()
    return ReadPlan(None if jobs else 1, Order.PHYSICAL if tells_place and files <= _ASKED else Order.INODE)


def readers(cores: int, jobs: int | None, *, is_network: bool) -> int | None:
    """Return how many readers there should be, None for one a core.

    Args:
        cores: that this process may use.
        jobs: readers that the user wants, which is obeyed; None if nothing was said.
        is_network: whether reads wait for a server.
    """
    return jobs if jobs or not is_network else max(cores, min(_A_CORE * cores, _READERS))


def readers_of(roots: Sequence[bytes], jobs: int | None) -> int | None:
    """Return how many readers there should be for what lies below some absolute paths, None for one a core."""
    return readers(cores(), jobs, is_network=any(map(mounts.is_network, roots[:_ROOTS])))


class ReadOrder:
    """How the files of one scan are read.

    Args:
        table: all files of the scan.
        jobs: readers that the user wants; None if nothing was said.
        opener: opens files to ask where they lie.
    """

    def __init__(self, table: FileTable, jobs: int | None, opener: Opener) -> None:
        self._table = table
        self._jobs = jobs
        self._opener = opener

    @cached_property
    def _rotating(self) -> dict[int, bool]:
        """Whether each volume rotates, by its index."""
        return {n: mounts.rotates(v.device, v.mount_point) for n, v in enumerate(self._table.volumes)}

    def _plan(self, files: int) -> ReadPlan:
        return plan(self._rotating.values(), files, self._jobs, tells_place=sys.platform == "linux")

    @property
    def at_once(self) -> int | None:
        """Return how many batches may be in work at one time; None for as many as there are workers."""
        return self._plan(0).at_once

    def in_order(self, items: Sequence[T], file_of: Callable[[T], int]) -> Sequence[T]:
        """Return files, or sets of which one file stands for all, in the order in which they are best read.

        The files of a set are read in step, window by window, and no order keeps the head from travelling between them.
        """
        order = self._plan(len(items)).order
        if order is Order.LISTED:
            return items
        asked = {each for each, rotates in self._rotating.items() if rotates and order is Order.PHYSICAL}
        places = {i: self._place(i, asked) for i in map(file_of, items)} if asked else {}
        volume, inode_of = self._table.volume, self._table.inode_of
        # one key after the other, the last one first: a tuple for each of a million files would take 100 MB
        ordered = sorted(items, key=lambda item: inode_of(file_of(item)))
        ordered.sort(key=lambda item: places.get(file_of(item), 0))
        ordered.sort(key=lambda item: volume[file_of(item)])
        return ordered

    def _place(self, i: int, asked: set[int]) -> int:
        """Return where a file begins if its volume is one of those asked, and ask none again that does not tell."""
        volume = self._table.volume[i]
        if volume not in asked:
            return 0
        try:
            descriptor = self._opener.open(self._table.path(i))
            try:
                return extents.first_byte(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:  # whatever keeps it from being read is told when it is
            if error.errno in extents.NOT_OFFERED:
                asked.discard(volume)
            return 0
