"""Looking up by path what a cache knows of many files: work for `Pool`, in this process or in workers.  Writes nothing.

Whoever looks up opens the database for itself: a connection must not be used on the other side of a fork.  Even a new
one there lacks some locks, as SQLite believes that its process holds them, which the one it was forked from does until
all is looked up.  What goes wrong is nobody's loss: the caller looks the batch up again, or has the files read.
"""

from __future__ import annotations

import contextlib
import sqlite3
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, compress, groupby
from typing import Any, NamedTuple, TypeAlias

from dedupe.cache import eligible, row_checksum
from dedupe.compare import fingerprint
from dedupe.files import inherited
from dedupe.files.columns import gather_array
from dedupe.files.selection import SelectedPaths
from dedupe.files.table import FileTable
from dedupe.storage.volume import Volume

BATCH = 4096  # files looked up by one worker at a time: some ten milliseconds
_RUN = 500  # of them, and of one folder, by one statement: 1.4 us each where their rows lie together, else 2.5
_DENSE = 2  # rows that may lie between those of a run, a file: what is asked must set the cost, not what is known
# null stands for the scan's own algorithm: one text less to make
_SELECT = (
    "SELECT path, nullif(algorithm, ?), fingerprint, ifnull(digest, x''), divergence, checksum "
    "FROM files WHERE volume = ? AND path "
)


class RememberedRow(NamedTuple):
    """What is remembered of one file."""

    fingerprint: bytes
    digest: bytes  # empty where none is known
    divergences: bytes  # likewise


Rows: TypeAlias = dict[int, tuple[bytes, bytes, bytes]]  # by member, as in `RememberedRow`: that takes longer to make


class QueryColumns(NamedTuple):
    """What is asked of the files of a query, in their order."""

    paths: Iterable[bytes]  # in the volume
    runs: Sequence[int]  # how many of them, one after the other, lie in one folder
    packed_stats: bytes  # of `row_checksum`: what the files' stat is now
    unsure: Collection[int] = ()  # members whose change time tells nothing


@dataclass(frozen=True, slots=True)
class Query:
    """Files of one volume to look up; their columns are made where they are used, if the table is there."""

    volume: Volume
    number: int  # of the volume in the database
    members: Sequence[int]  # what the caller knows the files by
    table: FileTable | None
    sent: QueryColumns | None = None  # where no table is

    def columns(self) -> QueryColumns:
        """Return what is asked of the files."""
        return self.sent or _columns(self.table, self.volume, self.members)  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[Callable[..., Query], tuple[object, ...]]:
        there = None if self.table is None else inherited.stand_in(self.table)
        return Query, (self.volume, self.number, self.members, there, self.columns() if there is None else None)


@dataclass(slots=True)
class Recalled:
    """What is remembered of the files of one batch."""

    members: Sequence[int] = ()  # those of which it may be believed, in rising order
    fingerprints: bytes = b""  # of each of them, end to end
    digested: Sequence[int] = ()  # those whose digest is known too
    digests: bytes = b""  # likewise
    divergences: dict[int, bytes] = field(default_factory=dict)  # of those that have some
    # by member: a file whose change time tells nothing.  It counts only if the fingerprint that is read now is the same
    unverified: dict[int, RememberedRow] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """Return how many bytes a digest has, 0 where there is none."""
        return len(self.digests) // len(self.digested) if self.digested else 0


def batches(table: FileTable, members: Sequence[int], numbers: Mapping[str, int]) -> Iterator[Query]:
    """Yield batches of files to look up; quickest where they come as they were listed.

    Args:
        table: of the files.
        members: those to look up.
        numbers: of the volumes that the database knows files of, by their id.
    """
    for volume, some in eligible.by_volume(table, members):
        number = numbers.get(volume.id)
        for first in range(0, len(some) if number is not None else 0, BATCH):
            part = some[first : first + BATCH]
            assert number is not None
            yield Query(volume, number, part, table)


def _columns(table: FileTable, volume: Volume, members: Sequence[int]) -> QueryColumns:
    """Return what is asked of some files of a volume."""
    counts = (len(list(same)) for _, same in groupby(gather_array(members)(table.folder)))
    return QueryColumns(
        SelectedPaths(table, members, relative=True),
        [min(_RUN, count - at) for count in counts for at in range(0, count, _RUN)],
        row_checksum.packed_stats(table, members),
        _unsure(table, volume, members),
    )


def _unsure(table: FileTable, volume: Volume, members: Sequence[int]) -> Collection[int]:
    """Return the members whose content may have changed without moving a time that counts."""
    if not volume.keeps_change_time:
        return members if isinstance(members, range) else frozenset(members)
    changed = gather_array(members)(table.changed_ns)
    return frozenset(i for i, time in zip(members, changed, strict=True) if not time) if 0 in changed else ()


