"""From likely equal files to classes of proven equal content, each with its digest.  Trusts no fingerprint."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from dedupe.compare.candidates import ConfirmResult
from dedupe.compare.divergence import split_by_divergence
from dedupe.compare.fingerprint import Batch, Fingerprinter
from dedupe.compare.shared_sets import SetSharer
from dedupe.compare.split_sets import SetSplitter
from dedupe.digests.base import BackendChoice
from dedupe.files.classes import Classes
from dedupe.files.table import FileTable
from dedupe.result import Problem, ProblemKind
from dedupe.scan.list_files import Sets
from dedupe.scan.recall import Known
from dedupe.scan.session import Session
from dedupe.storage import problems

if TYPE_CHECKING:
    from dedupe.compare.confirm import Confirmer
    from dedupe.compare.method import Method

_UNUSED = BackendChoice("none", "no files were so alike that a digest was needed")


@dataclass(slots=True)
class Confirmed:
    """Classes of two or more files of proven equal content, and what reading brought with it."""

    classes: Classes = field(default_factory=Classes)
    remembered: Sequence[int] = ()  # files in them that a remembered digest stands for
    backend: BackendChoice = _UNUSED  # that computed digests
    problems: list[Problem] = field(default_factory=list)
    bytes_read: int = 0


def confirm(session: Session, table: FileTable, sets: Sets, known: Known) -> Confirmed:
    """Return the classes of equal content among files of one size and fingerprint."""
    found = Confirmed()
    method = session.method
    if sets or not method.has_digest:
        method, found.backend = session.chosen_method()
    if method.has_digest:
        session.cache.await_digests(chain.from_iterable(sets))
    splitter = SetSplitter(table, method, known.digests, session.tuning)
    pending = _in_order(session, table, splitter.take_remembered(_undivided(sets, known)))
    asked = chain.from_iterable(pending)
    unproven = known.digests.unknown(asked, len(table)) if method.has_digest else asked
    total = sum(map(table.size.__getitem__, unproven))
    schedule = session.schedule
    with session.phase("confirm", total, in_bytes=True):
        session.pool.prepare(size=total)
        begun, max_in_flight = session.pool.counted(), schedule.max_in_flight(table)
        sharer = SetSharer(table, method, splitter, session.pool, session.tuning, alone=max_in_flight == 1)
        while pending or sharer.is_waiting:
            task = _confirmer(session, method)
            batches = sharer.batches(schedule.in_order(table, pending, itemgetter(0)))
            for batch, part in session.pool.run(
                task, batches, max_in_flight=max_in_flight, tick=lambda count: session.tick(count - begun)
            ):
                for whole, result in sharer.take(batch, part):
                    _take(session, table, known, result, found)
                    splitter.take(whole, result)
            pending, splitter.again = splitter.again, []
    found.classes, found.remembered = splitter.done, splitter.remembered
    return found


def _confirmer(session: Session, method: Method) -> Confirmer:
    from dedupe.compare.confirm import Confirmer  # a scan that remembers everything need not load it

    return Confirmer(method, session.opener, session.tuning)


def _undivided(sets: Sets, known: Known) -> Sets:
    """Return the sets without what is remembered to be different."""
    if not known.divergences:
        return sets
    parts = (part for s in sets for part in split_by_divergence(s, lambda i: known.divergences.get(i, b"")))
    return [array("I", part) for part in parts if len(part) > 1]


def _in_order(session: Session, table: FileTable, sets: Sequence[Sequence[int]]) -> Sequence[Sequence[int]]:
    """Return what takes long first, so that no core is left alone with it; small files as they lie on the disk."""
    small = session.tuning.small
    return sorted(sets, key=lambda s: (-table.size[s[0]] * len(s) if table.size[s[0]] > small else 0, s[0]))


def _take(session: Session, table: FileTable, known: Known, result: ConfirmResult, found: Confirmed) -> None:
    """Count and remember what was found out about some sets."""
    found.problems += result.problems
    found.bytes_read += result.bytes_read
    if not session.cache.usable:
        return
    divergences = {i: told for told, members in result.apart for i in members}
    if session.method.has_digest:
        digests = {i: digest for digest, members in result.classes if digest is not None for i in members}
    else:  # those that a row has stay in it
        digests = {i: digest for i in divergences if (digest := known.digests.get(i))}
    learnt = {**digests, **divergences}
    for i in _parted(session, table, [i for i in learnt if known.recalled[i]], known):
        found.problems.append(problems.of_kind(table.path(i), ProblemKind.ROT))
    if learnt:
        session.cache.remember(table, learnt, known.fingerprints.get, digests=digests, divergences=divergences)


def _parted(session: Session, table: FileTable, members: Sequence[int], known: Known) -> list[int]:
    """Return the files whose fingerprint is not the remembered one any more, though no time says so.

    They have just been read whole: both values of a row must be of one state of its file.
    """
    if not members:
        return []
    sizes = [table.size[i] for i in members]
    values = Fingerprinter(session.opener, session.tuning)(Batch(members, table.paths(members), sizes)).values
    parted = []
    for i, value in zip(members, values, strict=True):
        if value is not None and value != known.fingerprints.get(i):
            known.fingerprints.put(i, value)
            parted.append(i)
        known.recalled[i] = 0
    return parted
