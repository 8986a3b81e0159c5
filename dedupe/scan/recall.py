"""What the cache knows of the files of one table, and may be believed.  Reads no file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from dedupe.cache.queries import Recalled, RememberedRow
from dedupe.compare import fingerprint
from dedupe.files.columns import Column, runs
from dedupe.files.table import FileTable
from dedupe.scan.list_files import as_listed
from dedupe.scan.session import Session


@dataclass(slots=True)
class Known:
    """What is known of the content of files, by their index; grows as they are read.

    A remembered digest proves something only where the method of the run says so.  Elsewhere it is a witness: files
    that part from it have rotted.
    """

    fingerprints: Column
    digests: Column  # remembered ones only
    divergences: dict[int, bytes] = field(default_factory=dict)  # of the few files that have some
    unverified: dict[int, RememberedRow] = field(default_factory=dict)  # count only where the fingerprint is still so
    recalled: bytearray = field(default_factory=bytearray)  # by file: 1 where the fingerprint is a remembered one
    hits: int = 0  # files for which a remembered value spared reading

    def take(self, found: Recalled) -> None:
        """Add what is remembered of some files."""
        bounds = list(runs(found.members))
        self.fingerprints.put_joined(found.members, found.fingerprints, bounds)
        for first, end in bounds:
            self.recalled[found.members[first] : found.members[end - 1] + 1] = b"\1" * (end - first)
        if found.width == self.digests.width:  # another program may have written there
            whole = found.digested is found.members
            self.digests.put_joined(found.digested, found.digests, bounds if whole else None)
        self.divergences.update(found.divergences)
        self.unverified.update(found.unverified)
        self.hits += len(found.members)

    def verify(self, i: int, *, whole: bool) -> bool:
        """Return whether what is remembered of a file fits the fingerprint that was read now.

        It is taken over only where the fingerprint covers the whole file: between the samples of a larger one, a byte
        may have changed and the time been put back.
        """
        row = self.unverified[i]
        if self.fingerprints.get(i) != row.fingerprint:
            return False
        if not whole:
            return True
        if len(row.digest) == self.digests.width:
            self.digests.put(i, row.digest)
        if row.divergences:
            self.divergences[i] = row.divergences
        self.hits += bool(row.digest or row.divergences)
        return True


def recall(session: Session, table: FileTable, sets: Iterable[Sequence[int]]) -> Known:
    """Return what the cache knows of the files in some sets."""
    known = Known(Column(fingerprint.WIDTH), Column(session.method.width), recalled=bytearray(len(table)))
    if session.cache.usable:
        with session.phase("recall"):
            members = as_listed(table, chain.from_iterable(sets))
            for found in session.cache.recall(table, members, session.pool):
                known.take(found)
    return known
