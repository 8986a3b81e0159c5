"""Which files are confirmed together, and how the results are put together again.  Reads no file itself.

A set that is too large to be open at once is confirmed in parts whose classes are then joined: by digest, or, where no
digest proves anything, by comparing one file of each class.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from dedupe.compare.candidates import CandidateBatch, CandidateSet, ConfirmResult
from dedupe.compare.method import Method
from dedupe.compare.tuning import MEASURED, Tuning
from dedupe.files.classes import Classes
from dedupe.files.columns import Column
from dedupe.files.selection import SelectedPaths, SelectedStats
from dedupe.files.table import FileTable
from dedupe.result import Proof
from dedupe.storage import mounts
from dedupe.workers.batch_size import BatchSize

_AT_ONCE = 1024  # sets of which the remembered digests are in memory together


@dataclass(slots=True)
class _Joint:
    """A set that is confirmed in parts."""

    pending: int = 0  # parts without a result
    classes: dict[bytes, list[list[int]]] = field(default_factory=lambda: defaultdict(list))  # read in this run
    remembered: dict[bytes, list[int]] = field(default_factory=lambda: defaultdict(list))  # by their digest
    left: list[list[int]] = field(default_factory=list)  # classes of one key unknown


class SetSplitter:
    """Puts sets of candidates into batches for `Confirmer` and its results into classes.

    Args:
        table: the files.
        method: what proves that files are equal.
        digests: what is remembered of some files' whole content.
        tuning: how much is confirmed together.
    """

    def __init__(self, table: FileTable, method: Method, digests: Column, tuning: Tuning = MEASURED) -> None:
        self._table = table
        self._method = method
        self._digests = digests if method.has_digest and digests else None  # elsewhere no digest stands for a file
        self._tuning = tuning
        self._joints: dict[int, _Joint] = {}  # by the first member of a part
        self._representative: dict[int, list[int]] = {}  # the class that a file was compared for
        first, least, most = tuning.batch
        self._batch_size = BatchSize(first, least=least, most=most)
        self.done = Classes()  # of two or more files, complete
        self.remembered = array("I")  # the files in them for which a remembered digest stands
        self.again: list[list[int]] = []  # sets that results gave rise to

    def take_remembered(self, sets: Sequence[Sequence[int]]) -> Sequence[Sequence[int]]:
        """Take the sets for which one remembered digest stands as complete, many at a time, and return the others."""
        if self._digests is None:
            return sets
        left = []
        for first in range(0, len(sets), _AT_ONCE):
            part = sets[first : first + _AT_ONCE]
            values, end = self._digests.get_all(list(chain.from_iterable(part))), 0
            digests, whole = list[bytes](), list[Sequence[int]]()
            for members in part:
                begin, end = end, end + len(members)
                digest = values[begin]
                if digest is not None and values[begin:end].count(digest) == len(members):
                    digests.append(digest)
                    whole.append(members)
                else:
                    left.append(members)
            members = array("I", chain.from_iterable(whole))
            self.done.append_all(digests, members, list(map(len, whole)), Proof.REMEMBERED)
            self.remembered.extend(members)
        return left

    def is_undivided(self, members: Sequence[int]) -> bool:
        """Return whether a set is confirmed by comparing all its files, and joined with nothing by digest."""
        known = self._digests.get_all(members) if self._digests else ()
        return len(members) <= self._most(members) and not any(known)

    def _most(self, members: Sequence[int]) -> int:
        """Return how many files of a set are compared at once."""
        size, tuning = self._table.size[members[0]], self._tuning
        fit = max(2, min(tuning.part_files, tuning.part_bytes // max(size, 1)))
        return fit if size <= tuning.small else tuning.open_files

    def batch_of(self, members: Sequence[int], *, needs_digest: bool = False) -> CandidateBatch:
        """Return some files of one size as a batch of one set, whatever is remembered of them."""
        size = self._table.size[members[0]]
        part = (size, len(members), needs_digest, size > self._tuning.small and self._may_map(members))
        return self._batch(array("I", members), [part])

    def batches(self, sets: Iterable[Sequence[int]]) -> Iterator[CandidateBatch]:
        """Yield batches of about equal cost; sets whose digests are all remembered, but not all the same, need none.

        What may be joined by digest is kept from what may not: where bytes are compared, only the one has digests.
        """
        members, parts, size = array("I"), list[tuple[int, int, bool, bool]](), 0
        sizes, small, opening = self._table.size, self._tuning.small, self._tuning.opening
        for whole in sets:
            for part, needs_digest in self._parts(whole):
                if parts and parts[-1][2] != needs_digest:
                    yield self._batch(members, parts)
                    members, parts, size = array("I"), [], 0
                each = sizes[part[0]]
                parts.append((each, len(part), needs_digest, each > small and self._may_map(part)))
                members.extend(part)
                size += (each + opening) * len(part)
                if size >= self._batch_size.amount:
                    yield self._batch(members, parts)
                    members, parts, size = array("I"), [], 0
        if parts:
            yield self._batch(members, parts)

    def _batch(self, members: array[int], parts: list[tuple[int, int, bool, bool]]) -> CandidateBatch:
        table = self._table
        return CandidateBatch(members, SelectedPaths(table, members), SelectedStats(table, members), parts)

    def _may_map(self, members: Sequence[int]) -> bool:
        table = self._table
        return all(mounts.may_map(f) for f in {table.folders[table.folder[i]] for i in members})

    def _parts(self, members: Sequence[int]) -> Sequence[tuple[Sequence[int], bool]]:
        """Return what must be read to confirm one set, and whether it needs digests to be joined with more."""
        digests = self._digests.get_all(members) if self._digests else ()
        known = [(d, i) for d, i in zip(digests, members, strict=False) if d is not None]
        remembered = {i for _, i in known}
        unknown = [i for i in members if i not in remembered] if known else members
        most = self._most(members)
        if not known and len(members) <= most:
            return ((members, False),)
        parts = [unknown[first : first + most] for first in range(0, len(unknown), most)]
        joint = _Joint(len(parts))
        for digest, i in known:
            joint.remembered[digest].append(i)
        if not parts:
            self._finish(joint)
        self._joints.update((part[0], joint) for part in parts)
        return [(part, True) for part in parts]

    def take(self, batch: CandidateBatch, result: ConfirmResult) -> None:
        """Put the result of a batch where it belongs."""
        self._batch_size.learn(result.bytes_read + self._tuning.opening * batch.files, result.seconds)
        if not (batch.needs_digest or self._representative):  # nearly always: every set is complete in itself
            self.done.extend(result.classes)
            return
        set_of = {m: n for n, s in enumerate(batch) for m in s.members}
        classes: list[list[tuple[bytes | None, Sequence[int]]]] = [[] for _ in batch]
        for digest, members in result.classes:
            classes[set_of[members[0]]].append((digest, members))
        failed = {p.path for p in result.problems}
        for n, candidates in enumerate(batch):
            self._take_one(candidates, classes[n], failed)

    def _take_one(
        self, candidates: CandidateSet, found: Sequence[tuple[bytes | None, Sequence[int]]], failed: set[bytes]
    ) -> None:
        """Put the classes of one set where they belong."""
        lost = [m for m, path in zip(candidates.members, candidates.paths, strict=True) if path in failed]
        left = [c for m in lost if (c := self._representative.pop(m, [])[1:])]  # what they were compared for
        if candidates.needs_digest:
            joint = self._joints.pop(candidates.members[0])
            joint.left += left
            for digest, members in found:
                assert digest is not None
                joint.classes[digest].append(self._whole(members))
            joint.pending -= 1
            if not joint.pending:
                self._finish(joint)
            return
        classes = [(digest, self._whole(members)) for digest, members in found]
        classes += [
            (None, c) for m in candidates.members if (c := self._representative.pop(m, []))
        ]  # equal to no other
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
        if self._method.has_digest:
            for digest in {**joint.remembered, **joint.classes}:
                self._join(digest, joint.classes.get(digest, []), joint.remembered.get(digest, []))
        elif joint.left:  # their key went with the file that stood for them
            self._compare([c for classes in joint.classes.values() for c in classes] + joint.left)
        else:
            for classes in joint.classes.values():
                if len(classes) > 1:
                    self._compare(classes)
                else:
                    self._keep(None, classes[0], Proof.COMPARED)

    def _join(self, digest: bytes, read: Sequence[Sequence[int]], remembered: Sequence[int]) -> None:
        """Add what has one digest: classes that were read, and files for which a remembered digest stands."""
        members = [i for c in read for i in c]
        if not remembered:
            self._keep(digest, members, Proof.COMPARED if len(read) == 1 else Proof.HASHED)
            return
        proofs = [Proof.HASHED] * len(members) + [Proof.REMEMBERED] * len(remembered)
        self._keep(digest, [*members, *remembered], proofs)

    def _keep(self, digest: bytes | None, members: Sequence[int], proof: Proof | Sequence[Proof]) -> None:
        """Add a class to those that are complete, unless it is one of a file alone."""
        if len(members) < 2:
            return
        self.done.append(digest, members, proof)
        if not isinstance(proof, Proof):
            self.remembered.extend([i for i, each in zip(members, proof, strict=True) if each is Proof.REMEMBERED])
