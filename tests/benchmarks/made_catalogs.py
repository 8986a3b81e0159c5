"""Catalogs of disks that never were: rows by the million, made by number, so that the same call makes the same rows.

A fifth of the files are copies of earlier ones, wherever those lie, and one in fifty is a hard link of the file before.
"""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace

import xxhash

from dedupe.catalog import database
from dedupe.catalog.head import CatalogVolume, Head
from dedupe.catalog.row_checksum import of_file, of_values
from dedupe.compare import fingerprint

FILES_A_FOLDER = 50
_COPIES, _LINKS = 0.2, 0.02  # shares of all files
_SECOND = 10**9
_DAY = "2026-01-02T03:04:05+00:00"


class _Contents:
    """Hands out the numbers of contents: that of a new one, or of one that was there before."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._count = 0

    def next(self) -> int:
        if self._count and self._random.random() < _COPIES:
            return self._random.randrange(self._count)
        self._count += 1
        return self._count - 1

    def is_link(self) -> bool:
        return self._random.random() < _LINKS


def make_catalogs(paths: Sequence[str], files: Sequence[int], *, seed: int = 20_260_804) -> None:
    """Make catalogs with so many files each, whose contents are partly the same."""
    contents = _Contents(seed)
    for disk, (path, count) in enumerate(zip(paths, files, strict=True)):
        head = Head(
            id=f"{disk:016x}",
            version="0",
            made=_DAY,
            updated=_DAY,
            host="generated",
            root=b"/disk%d" % disk,
            inside=b"",
            capacity=1 << 44,
            layout=fingerprint.LAYOUT,
            algorithm="sha256",
            quick=False,
            complete=False,
        )
        made = database.make(path, head, CatalogVolume(1, f"uuid:disk-{disk}", "", "ext4"))
        with contextlib.closing(made) as connection:
            connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
            with connection:
                _fill(connection, count, contents)
                size = connection.execute("SELECT sum(size) FROM files").fetchone()[0]
                done = replace(head, complete=True, files=count, size=size, unread=0, left_out="{}", rules="{}")
                database.write_head(connection, done)


def _fill(connection: sqlite3.Connection, count: int, contents: _Contents) -> None:
    folders = (
        (n, b"%03d/%05d/" % (n // 1000, n), 1, b"%03d/%05d/" % (n // 1000, n))
        for n in range(-(-count // FILES_A_FOLDER))
    )
    connection.executemany("INSERT INTO folders VALUES (?, ?, ?, ?, ?)", ((*row, of_values(*row)) for row in folders))
    connection.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", _rows(count, contents))


def _rows(count: int, contents: _Contents) -> Iterator[tuple[object, ...]]:
    values: tuple[object, ...] = ()
    for n in range(count):
        if not values or not contents.is_link():
            values = (*_stat(number := contents.next()), 1000 + n, _digest(number, b"f")[:16], _digest(number, b"d"))
        row = (n // FILES_A_FOLDER, b"IMG_%07d.jpg" % n, *values)
        yield (*row, of_file(row))


def _digest(number: int, kind: bytes) -> bytes:
    half = xxhash.xxh3_128_digest(b"%b%d" % (kind, number))
    return half + half[::-1]


def _stat(number: int) -> tuple[int, int, int]:
    """Return size and times of a content: sizes from 100 bytes to a gigabyte, as many in each power of ten."""
    share = xxhash.xxh3_64_intdigest(b"%d" % number) / (1 << 64)
    when = (1_600_000_000 + number % 100_000_000) * _SECOND
    return int(100 * 10 ** (7 * share)), when, when
