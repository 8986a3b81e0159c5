"""Tables and caches of a few made-up files on a made-up disk, for tests of what is remembered."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from dedupe.cache.queries import Recalled
from dedupe.cache.store import Cache
from dedupe.cache.write_buffer import RACY_NS
from dedupe.compare import fingerprint
from dedupe.compare.divergence import divergence_at
from dedupe.files.table import FileTable
from dedupe.storage.file_stat import FileStat
from dedupe.storage.volume import Mount, Volume
from dedupe.walk.mount_points import located
from dedupe.workers.pool import Pool

NOW = 1_900_000_000_000_000_000
AT_REST = FileStat(100, NOW - 3 * RACY_NS, NOW - 3 * RACY_NS, 2**127)
ONE = Pool(1)
DISK = Volume("uuid:disk", "first", "here", 7, file_system="ext4", label="photos")


def mounted(point: bytes = b"/", volume: Volume = DISK, base: bytes = b"") -> Mount:
    """Return a mount of a made-up volume."""
    return Mount(volume, os.path.join(point, b""), base)


def one_file(
    stat_: FileStat = AT_REST, name: bytes = b"f\xff", folder: bytes = b"/d", mount: Mount | None = None
) -> FileTable:
    """Return a table of a single file."""
    table = FileTable()
    table.add(table.enter(folder, mount or mounted()), name, stat_)
    return table


def remember(
    path: Path, table: FileTable, *, algorithm: str = "sha256", digest: bytes = b"D" * 32, read_ns: int = NOW
) -> None:
    """Store a row for each file of a table, all with one fingerprint and digest."""
    cache = Cache(path, algorithm, read_ns)
    cache.remember(table, range(len(table)), lambda _: b"F" * 16, dict.fromkeys(range(len(table)), digest))
    cache.close()
    assert cache.notes == []


def recall(path: Path, table: FileTable, algorithm: str = "sha256") -> list[tuple[int, bytes, bytes | None]]:
    """Return what is believed of the files of a table now."""
    cache = Cache(path, algorithm, NOW)
    found = [told for f in cache.recall(table, range(len(table)), ONE) for told in each(f)]
    cache.close()
    assert cache.notes == []
    return found


def each(found: Recalled) -> list[tuple[int, bytes, bytes | None]]:
    """Return member, fingerprint and digest of each file that something is believed of."""
    digests = dict(zip(found.digested, _cut(found.digests, found.width), strict=True))
    fingerprints = _cut(found.fingerprints, fingerprint.WIDTH)
    return [(i, p, digests.get(i)) for i, p in zip(found.members, fingerprints, strict=True)]


def _cut(joined: bytes, width: int) -> list[bytes]:
    return [joined[at : at + width] for at in range(0, len(joined), width or 1)]


def rows(path: Path) -> int:
    """Return how many rows a cache has."""
    database = sqlite3.connect(path)
    count: int = database.execute("SELECT count(*) FROM files").fetchone()[0]
    database.close()
    return count


def many(count: int) -> tuple[FileTable, dict[int, bytes], dict[int, bytes], dict[int, bytes]]:
    """Return a table, a fingerprint each, and for some of them digests and divergences."""
    table = FileTable()
    for n in range(count):
        if n % 100 == 0:
            folder = table.enter(b"/d/%d" % (n // 100), mounted())
        table.add(folder, b"f%d" % n, AT_REST._replace(size=n, inode=n))
    fingerprints = {n: n.to_bytes(16, "big") for n in range(count)}
    divergences = {n: divergence_at(n, b"x") * (n % 3) for n in range(0, count, 7)}
    return table, fingerprints, {n: n.to_bytes(32, "big") for n in range(0, count, 2)}, divergences


def stored(path: Path, count: int) -> tuple[FileTable, list[tuple[int, bytes, bytes | None]]]:
    """Store many rows; return the table and what is to be believed of them."""
    table, fingerprints, digests, divergences = many(count)
    cache = Cache(path, "sha256", NOW)
    cache.remember(table, range(count), fingerprints.get, digests, divergences)
    cache.close()
    assert cache.notes == []
    return table, [(n, fingerprints[n], digests.get(n)) for n in range(count)]


def remembered_digests(cache: Path, below: Path) -> dict[Path, bytes]:
    """Return the digest of each file that has one in a cache, as far as anything is there yet.

    Args:
        cache: its database.
        below: a folder that all the files lie below.
    """
    if not cache.exists():
        return {}
    base = located(os.fsencode(below)).base
    with contextlib.closing(sqlite3.connect(cache)) as database, contextlib.suppress(sqlite3.OperationalError):
        rows = database.execute("SELECT path, digest FROM files WHERE digest IS NOT NULL").fetchall()
        return {below / os.fsdecode(path.removeprefix(base)): digest for path, digest in rows}
    return {}
