"""Large sets that several workers confirm together, by ranges of their files.  Reads no file itself.

A set that is alone, or among the last, would keep one worker busy while the others wait.  Here one of them hashes the
first file of each class, and the others compare all files, each in another range.  Files are equal if they are in every
range: the classes of the set are the common refinement of those of its ranges.  Each piece of the work looks at its
files' stats before and after it reads, so that what the last one sees still holds for all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import takewhile

from dedupe.compare.candidates import CandidateBatch, ConfirmResult, Span, SpanBatch
from dedupe.compare.fair_share import shared_ones
from dedupe.compare.method import Method
from dedupe.compare.split_sets import SetSplitter
from dedupe.compare.tuning import MEASURED, Tuning
from dedupe.files.table import FileTable
from dedupe.result import Problem, Proof
from dedupe.workers.pool import Pool


class _SharedSet:
    """One set: what is known of its files so far.

    Args:
        members: its files.
        size: of each, in bytes.
        has_digest: whether each class gets one.
    """

    def __init__(self, members: Sequence[int], size: int, *, has_digest: bool) -> None:
        self.members = members
        self.size = size
        self.has_digest = has_digest
        self.compared = 0  # bytes of each file that were handed out to be compared
        self.pending = 0  # pieces without a result
        self.classes = [list(members)]  # of two or more files, equal in all ranges so far
        self.tickets: dict[int, int] = {}  # of the files that are being hashed
        self.digests: dict[int, bytes] = {}  # of those that were
        self.divergences: dict[int, bytes] = defaultdict(bytes)
        self.problems: dict[int, Problem] = {}
        self.bytes_read = 0

    def unhashed(self) -> list[int]:
        """Return one file of each class without any that was hashed or is being so."""
        if not self.has_digest:
            return []
        return [c[0] for c in self.classes if self._hashed(c) is None]

    def _hashed(self, members: Sequence[int]) -> int | None:
        return next((i for i in members if i in self.digests or i in self.tickets), None)

    def next_span(self, length: int) -> tuple[list[int], Span]:
        """Return the files to compare, in each class the one that is hashed first, and their next `length` bytes."""
        begin, self.compared = self.compared, min(self.compared + length, self.size)
        members, hashed = list[int](), set[int]()
        for c in self.classes:
            first = self._hashed(c)
            if first is not None:
                hashed.add(len(members))
                members.append(first)
            members += [i for i in c if i != first]
        return members, Span(begin, self.compared, [len(c) for c in self.classes], frozenset(hashed))

    def is_complete(self) -> bool:
        """Return whether nothing is left to do, or to wait for."""
        return not self.pending and not self.is_comparing() and not self.unhashed()

    def is_comparing(self) -> bool:
        """Return whether there are ranges that nobody compares yet."""
        return bool(self.classes) and self.compared < self.size

    def fail(self, problems: dict[int, Problem]) -> None:
        """Take out files that could not be read, or have changed."""
        self.problems = {**problems, **self.problems}
        self.classes = [[i for i in c if i not in problems] for c in self.classes]
        self.classes = [c for c in self.classes if len(c) > 1]

    def end_hashing(self, ticket: int, result: ConfirmResult) -> None:
        """Take the digest of a file, if it could be read and was not withdrawn."""
        self.tickets = {i: each for i, each in self.tickets.items() if each != ticket}
        for digest, (i,) in result.classes:
            assert digest is not None
            self.digests[i] = digest

    def refine(self, result: ConfirmResult) -> None:
        """Part the files that differ in a range."""
        part_of = {i: n for n, (_, members) in enumerate(result.classes) for i in members}
        told = {i: divergences for divergences, members in result.apart for i in members}
        refined = []
        for c in self.classes:
            parts: dict[int, list[int]] = defaultdict(list)
            for i in c:
                parts[part_of.get(i, -1 - i)].append(i)
            if len(parts) > 1:
                for i in c:
                    self.divergences[i] += told.get(i, b"")
            refined += [part for part in parts.values() if len(part) > 1]
        self.classes = refined

    def unwanted(self) -> list[int]:
        """Return the tickets of files that are hashed for nobody any more, and forget them."""
        wanted = {i for c in self.classes for i in c}
        return [self.tickets.pop(i) for i in list(self.tickets) if i not in wanted]

    def result(self) -> ConfirmResult:
        """Return what became of the set."""
        found = ConfirmResult(problems=list(self.problems.values()), bytes_read=self.bytes_read)
        for c in self.classes:
            digest = next((self.digests[i] for i in c if i in self.digests), None)
            found.classes.append(digest, c, Proof.COMPARED)
        found.apart = [(told, [i]) for i, told in self.divergences.items() if told and i not in self.problems]
        return found


class SetSharer:
    """Puts sets into batches, and shares out those that would keep one worker busy while others have nothing to do.

    Args:
        table: the files.
        method: what proves that files are equal.
        splitter: makes the batches.
        pool: who does them.
        tuning: what is shared, and in which ranges.
        alone: whether only one batch may be worked on at a time, so that nothing is shared.
    """

    def __init__(
        self,
        table: FileTable,
        method: Method,
        splitter: SetSplitter,
        pool: Pool,
        tuning: Tuning = MEASURED,
        *,
        alone: bool = False,
    ) -> None:
        self._table = table
        self._has_digest = method.has_digest
        self._splitter = splitter
        self._pool = pool
        self._tuning = tuning
        self._workers = 1 if alone else pool.width
        self._shared: dict[int, _SharedSet] = {}  # by their first member
        self._hashing = 0  # files

    @property
    def is_waiting(self) -> bool:
        """Return whether there are sets with files that are still to be hashed."""
        return bool(self._shared)

    def batches(self, sets: Sequence[Sequence[int]]) -> Iterator[CandidateBatch]:
        """Yield batches of all sets, and of what is left to do of those shared before."""
        for batch in self._of_all(sets):
            yield from self._to_hash(self._workers - 1)  # one compares meanwhile: it may show that hashing is in vain
            yield batch
        yield from self._to_hash(None)

    def _of_all(self, sets: Sequence[Sequence[int]]) -> Iterator[CandidateBatch]:
        head = list(takewhile(self._is_large, sets)) if self._workers > 1 else []
        total = sum(map(self._cost, sets)) if head else 0
        costs = [(self._cost(s), self._hashing_cost(s)) for s in head]
        for members, is_shared in zip(head, shared_ones(costs, total, self._workers), strict=True):
            if is_shared and self._splitter.is_undivided(members):
                yield from self._ranges(members)
            else:
                yield from self._splitter.batches([members])
        yield from self._splitter.batches(sets[len(head) :])

    def _is_large(self, members: Sequence[int]) -> bool:
        size = self._table.size[members[0]]
        return size > self._tuning.small and size * len(members) >= self._tuning.share

    def _cost(self, members: Sequence[int]) -> int:
        """Return what a set costs, in bytes compared."""
        return self._table.size[members[0]] * len(members) + self._hashing_cost(members)

    def _hashing_cost(self, members: Sequence[int]) -> int:
        return self._table.size[members[0]] * self._tuning.hashing if self._has_digest else 0

    def _ranges(self, members: Sequence[int]) -> Iterator[CandidateBatch]:
        """Yield the ranges of a set as they are wanted, each with what may still be equal."""
        key = members[0]
        shared = self._shared[key] = _SharedSet(members, self._table.size[key], has_digest=self._has_digest)
        least, most = self._tuning.share_bytes
        granularity = self._tuning.granularity
        while shared.is_comparing():
            files = sum(map(len, shared.classes))
            wanted = min(max(least, shared.size * files // self._workers), most) // files
            yield self._piece(key, *shared.next_span(max(1, wanted // granularity) * granularity))

    def _to_hash(self, most: int | None) -> Iterator[CandidateBatch]:
        """Yield the files that are to be hashed, as long as no more than `most` are."""
        for key, shared in list(self._shared.items()):
            while unhashed := shared.unhashed():
                if most is not None and self._hashing >= most:
                    return
                i = unhashed[0]
                shared.tickets[i] = self._pool.ticket()
                self._hashing += 1
                span = Span(0, shared.size, [1], ticket=shared.tickets[i], counted=shared.compared)
                yield self._piece(key, [i], span)

    def _piece(self, key: int, members: Sequence[int], span: Span) -> SpanBatch:
        self._shared[key].pending += 1
        return SpanBatch(key, span, self._splitter.batch_of(members, needs_digest=bool(span.ticket)))

    def take(self, batch: CandidateBatch, result: ConfirmResult) -> Iterator[tuple[CandidateBatch, ConfirmResult]]:
        """Yield what is complete with this result: its batch, or the set that it was the last piece of, or nothing."""
        if not isinstance(batch, SpanBatch):
            yield batch, result
            return
        shared = self._shared[batch.key]
        shared.pending -= 1
        shared.bytes_read += result.bytes_read
        if result.problems:
            member_of = {self._table.path(i): i for s in batch for i in s.members}
            shared.fail({member_of[p.path]: p for p in result.problems})
        if batch.span.ticket:
            self._hashing -= 1
            shared.end_hashing(batch.span.ticket, result)
        else:
            shared.refine(result)
        for ticket in shared.unwanted():
            self._pool.withdraw(ticket)
        if shared.is_complete():
            del self._shared[batch.key]
            yield self._splitter.batch_of(shared.members), shared.result()
