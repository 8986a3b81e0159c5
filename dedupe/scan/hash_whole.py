"""Files, each by itself, to the digests of all their bytes, which are remembered.  Compares and groups nothing.

Each is fingerprinted anew right before it is read, so that the two values of its row are of one state of the file,
whatever was remembered of it.  What was remembered is a witness: a file that parts from it, though its size and times
are the same, has rotted.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dedupe.compare.candidates import CandidateBatch, ConfirmResult
from dedupe.compare.confirm import Confirmer
from dedupe.compare.fingerprint import Batch, Fingerprinter
from dedupe.compare.method import Method
from dedupe.compare.tuning import Tuning
from dedupe.files.columns import gather
from dedupe.files.selection import SelectedPaths, SelectedStats
from dedupe.files.table import FileTable
from dedupe.result import Problem, ProblemKind
from dedupe.scan.recall import Known
from dedupe.scan.session import Session
from dedupe.storage import mounts, problems


class HashedFile(NamedTuple):
    """What reading a file to its end has told."""

    member: int
    digest: bytes | None  # None where it could not be read
    problem: Problem | None = None  # why it could not, or that it has rotted


class _HashTask(NamedTuple):
    """Fingerprints and hashes batches of files; a picklable task for `Pool`."""

    fingerprinter: Fingerprinter | None  # None where nobody remembers fingerprints
    confirmer: Confirmer

    def with_maps(self) -> _HashTask:
        """Return one that maps large files."""
        return self._replace(confirmer=self.confirmer.with_maps())

    def __call__(self, batch: CandidateBatch) -> tuple[Sequence[bytes | None], ConfirmResult]:
        """Return the fingerprints of a batch, and what became of its sets; what fails, fails in both."""
        values: Sequence[bytes | None] = ()
        if self.fingerprinter is not None:
            files = list(batch)
            wanted = Batch([s.members[0] for s in files], [s.paths[0] for s in files], [s.size for s in files])
            values = self.fingerprinter(wanted).values
        return values, self.confirmer(batch)

    def lost(self, batch: CandidateBatch) -> tuple[Sequence[bytes | None], ConfirmResult]:
        """Return problems for a batch whose workers died."""
        return (), self.confirmer.lost(batch)


def hash_whole(
    session: Session,
    table: FileTable,
    members: Sequence[int],
    method: Method,
    known: Known,
    *,
    fingerprints: bool = False,
) -> Iterator[HashedFile]:
    """Yield each of some files with its digest or its problem, as they are found.

    Args:
        session: the means.
        table: the files.
        members: those to hash.
        method: which digest, and who computes it.
        known: what is remembered of them; fingerprints that were read take the place of remembered ones.
        fingerprints: whether they are wanted even if no cache remembers them.
    """
    lanes = session.schedule.lanes(table, members, lambda i: (i,), lambda part: _batches(table, part, session.tuning))
    total = sum(gather(members)(table.size))
    wanted = fingerprints or session.cache.usable
    fingerprinter = Fingerprinter(session.opener, session.tuning) if wanted else None
    task = _HashTask(fingerprinter, Confirmer(method, session.opener, session.tuning))
    with session.phase("hash", total, in_bytes=True):
        session.pool.prepare(files=len(members), size=total, disks=lanes.disks)
        begun = session.pool.counted()
        for batch, (values, result) in session.pool.run(
            task,
            lanes,
            tick=lambda count: session.tick(count - begun),
        ):
            found = list(_told(batch, values, result, known))
            _remember(session, table, found, values, known)
            yield from found


def _told(
    batch: CandidateBatch, fingerprints: Sequence[bytes | None], result: ConfirmResult, known: Known
) -> Iterator[HashedFile]:
    """Yield what each file of a batch has told."""
    digests = {members[0]: digest for digest, members in result.classes}
    failed = {problem.path: problem for problem in result.problems}
    for place, s in enumerate(batch):
        (i,), (path,) = s.members, s.paths
        digest = digests.get(i)
        if digest is None:
            yield HashedFile(i, None, failed[path])
        else:
            rotten = _has_rotted(known, i, fingerprints[place] if fingerprints else None, digest)
            yield HashedFile(i, digest, problems.of_kind(path, ProblemKind.ROT) if rotten else None)


def _has_rotted(known: Known, i: int, fingerprint: bytes | None, digest: bytes) -> bool:
    """Return whether a file that was read to its end is not what is remembered of it."""
    row = known.unverified.get(i)
    old_fingerprint = row.fingerprint if row else known.fingerprints.get(i)
    old_digest = row.digest if row else known.digests.get(i)
    if old_fingerprint and fingerprint and old_fingerprint != fingerprint:
        return True
    return bool(old_digest) and len(old_digest or b"") == len(digest) and old_digest != digest


def _remember(
    session: Session,
    table: FileTable,
    found: Sequence[HashedFile],
    fingerprints: Sequence[bytes | None],
    known: Known,
) -> None:
    """Have the cache remember what has both values of a row, read under one stat."""
    digests = {}
    for each, fingerprint in zip(found, fingerprints, strict=False):  # there are none where nobody remembers them
        if each.digest is not None and fingerprint is not None:
            known.fingerprints.put(each.member, fingerprint)
            digests[each.member] = each.digest
    if digests:
        session.cache.remember(table, digests, known.fingerprints.get, digests)


def _batches(table: FileTable, members: Sequence[int], tuning: Tuning) -> Iterator[CandidateBatch]:
    """Yield the files as sets of one, each to be read to its end, in batches of about equal cost."""
    part, size = array("I"), 0
    for i in members:
        part.append(i)
        size += table.size[i]
        if len(part) >= tuning.hash_files or size >= tuning.hash_bytes:
            yield _batch(table, part)
            part, size = array("I"), 0
    if part:
        yield _batch(table, part)


def _batch(table: FileTable, members: array[int]) -> CandidateBatch:
    sets = [(table.size[i], 1, True, mounts.may_map(table.folders[table.folder[i]])) for i in members]
    return CandidateBatch(members, SelectedPaths(table, members), SelectedStats(table, members), sets)
