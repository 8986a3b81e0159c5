"""Looking up what a cache knows of many files: work for `Pool`, in this process or in workers.  Writes nothing.

Whoever looks up opens the database for itself: a connection must not be used on the other side of a fork.  Even a new
one there lacks some locks, as SQLite believes that its process holds them, which the one it was forked from does until
all is looked up.  What goes wrong is nobody's loss: the caller looks the batch up again, or has the files read.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from typing import Any, NamedTuple

from dedupe.cache import row_checksum
from dedupe.compare import fingerprint
from dedupe.files.columns import gather_array
from dedupe.files.table import FileTable

BATCH = 4096  # files looked up by one worker at a time: some ten milliseconds
_RUN = 500  # of them, and of one folder, by one statement: 1.4 us each where their rows lie together, else 2.5
_DENSE = 2  # rows that may lie between those of a run, a file: what is asked must set the cost, not what is known
# null stands for the scan's own algorithm: one text less to make
_SELECT = "SELECT path, nullif(algorithm, ?), fingerprint, ifnull(digest, x''), marks, seal FROM files WHERE path "


@dataclass(frozen=True, slots=True)
class Query:
    """Files to look up."""

    members: Sequence[int]  # what the caller knows them by
    paths: Iterable[bytes]
    runs: Sequence[int]  # how many of them, one after the other, lie in one folder
    packed_stats: bytes  # of `seals`: what the files' status is now


class RememberedRow(NamedTuple):
    """What is remembered of one file."""

    fingerprint: bytes
    digest: bytes  # empty where none is known
    divergences: bytes  # likewise


@dataclass(slots=True)
class Recalled:
    """What may be believed of the files of one batch."""

    members: list[int] = field(default_factory=list)
    fingerprints: list[bytes] = field(default_factory=list)  # of each of them
    digested: list[int] = field(default_factory=list)  # those whose digest is known too
    digests: list[bytes] = field(default_factory=list)
    divergences: dict[int, bytes] = field(default_factory=dict)  # of those that have some
    # by member: a file whose change time tells nothing.  It counts only if the fingerprint that is read now is the same
    unverified: dict[int, RememberedRow] = field(default_factory=dict)


def batches(table: FileTable, members: Sequence[int]) -> Iterator[Query]:
    """Yield batches of files to look up; quickest where they come as they were listed."""
    if table.far:  # no row is ever stored of them
        members = [i for i in members if i not in table.far]
    for first in range(0, len(members), BATCH):
        part = members[first : first + BATCH]
        folders = groupby(gather_array(part)(table.folder))
        counts = (len(list(same)) for _, same in folders)
        runs = [min(_RUN, count - at) for count in counts for at in range(0, count, _RUN)]
        yield Query(part, table.packed_paths(part), runs, row_checksum.packed_stats(table, part))


def look_up(connection: sqlite3.Connection, algorithm: str, asked: Query) -> Recalled:
    """Return what may be believed: the rows whose seal fits the files as they are now.

    Raises:
        sqlite3.Error: the database cannot be read.
    """
    paths = list(asked.paths)
    files = dict(zip(paths, zip(asked.members, row_checksum.each(asked.packed_stats), strict=True), strict=True))
    best: dict[int, tuple[bytes, bytes, bytes]] = {}
    own, checksum = row_checksum.salt(algorithm), row_checksum.checksum
    for keys in _runs(paths, asked.runs):
        for path, other, print_, digest, divergences, stored in _rows(connection, algorithm, keys):
            file = files.get(path)
            if file is None:
                continue
            member, head = file
            salt = own if other is None else row_checksum.salt(other)
            try:
                if (
                    checksum(salt.join((head, print_, digest, divergences, path))) != stored
                    or len(print_) != fingerprint.WIDTH
                ):
                    continue
            except TypeError:  # another program wrote into it
                continue
            if other is None:
                best[member] = (print_, digest, divergences)
            else:
                best.setdefault(member, (print_, b"", divergences))
    return _found(best)


def _runs(paths: Sequence[bytes], lengths: Sequence[int]) -> Iterator[Sequence[bytes]]:
    ends = accumulate(lengths)
    return (paths[end - length : end] for length, end in zip(lengths, ends, strict=True))


def _rows(connection: sqlite3.Connection, algorithm: str, paths: Sequence[bytes]) -> list[tuple[Any, ...]]:
    """Return the rows of paths, and perhaps some of others."""
    most = _DENSE * len(paths)
    bounds = bytearray(min(paths)), bytearray(max(paths))  # sqlite3 takes them as they are, unlike bytes
    rows = connection.execute(f"{_SELECT}BETWEEN ? AND ? LIMIT ?", (algorithm, *bounds, most + 1)).fetchall()
    if len(rows) <= most:
        return rows
    placeholders = ",".join("?" * len(paths))
    return connection.execute(f"{_SELECT}IN ({placeholders})", (algorithm, *map(bytearray, paths))).fetchall()


def _found(best: dict[int, tuple[bytes, bytes, bytes]]) -> Recalled:
    found = Recalled(sorted(best))
    for member in found.members:
        print_, digest, divergences = best[member]
        found.fingerprints.append(print_)
        if digest:
            found.digested.append(member)
            found.digests.append(digest)
        if divergences:
            found.divergences[member] = divergences
    return found


@dataclass(frozen=True, slots=True)
class QueryTask:
    """Looks batches up; a picklable task for `Pool`."""

    database: str  # as a URI
    algorithm: str

    def __call__(self, batch: Query) -> Recalled | None:
        """Return what may be believed of a batch, or None where the database cannot be read."""
        try:
            # Opened and closed for each batch, which costs 0.2 ms: none is kept that might be in use at a fork.
            with contextlib.closing(sqlite3.connect(self.database, uri=True, timeout=0)) as connection:
                return look_up(connection, self.algorithm, batch)
        except sqlite3.Error:
            return None

    def lost(self, batch: Query) -> Recalled | None:  # noqa: ARG002
        """Return None for a batch whose workers died."""
        return None
