"""The checksum of a cache's row: it fits only a file whose stat is what it was.  Reads no database and no file.

A checksum is the xxh3-128 of volume, path in it, stat, sample layout, algorithm and values, and is worked out anew with
the stat that the file has now.  So one comparison takes the place of many: rows that differ in any of these fit by
chance once in 2^128.  It is no protection against somebody who forges rows.
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

FORMAT = 4  # of checksums; raise it and no older row is believed
_STAT = struct.Struct("40s")
_FIELDS = struct.Struct("=QqqQQ")  # as `packed_stats` has them
_WORDS = _STAT.size // 8
_LOW = (1 << 64) - 1

checksum = xxhash.xxh3_128_digest  # of the parts of a row, which are joined by its salt


def packed_stats(table: FileTable, members: Sequence[int]) -> bytes:
    """Return the stats of one or more files of one volume, joined: five words each, as this machine orders bytes.

    The inode number is 0 where it does not stay with its file.  Files whose times are kept apart, as they lie beyond
    the year 2262, must not be among them.
    """
    cut, words = gather_array(members), array("Q", bytes(_STAT.size * len(members)))
    columns = [table.size, table.modified_ns, table.changed_ns]
    stable = table.volumes[table.volume[members[0]]].stable_inodes
    if stable:
        columns.append(table.inode)
    for place, column in enumerate(columns):
        words[place::_WORDS] = array("Q", cut(column).tobytes())
    if table.wide and stable:
        words[len(columns) :: _WORDS] = array("Q", (table.wide.get(i, 0) >> 64 for i in members))
    return words.tobytes()


def pack(size: int, modified_ns: int, changed_ns: int, inode: int) -> bytes:
    """Return the same for the stat of one file.

    Raises:
        struct.error: a number is none, or fits no file.
    """
    return _FIELDS.pack(size, modified_ns, changed_ns, inode & _LOW, inode >> 64)


def each(joined: bytes) -> Iterator[bytes]:
    """Yield the packed stat of each file."""
    return map(itemgetter(0), _STAT.iter_unpack(joined))


def salt(volume_id: str, algorithm: str) -> bytes:
    """Return what joins packed stat, fingerprint, digest (or nothing), divergence and path of a row."""
    return _salt(FORMAT, fingerprint.LAYOUT, volume_id, algorithm)


@lru_cache(maxsize=64)
def _salt(*parts: object) -> bytes:
    return xxhash.xxh3_64_digest(repr(parts).encode("utf-8", "surrogatepass"))