def look_up(connection: sqlite3.Connection, algorithm: str, asked: Query) -> Recalled:
    """Return what is remembered: the rows whose checksum fits the files as they are now.

    Raises:
        sqlite3.Error: the database cannot be read.
    """
    columns = asked.columns()
    paths = list(columns.paths)
    files = dict(zip(paths, zip(asked.members, row_checksum.each(columns.packed_stats), strict=True), strict=True))
    rows = _fitting(connection, algorithm, asked, files, _runs(paths, columns.runs))
    if len(files) < len(paths):  # several names of one place, or clones of the volume
        told = {member for member, _ in files.values()}
        stats = row_checksum.each(columns.packed_stats)
        for path, member, packed in zip(paths, asked.members, stats, strict=True):
            if member not in told:
                rows |= _fitting(connection, algorithm, asked, {path: (member, packed)}, [[path]])
    return recalled(rows, columns.unsure)


def _fitting(
    connection: sqlite3.Connection,
    algorithm: str,
    asked: Query,
    files: Mapping[bytes, tuple[int, bytes]],
    runs: Iterable[Sequence[bytes]],
) -> Rows:
    """Return the rows that fit: of files, by their paths, their members and packed stats."""
    best: Rows = {}
    own, checksum = row_checksum.salt(asked.volume.id, algorithm), row_checksum.checksum
    for keys in runs:
        for path, other, fingerprint_, digest, divergence, stored in _rows(connection, algorithm, asked.number, keys):
            file = files.get(path)
            if file is None:
                continue
            member, packed = file
            salt = own if other is None else row_checksum.salt(asked.volume.id, other)
            try:
                if (
                    checksum(salt.join((packed, fingerprint_, digest, divergence, path))) != stored
                    or len(fingerprint_) != fingerprint.WIDTH
                ):
                    continue
            except TypeError:  # another program wrote into it
                continue
            if other is None:
                best[member] = (fingerprint_, digest, divergence)
            else:
                best.setdefault(member, (fingerprint_, b"", divergence))
    return best


def _runs(paths: Sequence[bytes], lengths: Sequence[int]) -> Iterator[Sequence[bytes]]:
    ends = accumulate(lengths)
    return (paths[end - length : end] for length, end in zip(lengths, ends, strict=True))


def _rows(connection: sqlite3.Connection, algorithm: str, volume: int, paths: Sequence[bytes]) -> list[tuple[Any, ...]]:
    """Return the rows of paths, and perhaps some of others."""
    most = _DENSE * len(paths)
    bounds = bytearray(min(paths)), bytearray(max(paths))  # sqlite3 takes them as they are, unlike bytes
    rows = connection.execute(f"{_SELECT}BETWEEN ? AND ? LIMIT ?", (algorithm, volume, *bounds, most + 1)).fetchall()
    if len(rows) <= most:
        return rows
    placeholders = ",".join("?" * len(paths))
    return connection.execute(f"{_SELECT}IN ({placeholders})", (algorithm, volume, *map(bytearray, paths))).fetchall()


def recalled(rows: Rows, unsure: Collection[int]) -> Recalled:
    """Return what some rows tell, in the order of their members."""
    found = Recalled()
    if unsure:
        found.unverified = {i: RememberedRow(*rows.pop(i)) for i in sorted(rows) if i in unsure}
    if not rows:
        return found
    members = found.members = array("I", sorted(rows))
    fingerprints, digests, divergences = zip(*map(rows.__getitem__, members), strict=True)
    found.fingerprints = b"".join(fingerprints)
    if any(divergences):
        found.divergences = {i: told for i, told in zip(members, divergences, strict=True) if told}
    widths = set(map(len, digests))
    if len(widths - {0}) == 1:  # another program may have written some there
        found.digested = array("I", compress(members, digests)) if 0 in widths else members
        found.digests = b"".join(digests)
    return found


class QueryTask(NamedTuple):
    """Looks batches up; a picklable task for `Pool`."""

    database: str  # as a URI
    algorithm: str

    def __call__(self, batch: Query) -> Recalled | None:
        """Return what is remembered of a batch, or None where the database cannot be read."""
        try:
            # Opened and closed for each batch, which costs 0.2 ms: none is kept that might be in use at a fork.
            with contextlib.closing(sqlite3.connect(self.database, uri=True, timeout=0)) as connection:
                return look_up(connection, self.algorithm, batch)
        except sqlite3.Error:
            return None

    def lost(self, batch: Query) -> Recalled | None:  # noqa: ARG002
        """Return None for a batch whose workers died."""
        return None
