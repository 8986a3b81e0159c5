"""What a scan has learnt of its files and has not yet written, as rows of the cache.  Touches no disk.

A file that was not at rest when it was looked at never gets a row: an edit in the same tick of a clock leaves no other
trace.  See git's Documentation/technical/racy-git.txt for the same thought.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress, repeat
from typing import TypeAlias

from dedupe.cache import eligible, row_checksum
from dedupe.cache.moved import stored_inodes
from dedupe.compare import fingerprint
from dedupe.files.columns import gather_array
from dedupe.files.table import FileTable
from dedupe.storage.volume import Volume

RACY_NS = 2_000_000_000  # FAT keeps times to two seconds, the coarsest of all
_PART = 1 << 15  # rows written by one transaction, as listed: neighbours share pages, and other processes get a turn
_SAVED, _READY, _AWAITING = 0, 1, 2

Row: TypeAlias = tuple[object, ...]


def settled_before(read_ns: int) -> int:
    """Return the time before which a file must have been left alone so that any edit after `read_ns` moves a time."""
    return read_ns - RACY_NS


class WriteBuffer:
    """Collects what is learnt of the files of one table until it is written.

    Args:
        algorithm: of the digests.
        read_ns: the clock before the first file was looked at.
        table: its files are known by their index in it, so that another table needs a buffer of its own.
        fingerprint_of: tells their fingerprints, when they are taken in and when the rows are written.
    """

    def __init__(
        self, algorithm: str, read_ns: int, table: FileTable, fingerprint_of: Callable[[int], bytes | None]
    ) -> None:
        self._algorithm = algorithm
        self._read_ns = read_ns
        self._table = table
        self._fingerprint_of = fingerprint_of
        self._states = bytearray(len(table))  # by file
        self._digests: dict[int, bytes] = {}
        self._divergences: dict[int, bytes] = {}

    def is_of(self, table: FileTable) -> bool:
        """Return whether this is about the files of a table."""
        return self._table is table

    def take(self, members: Iterable[int], digests: Mapping[int, bytes], divergences: Mapping[int, bytes]) -> None:
        """Take in what was learnt of some files; see `Cache.remember`."""
        states = self._states
        for i in members:
            states[i] = _READY
        self._digests.update(digests)
        self._divergences.update(divergences)

    def await_digests(self, members: Iterable[int]) -> None:
        """Have the rows of files wait until their digests are known."""
        states = self._states
        for i in members:
            if states[i] == _READY:
                states[i] = _AWAITING

    def parts(self, *, awaiting: bool) -> Iterator[tuple[Volume, Sequence[int]]]:
        """Yield files of one volume that get rows, as many as make a transaction, and forget what was learnt of them.

        Args:
            awaiting: also those that still wait for a digest.
        """
        wanted = (_READY, _AWAITING) if awaiting else (_READY,)
        if all(self._states.find(state) < 0 for state in wanted):  # as nearly always: asked for every second or two
            return
        members = array("I", compress(range(len(self._states)), map(wanted.__contains__, self._states)))
        for first in range(0, len(members), _PART):
            part = members[first : first + _PART]
            yield from eligible.by_volume(self._table, self._settled(part))
            for i in part:
                self._states[i] = _SAVED
            for values in (self._digests, self._divergences):
                for i in part if values else ():
                    values.pop(i, None)

    def _settled(self, members: array[int]) -> Sequence[int]:
        table, cut = self._table, gather_array(members)
        latest = map(max, cut(table.modified_ns), cut(table.changed_ns))
        return list(compress(members, map(settled_before(self._read_ns).__gt__, latest)))

    def rows(self, volume: Volume, number: int, members: Sequence[int]) -> Iterator[Row]:
        """Return the rows of one or more files of a volume, in the order of `schema.COLUMNS`.

        Args:
            volume: that the files lie on.
            number: of the volume in the database.
            members: the files.
        """
        table, cut = self._table, gather_array(members)
        paths = table.relative_paths(members)
        fingerprints = [self._fingerprint_of(i) or b"" for i in members]
        digests = list(map(self._digests.get, members, repeat(b"")))
        divergences = list(map(self._divergences.get, members, repeat(b"")))
        packed_stats = row_checksum.each(row_checksum.packed_stats(table, members))
        joined = map(
            row_checksum.salt(volume.id, self._algorithm).join,
            zip(packed_stats, fingerprints, digests, divergences, paths, strict=True),
        )
        # sqlite3 takes a bytearray as it is, but looks for an adapter of anything else that is no number or text
        return zip(
            repeat(number),
            map(bytearray, paths),
            repeat(self._algorithm),
            cut(table.size),
            cut(table.modified_ns),
            cut(table.changed_ns),
            stored_inodes(table, members) if volume.stable_inodes else repeat(0),
            repeat(self._read_ns),
            repeat(fingerprint.LAYOUT),
            map(bytearray, fingerprints),
            map(bytearray, divergences),
            map(bytearray, digests),
            map(bytearray, map(row_checksum.checksum, joined)),
            strict=False,
        )
