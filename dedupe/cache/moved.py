"""Finding what a cache knows of files under another path: by volume and inode, where a folder was renamed or moved.

Renaming a folder leaves the times of the files in it alone, and each has another path.  There is no index to find them
by: with one, 300,000 rows took half as long again to write where numbers ascend with paths, and three times as long
where they do not; to make one when it is wanted took 0.3 to 0.8 s.  One pass over as many rows takes 0.04 s, leaves
nothing to be kept up, and is made only if reading the files that might be found would take longer: so the cost follows
the scan all the same.  Touches no user's file.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from operator import itemgetter

from dedupe.cache import eligible, queries, row_checksum, schema
from dedupe.cache.queries import Recalled
from dedupe.compare import fingerprint
from dedupe.files.columns import gather_array
from dedupe.files.table import FileTable
from dedupe.storage.volume import Volume

_AT_ONCE = 1 << 19  # files that one pass asks for: their numbers take 40 MB
_PART = 1 << 14  # rows looked at, or written by one transaction
_PASS_NS = 1.5  # a byte of the database, that a pass over its rows takes
_READ_NS, _OPEN_NS = 2, 50_000  # a byte and a file, that reading takes from a good disk
_FREE_NS = 10_000_000  # a pass that takes no longer is always made: over some 40,000 rows
_FAR = 1 << 63  # from here on SQLite takes numbers as text only
_WANTED = "CREATE TEMP TABLE wanted (inode, member INTEGER, PRIMARY KEY (inode, member)) WITHOUT ROWID"
_FOUND = f"CREATE TEMP TABLE found AS SELECT 0 AS member, {schema.NAMES} FROM files LIMIT 0"  # noqa: S608
_ROWS = ", ".join(f"f.{name}" for name, _ in schema.COLUMNS)
_PASS = (
    f"INSERT INTO temp.found SELECT w.member, {_ROWS} FROM files AS f "  # noqa: S608 - the names are ours
    "CROSS JOIN temp.wanted AS w ON w.inode = f.inode WHERE f.volume = ?"  # CROSS: the files are the outer loop
)
_KEEP = (
    f"INSERT OR REPLACE INTO files ({schema.NAMES}) SELECT {schema.NAMES} "  # noqa: S608
    "FROM temp.found WHERE checksum IS NOT NULL AND rowid BETWEEN ? AND ?"
)


def stored_inodes(table: FileTable, members: Sequence[int]) -> Sequence[int | str]:
    """Return the inode numbers of one or more files as they stand in rows."""
    numbers: Sequence[int]
    numbers = [table.inode_of(i) for i in members] if table.wide else gather_array(members)(table.inode)
    return numbers if max(numbers) < _FAR else [number if number < _FAR else str(number) for number in numbers]


class MovedFiles:
    """Files that were not found by their path, looked for by their inode number.

    Args:
        table: of the files.
        algorithm: whose digests are looked up.
        volumes: of the volumes that the database knows, by id: number, and the newest clock before a row's file was
            looked at.  A file that changed later can have no row.
    """

    def __init__(self, table: FileTable, algorithm: str, volumes: Mapping[str, tuple[int, int]]) -> None:
        self._table = table
        self._algorithm = algorithm
        self._volumes = volumes
        self._missed = array("I")

    def add(self, asked: Sequence[int], found: Recalled) -> None:
        """Take note of what was asked for by path and not found."""
        if len(found.members) + len(found.unverified) < len(asked):
            told = {*found.members, *found.unverified}
            self._missed.extend([i for i in asked if i not in told])

    def recall(self, connection: sqlite3.Connection, *, keep: bool) -> Iterator[Recalled]:
        """Yield what is remembered of the files under another path.

        Args:
            connection: the database.
            keep: whether it is written, so that the next time they are found by their path.

        Raises:
            sqlite3.Error: the database cannot be read, or no room is left for what is found.
        """
        for volume, members in eligible.by_volume(self._table, self._missed):
            number, newest = self._volumes[volume.id]
            candidates = self._candidates(volume, members, newest)
            known = array("I")
            for first in range(0, len(candidates), _AT_ONCE):
                known += self._known(connection, number, candidates[first : first + _AT_ONCE])
            if known:
                yield from self._of_volume(connection, volume.id, number, known)
                if keep:
                    _keep(connection)

    def _candidates(self, volume: Volume, members: Sequence[int], newest: int) -> array[int]:
        """Return those that may have a row: inode and change time must tell something."""
        if not (volume.stable_inodes and volume.keeps_change_time):
            return array("I")
        table = self._table
        changed = gather_array(members)(table.changed_ns)
        inode = stored_inodes(table, members)
        if 0 in changed or 0 in inode or max(changed) >= newest:
            may = (time and number and time < newest for time, number in zip(changed, inode, strict=True))
            members = list(compress(members, may))
        return array("I", sorted(members))

    def _known(self, connection: sqlite3.Connection, volume: int, members: array[int]) -> array[int]:
        """Return those of some files whose inode number has a row, as far as it is worth while to ask."""
        if not self._is_worthwhile(connection, members):
            return array("I")
        numbers = stored_inodes(self._table, members)
        rows = connection.execute("SELECT inode FROM files WHERE volume = ?", (volume,))
        known = set(numbers).intersection(map(itemgetter(0), rows))
        return array("I", compress(members, map(known.__contains__, numbers)))

    def _is_worthwhile(self, connection: sqlite3.Connection, members: Sequence[int]) -> bool:
        """Return whether reading files would take longer than a pass over all rows."""
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        page_size = connection.execute("PRAGMA page_size").fetchone()[0]
        size = sum(gather_array(members)(self._table.size))
        cost = pages * page_size * _PASS_NS
        return bool(cost <= _FREE_NS or size * _READ_NS + len(members) * _OPEN_NS > cost)

    def _of_volume(
        self, connection: sqlite3.Connection, volume_id: str, volume: int, members: Sequence[int]
    ) -> Iterator[Recalled]:
        """Yield what is remembered of one volume's files, and leave the rows in `temp.found`, with their new paths."""
        for table, made in (("wanted", _WANTED), ("found", _FOUND)):
            connection.execute(f"DROP TABLE IF EXISTS temp.{table}")
            connection.execute(made)
        with connection:  # ends with it, as a database that others wrote to meanwhile cannot be written after a look
            wanted = zip(stored_inodes(self._table, members), members, strict=True)
            connection.executemany("INSERT INTO temp.wanted VALUES (?, ?)", wanted)
            connection.execute(_PASS, (volume,))
        connection.execute("CREATE INDEX temp.found_members ON found (member)")
        for first in range(0, len(members), _PART):
            with connection:
                found = self._believed(connection, volume_id, members[first : first + _PART])
            if found.members:
                yield found

    def _believed(self, connection: sqlite3.Connection, volume_id: str, part: Sequence[int]) -> Recalled:
        """Return what is believed of some files, and give their rows in `temp.found` their new path and checksum."""
        found = connection.execute(
            "SELECT rowid, member, path, algorithm, fingerprint, ifnull(digest, x''), divergence, checksum "
            "FROM temp.found WHERE member BETWEEN ? AND ?",
            (part[0], part[-1]),
        ).fetchall()
        members = list(dict.fromkeys(row[1] for row in found))
        if not members:
            return Recalled()
        table = self._table
        packed = dict(zip(members, row_checksum.each(row_checksum.packed_stats(table, members)), strict=True))
        paths = dict(zip(members, table.relative_paths(members), strict=True))
        best: queries.Rows = {}
        new: list[tuple[bytearray | None, bytearray | None, int]] = []
        for row, member, path, algorithm, fingerprint_, digest, divergence, stored in found:
            salt = row_checksum.salt(volume_id, algorithm)
            values = (packed[member], fingerprint_, digest, divergence)
            try:
                fits = row_checksum.checksum(salt.join((*values, path))) == stored
            except TypeError:  # another program wrote into it
                fits = False
            if not fits or len(fingerprint_) != fingerprint.WIDTH:
                new.append((None, None, row))
                continue
            checksum = row_checksum.checksum(salt.join((*values, paths[member])))
            new.append((bytearray(paths[member]), bytearray(checksum), row))
            if algorithm == self._algorithm:
                best[member] = (fingerprint_, digest, divergence)
            else:
                best.setdefault(member, (fingerprint_, b"", divergence))
        connection.executemany("UPDATE temp.found SET path = ?, checksum = ? WHERE rowid = ?", new)
        return queries.recalled(best, ())


def _keep(connection: sqlite3.Connection) -> None:
    """Write the rows that were found under their new paths: only now, as two folders may have swapped names."""
    last = connection.execute("SELECT ifnull(max(rowid), 0) FROM temp.found").fetchone()[0]
    for first in range(1, last + 1, _PART):
        with connection:
            connection.execute(_KEEP, (first, first + _PART - 1))
