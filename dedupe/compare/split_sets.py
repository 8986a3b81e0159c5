"""Which files are confirmed together, and how the verdicts are put together again.  Reads no file itself.

A set that is too large to be open at once is judged in parts whose classes are then joined: by digest, or, where no
digest proves anything, by comparing one file of each class.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from dedupe.compare.candidates import CandidateBatch, CandidateSet, Verdict
from dedupe.compare.confirm import AT_ONCE, SMALL
from dedupe.files.classes import Classes
from dedupe.files.table import FileTable
from dedupe.result import Proof
from dedupe.storage import mounts
from dedupe.workers.batch_size import BatchSize

_FIRST, _LEAST, _MOST = 16 << 20, 1 << 20, 256 << 20  # bytes of a batch
_OPENING = 32 << 10  # bytes that could be read in the time that opening a file takes
_PART_FILES, _PART_BYTES = 1024, 32 << 20  # of small files judged together, whose contents are in memory at once


@dataclass(slots=True)
class _Joint:
    """A set that is judged in parts."""

    pending: int = 0  # parts without a verdict
    remembered: set[int] = field(default_factory=set)  # members whose digests are
    classes: dict[bytes, list[list[int]]] = field(default_factory=lambda: defaultdict(list))
    left: list[list[int]] = field(default_factory=list)  # classes of one key unknown


_DigestsOf: TypeAlias = Callable[[Sequence[int]], Sequence["bytes | None"]]


class SetSplitter:
    """Puts sets of candidates into batches for `Confirmer` and its verdicts into classes.

    Args:
        entries: the files.
        digests_of: what is remembered of some files' whole content, or None for each; itself None if nothing is.
        proven: whether equal digests prove equal content (not so where only bytes are compared).
    """

    def __init__(self, table: FileTable, digests_of: _DigestsOf | None, *, proven: bool) -> None:
        self._table = table
        self._digests_of = digests_of
        self._proven = proven
        self._joints: dict[int, _Joint] = {}  # by the first member of a part
        self._representative: dict[int, list[int]] = {}  # the class that a file was compared for
        self._pace = BatchSize(_FIRST, least=_LEAST, most=_MOST)
        self.done = Classes()  # of two or more files, complete
        self.again: list[list[int]] = []  # sets that verdicts gave rise to

    def batches(self, sets: Iterable[Sequence[int]]) -> Iterator[CandidateBatch]:
        """Yield batches of about equal cost; sets whose digests are all remembered need none.

        What will be joined is kept from what will not: only the one has digests where bytes are compared.
        """
        members, parts, size = array("I"), list[tuple[int, int, bool, bool]](), 0
        sizes = self._table.size
        for whole in sets:
            for part, join in self._parts(whole):
                if parts and parts[-1][2] != join:
                    yield self._batch(members, parts)
                    members, parts, size = array("I"), [], 0
                each = sizes[part[0]]
                parts.append((each, len(part), join, each > SMALL and self._may_map(part)))
                members.extend(part)
                size += (each + _OPENING) * len(part)
                if size >= self._pace.amount:
                    yield self._batch(members, parts)
                    members, parts, size = array("I"), [], 0
        if parts:
            yield self._batch(members, parts)

    def _batch(self, members: array[int], parts: list[tuple[int, int, bool, bool]]) -> CandidateBatch:
        table = self._table
        return CandidateBatch(members, table.packed_paths(members), table.packed_stats(members), parts)

    def _may_map(self, members: Sequence[int]) -> bool:
        table = self._table
        return all(mounts.may_map(f) for f in {table.folders[table.folder[i]] for i in members})

    def _parts(self, members: Sequence[int]) -> Sequence[tuple[Sequence[int], bool]]:
        """Return what must be read to judge one set, and whether it will be joined with more."""
        digests = self._digests_of(members) if self._digests_of else ()
        if digests and self._proven and digests.count(digests[0]) == len(members) and digests[0]:  # nearly always
            self._keep(digests[0], members, Proof.REMEMBERED)
            return ()
        known = [(d, i) for d, i in zip(digests, members, strict=False) if d is not None]
        remembered = {i for _, i in known}
        unknown = [i for i in members if i not in remembered] if known else members
        size = self._table.size[members[0]]
        most = max(2, min(_PART_FILES, _PART_BYTES // max(size, 1))) if size <= SMALL else AT_ONCE
        if not known and len(members) <= most:
            return ((members, False),)
        parts = [unknown[first : first + most] for first in range(0, len(unknown), most)]
        joint = _Joint(len(parts), remembered)
        for digest, i in known:
            joint.classes[digest].append([i])
        if not parts:
            self._finish(joint)
        self._joints.update((part[0], joint) for part in parts)
        return [(part, True) for part in parts]

    def take(self, batch: CandidateBatch, verdict: Verdict) -> None:
        """Put the verdict on a batch where it belongs."""
        self._pace.took(verdict.bytes_read + _OPENING * batch.files, verdict.seconds)
        if not (batch.join or self._representative):  # nearly always: every set is complete in itself
            self.done.extend(verdict.classes)
            return
        set_of = {m: n for n, s in enumerate(batch) for m in s.members}
        classes: list[list[tuple[bytes | None, Sequence[int]]]] = [[] for _ in batch]
        for digest, members in verdict.classes:
            classes[set_of[members[0]]].append((digest, members))
        failed = {p.path for p in verdict.problems}
        for n, suspects in enumerate(batch):
            self._take_one(suspects, classes[n], failed)

    def _take_one(
        self, suspects: CandidateSet, found: Sequence[tuple[bytes | None, Sequence[int]]], failed: set[bytes]
    ) -> None:
        """Put the classes of one set where they belong."""
        stand_ins = [m for m, path in zip(suspects.members, suspects.paths, strict=True) if path in failed]
        left = [
            c for m in stand_ins if (c := self._representative.pop(m, [])[1:])
        ]  # they lost the file that stood for them
        if suspects.join:
            joint = self._joints.pop(suspects.members[0])
            joint.left += left
            for digest, members in found:
                assert digest is not None
                joint.classes[digest].append(self._whole(members))
            joint.pending -= 1
            if not joint.pending:
                self._finish(joint)
            return
        classes = [(digest, self._whole(members)) for digest, members in found]
        classes += [(None, c) for m in suspects.members if (c := self._representative.pop(m, []))]  # equal to no other
        if left:
            self._compare([c for _, c in classes] + left)
        else:
            for digest, members in classes:
                self._keep(digest, members, Proof.COMPARED)

    def _whole(self, members: Sequence[int]) -> list[int]:
        """Return members together with those whose content they were proven to have before."""
        return [i for m in members for i in self._representative.pop(m, (m,))]

    def _compare(self, classes: Sequence[list[int]]) -> None:
        """Have one file of each class compared with the others' on behalf of all."""
        self._representative.update((c[0], c) for c in classes)
        self.again.append([c[0] for c in classes])

    def _finish(self, joint: _Joint) -> None:
        """Join the classes of all parts of a set."""
        if self._proven:
            for digest, classes in joint.classes.items():
                members = [i for c in classes for i in c]
                proofs = [Proof.REMEMBERED if i in joint.remembered else Proof.HASHED for i in members]
                self._keep(digest, members, proofs)
        elif joint.left:  # their key went with the file that stood for them
            self._compare([c for classes in joint.classes.values() for c in classes] + joint.left)
        else:
            for classes in joint.classes.values():
                if len(classes) > 1:
                    self._compare(classes)
                else:
                    self._keep(None, classes[0], Proof.COMPARED)

    def _keep(self, digest: bytes | None, members: Sequence[int], proof: Proof | Sequence[Proof]) -> None:
        """Add a class to those that are complete, unless it is one of a file alone."""
        if len(members) > 1:
            self.done.append(digest, members, proof)
