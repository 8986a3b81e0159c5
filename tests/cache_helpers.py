"""Entries and caches of a few made-up files, for tests of what is remembered."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from dedupe.cache.queries import Recalled
from dedupe.cache.store import Cache
from dedupe.cache.write_buffer import RACY_NS
from dedupe.compare.divergence import divergence_at
from dedupe.files.table import FileTable
from dedupe.storage.file_stat import FileStat
from dedupe.workers.pool import Pool
from tests.made_volumes import MOUNT

NOW = 1_900_000_000_000_000_000
AT_REST = FileStat(100, NOW - 3 * RACY_NS, NOW - 3 * RACY_NS, 2**127)
ONE = Pool(1)


def one_file(stat_: FileStat = AT_REST, name: bytes = b"f\xff") -> FileTable:
    """Return entries of a single file."""
    table = FileTable()
    table.add(table.enter(b"/d", MOUNT), name, stat_)
    return table


def each(found: Recalled) -> list[tuple[int, bytes, bytes | None]]:
    """Return member, fingerprint and digest of each file that something is believed of."""
    digests = dict(zip(found.digested, found.digests, strict=True))
    return [(i, p, digests.get(i)) for i, p in zip(found.members, found.prints, strict=True)]


def rows(path: Path) -> int:
    """Return how many rows a cache has."""
    database = sqlite3.connect(path)
    count: int = database.execute("SELECT count(*) FROM files").fetchone()[0]
    database.close()
    return count


def many(count: int) -> tuple[FileTable, dict[int, bytes], dict[int, bytes], dict[int, bytes]]:
    """Return entries with a fingerprint each, and for some of them digests and marks."""
    table = FileTable()
    for n in range(count):
        if n % 100 == 0:
            folder = table.enter(b"/d/%d" % (n // 100), MOUNT)
        table.add(folder, b"f%d" % n, AT_REST._replace(size=n, inode=n))
    prints = {n: n.to_bytes(16, "big") for n in range(count)}
    divergences = {n: divergence_at(n, b"x") * (n % 3) for n in range(0, count, 7)}
    return table, prints, {n: n.to_bytes(32, "big") for n in range(0, count, 2)}, divergences


def stored(path: Path, count: int) -> tuple[FileTable, list[tuple[int, bytes, bytes | None]]]:
    """Store many rows; return the entries and what is to be believed of them."""
    table, prints, digests, divergences = many(count)
    cache = Cache(path, "sha256", NOW)
    cache.remember(table, range(count), prints.get, digests, divergences)
    cache.close()
    assert cache.notes == []
    return table, [(n, prints[n], digests.get(n)) for n in range(count)]
