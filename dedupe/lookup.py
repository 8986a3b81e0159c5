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
from typing import Any

from dedupe import fingerprint, seals
from dedupe.columns import cutter
from dedupe.entries import Entries

BATCH = 4096  # files looked up by one worker at a time: some ten milliseconds
_RUN = 500  # of them, and of one folder, by one statement: 1.4 us each where their rows lie together, else 2.5
_DENSE = 2  # rows that may lie between those of a run, a file: what is asked must set the cost, not what is known
# null stands for the scan's own algorithm: one text less to make
_SELECT = "SELECT path, nullif(algorithm, ?), fingerprint, ifnull(digest, x''), marks, seal FROM files WHERE path "


@dataclass(frozen=True, slots=True)
class Asked:
    """Files to look up."""

    members: Sequence[int]  # what the caller knows them by
    paths: Iterable[bytes]
    runs: Sequence[int]  # how many of them, one after the other, lie in one folder
    heads: bytes  # of `seals`: what the files' status is now


@dataclass(slots=True)
class Found:
    """What may be believed of the files of one batch."""

    members: list[int] = field(default_factory=list)
    prints: list[bytes] = field(default_factory=list)  # of each of them
    digested: list[int] = field(default_factory=list)  # those whose digest is known too
    digests: list[bytes] = field(default_factory=list)
    marks: dict[int, bytes] = field(default_factory=dict)  # of those that have some


def batches(entries: Entries, members: Sequence[int]) -> Iterator[Asked]:
    """Yield batches of files to look up; quickest where they come as they were listed."""
    if entries.far:  # no row is ever stored of them
        members = [i for i in members if i not in entries.far]
    for first in range(0, len(members), BATCH):
        part = members[first : first + BATCH]
        folders = groupby(cutter(part)(entries.folder))
        counts = (len(list(same)) for _, same in folders)
        runs = [min(_RUN, count - at) for count in counts for at in range(0, count, _RUN)]
        yield Asked(part, entries.packed_paths(part), runs, seals.heads(entries, part))


def look_up(connection: sqlite3.Connection, algorithm: str, asked: Asked) -> Found:
    """Return what may be believed: the rows whose seal fits the files as they are now.

    Raises:
        sqlite3.Error: the database cannot be read.
    """
    paths = list(asked.paths)
    files = dict(zip(paths, zip(asked.members, seals.each(asked.heads), strict=True), strict=True))
    best: dict[int, tuple[bytes, bytes, bytes]] = {}
    own, seal = seals.salt(algorithm), seals.seal
    for keys in _runs(paths, asked.runs):
        for path, other, print_, digest, marks, stored in _rows(connection, algorithm, keys):
            file = files.get(path)
            if file is None:
                continue
            member, head = file
            salt = own if other is None else seals.salt(other)
            try:
                if seal(salt.join((head, print_, digest, marks, path))) != stored or len(print_) != fingerprint.WIDTH:
                    continue
            except TypeError:  # another program wrote into it
                continue
            if other is None:
                best[member] = (print_, digest, marks)
            else:
                best.setdefault(member, (print_, b"", marks))
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
    marks = ",".join("?" * len(paths))
    return connection.execute(f"{_SELECT}IN ({marks})", (algorithm, *map(bytearray, paths))).fetchall()


def _found(best: dict[int, tuple[bytes, bytes, bytes]]) -> Found:
    found = Found(sorted(best))
    for member in found.members:
        print_, digest, marks = best[member]
        found.prints.append(print_)
        if digest:
            found.digested.append(member)
            found.digests.append(digest)
        if marks:
            found.marks[member] = marks
    return found


@dataclass(frozen=True, slots=True)
class Lookup:
    """Looks batches up; a picklable task for `Pool`."""

    database: str  # as a URI
    algorithm: str

    def __call__(self, batch: Asked, *, mapped: bool) -> Found | None:  # noqa: ARG002
        """Return what may be believed of a batch, or None where the database cannot be read."""
        try:
            # Opened and closed for each batch, which costs 0.2 ms: none is kept that might be in use at a fork.
            with contextlib.closing(sqlite3.connect(self.database, uri=True, timeout=0)) as connection:
                return look_up(connection, self.algorithm, batch)
        except sqlite3.Error:
            return None

    def lost(self, batch: Asked) -> Found | None:  # noqa: ARG002
        """Return None for a batch whose workers died."""
        return None
