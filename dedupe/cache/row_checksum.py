"""The seal of a cache's row: it fits only a file whose status is what it was.  Reads no database and no file.

A seal is the xxh3-128 of path, status, sample layout, algorithm and values, and is worked out anew with the status that
the file has now.  So one comparison takes the place of many: rows that differ in any of these fit by chance once in
2^128.  It is no protection against somebody who forges rows.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import itemgetter

import xxhash

from dedupe.compare import fingerprint
from dedupe.files.columns import gather_array
from dedupe.files.table import FileTable

FORMAT = 3  # of seals; raise it and no older row is believed.  Before 3, rows of files not at rest were stored too.
_HEAD = struct.Struct("48s")
_WORDS = _HEAD.size // 8

checksum = xxhash.xxh3_128_digest  # of the parts of a row, which are joined by its salt


def packed_stats(table: FileTable, members: Sequence[int]) -> bytes:
    """Return the statuses of one or more files, joined: six words each, in the order of this machine's bytes.

    Files whose times are kept apart, as they lie beyond the year 2262, must not be among them.
    """
    cut, words = gather_array(members), array("Q", bytes(_HEAD.size * len(members)))
    columns = (table.size, table.modified_ns, table.changed_ns, table.volume, table.inode)
    for place, column in enumerate(columns):
        cells = cut(column)
        if column is table.volume:
            cells = array("Q", [table.volumes[v].device for v in cells])
        words[place::_WORDS] = array("Q", cells.tobytes())
    if table.wide:
        words[len(columns) :: _WORDS] = array("Q", (table.wide.get(i, 0) >> 64 for i in members))
    return words.tobytes()


def each(joined: bytes) -> Iterator[bytes]:
    """Yield the head of each file."""
    return map(itemgetter(0), _HEAD.iter_unpack(joined))


def salt(algorithm: str) -> bytes:
    """Return what joins head, fingerprint, digest (or nothing), marks and path of a row to what is sealed."""
    return _salt(fingerprint.LAYOUT, algorithm)


@lru_cache(maxsize=64)
def _salt(layout: int, algorithm: str) -> bytes:
    return xxhash.xxh3_64_digest(repr((FORMAT, layout, algorithm)).encode())
