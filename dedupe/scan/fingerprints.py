"""From files of one size to those of one fingerprint as well: reads samples of those whose fingerprint is not known."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from dedupe.compare import fingerprint
from dedupe.compare.fingerprint import Batch, Fingerprinter
from dedupe.files.columns import column_getter
from dedupe.files.grouping import group_by_key
from dedupe.files.table import FileTable
from dedupe.result import Problem, ProblemKind
from dedupe.scan.list_files import Sets, as_listed
from dedupe.scan.recall import Known
from dedupe.scan.session import Session
from dedupe.storage import problems
from dedupe.workers.batch_size import BatchSize


@dataclass(slots=True)
class Fingerprinted:
    """Sets of two or more files of one size and fingerprint, and what reading brought with it."""

    sets: Sets = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    bytes_read: int = 0


def group_by_fingerprint(session: Session, table: FileTable, sets: Sets, known: Known) -> Fingerprinted:
    """Return the sets of files of one size and fingerprint; files that cannot be read drop out.

    Args:
        session: the means.
        table: the files.
        sets: those of one size.
        known: what is known already; what is read here is added.
    """
    unknown = as_listed(table, known.fingerprints.unknown(chain.from_iterable(sets), len(table)))
    with session.phase("fingerprint", len(unknown)):
        found = read_fingerprints(session, table, unknown, known)
        values = known.fingerprints
        readable = (s if values.has_all(s) else array("I", (i for i in s if i in values)) for s in sets)
        words = values.first_words()
        found.sets = [same for s in readable for same in group_by_key(s, column_getter(words))]
    return found


def read_fingerprints(session: Session, table: FileTable, members: Sequence[int], known: Known) -> Fingerprinted:
    """Fingerprint files, have them remembered, and verify by it what is remembered of some."""
    found, done = Fingerprinted(), 0
    sizes: dict[int, BatchSize] = {}  # of the lane of each batch that is out, by its first file

    def batches(part: Sequence[int]) -> Iterator[Batch]:
        size = fingerprint.batch_size(session.tuning)
        for batch in fingerprint.batches(table, array("I", part), size):
            sizes[batch.members[0]] = size
            yield batch

    lanes = session.schedule.lanes(table, members, lambda i: (i,), batches)
    session.pool.prepare(files=len(members), disks=lanes.disks)
    for batch, result in session.pool.run(Fingerprinter(session.opener, session.tuning), lanes):
        sizes.pop(batch.members[0]).learn(len(batch.members), result.seconds)
        known.fingerprints.put_all(batch.members, result.values)
        found.problems += result.problems
        found.bytes_read += result.bytes_read
        learnt: Sequence[int] = batch.members
        if known.unverified:
            learnt = _verify(table, batch.members, known, found, whole=session.tuning.whole)
        if session.cache.usable:
            learnt = [i for i in learnt if i in known.fingerprints]
            session.cache.remember(table, learnt, known.fingerprints.get)
        done += len(batch.members)
        session.progress.reach(done)
    return found


def _verify(table: FileTable, members: Sequence[int], known: Known, found: Fingerprinted, *, whole: int) -> list[int]:
    """Return the files of which more was learnt than was remembered; tell those that have rotted.

    Args:
        table: the files.
        members: those that were fingerprinted.
        known: what is known of them.
        found: where problems go.
        whole: bytes up to which a file is covered whole by its fingerprint.
    """
    learnt = []
    for i in members:
        row = known.unverified.get(i)
        if row is not None and i in known.fingerprints and known.verify(i, whole=table.size[i] <= whole):
            continue
        learnt.append(i)
        if row is not None and i in known.fingerprints:
            found.problems.append(problems.of_kind(table.path(i), ProblemKind.ROT))
    return learnt
