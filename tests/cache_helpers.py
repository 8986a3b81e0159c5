"""Entries and caches of a few made-up files, for tests of what is remembered."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from dedupe.cache import Cache
from dedupe.entries import Entries
from dedupe.lookup import Found
from dedupe.marks import mark
from dedupe.pool import Pool
from dedupe.status import Status
from dedupe.unsaved import RACY_NS

NOW = 1_900_000_000_000_000_000
AT_REST = Status(100, NOW - 3 * RACY_NS, NOW - 3 * RACY_NS, 2**64 - 1, 2**127)
ONE = Pool(1)


def one_file(status: Status = AT_REST, name: bytes = b"f\xff") -> Entries:
    """Return entries of a single file."""
    entries = Entries()
    entries.add(entries.enter(b"/d"), name, status)
    return entries


def each(found: Found) -> list[tuple[int, bytes, bytes | None]]:
    """Return member, fingerprint and digest of each file that something is believed of."""
    digests = dict(zip(found.digested, found.digests, strict=True))
    return [(i, p, digests.get(i)) for i, p in zip(found.members, found.prints, strict=True)]


def rows(path: Path) -> int:
    """Return how many rows a cache has."""
    database = sqlite3.connect(path)
    count: int = database.execute("SELECT count(*) FROM files").fetchone()[0]
    database.close()
    return count


def many(count: int) -> tuple[Entries, dict[int, bytes], dict[int, bytes], dict[int, bytes]]:
    """Return entries with a fingerprint each, and for some of them digests and marks."""
    entries = Entries()
    for n in range(count):
        if n % 100 == 0:
            folder = entries.enter(b"/d/%d" % (n // 100))
        entries.add(folder, b"f%d" % n, AT_REST._replace(size=n, inode=n))
    prints = {n: n.to_bytes(16, "big") for n in range(count)}
    marks = {n: mark(n, b"x") * (n % 3) for n in range(0, count, 7)}
    return entries, prints, {n: n.to_bytes(32, "big") for n in range(0, count, 2)}, marks


def stored(path: Path, count: int) -> tuple[Entries, list[tuple[int, bytes, bytes | None]]]:
    """Store many rows; return the entries and what is to be believed of them."""
    entries, prints, digests, marks = many(count)
    cache = Cache(path, "sha256", NOW)
    cache.remember(entries, range(count), prints.get, digests, marks)
    cache.close()
    assert cache.notes == []
    return entries, [(n, prints[n], digests.get(n)) for n in range(count)]
