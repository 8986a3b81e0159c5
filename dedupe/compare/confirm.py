"""Sets of likely equal files to classes of proven equal content.  Decides nothing by a fingerprint.

The files of a set are read in step, window by window.  Each window is compared with that of the first file of its
class; only the first file of a class is hashed.  A file alone in its class is not read any further.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import xxhash

from dedupe.compare.candidates import CandidateSet, ConfirmResult, Span
from dedupe.compare.divergence import divergence_at
from dedupe.compare.method import Method
from dedupe.compare.open_file import OpenFile
from dedupe.compare.tuning import MEASURED, Tuning
from dedupe.digests.base import Hasher
from dedupe.result import Problem, ProblemKind, Proof
from dedupe.storage import file_stat, problems
from dedupe.storage.opener import Opener
from dedupe.storage.readers import reader
from dedupe.workers import counters


@dataclass(slots=True)
class _Class:
    """Files that were equal so far, and the digest of what they share."""

    files: list[OpenFile]
    hasher: Hasher | None
    divergences: bytes = b""  # of where others were different


class Confirmer(NamedTuple):
    """Splits the sets of a batch into classes of equal files; a picklable task for `Pool`."""

    method: Method
    opener: Opener
    tuning: Tuning = MEASURED
    may_mmap: bool = False  # large files, where their file system may be mapped

    def with_maps(self) -> Confirmer:
        """Return one that maps large files: a file truncated under its map kills the process."""
        return self._replace(may_mmap=True)

    def __call__(self, batch: Iterable[CandidateSet]) -> ConfirmResult:
        """Return what became of all sets of a batch."""
        begun = time.perf_counter()
        result = ConfirmResult()
        for s in batch:
            if s.size <= self.tuning.small:
                self._small(s, result)
            else:
                self._large(s, result, may_mmap=self.may_mmap and s.may_mmap)
        result.seconds = time.perf_counter() - begun
        return result

    def lost(self, batch: Iterable[CandidateSet]) -> ConfirmResult:
        """Return problems for a batch whose workers died, also with plain reads."""
        message = "could not be read: its reader died"
        return ConfirmResult(problems=[Problem(p, ProblemKind.IO, message) for s in batch for p in s.paths])

    def _small(self, s: CandidateSet, result: ConfirmResult) -> None:
        """Split files that fit in memory: read each at once, compare it with the first of each class."""
        contents, members = self._contents(s, result)
        if contents and contents.count(contents[0]) == len(contents):  # nearly always
            parts: Sequence[tuple[bytes, Sequence[int]]] = [(contents[0], members)]
        else:
            parts = _parts(contents, members)
            result.apart += [(divergence_at(0, content), part) for content, part in parts] if len(parts) > 1 else ()
        for content, part in parts:
            if len(part) > 1 or s.needs_digest:
                hasher = self.method.hasher(s.size, content, needs_digest=s.needs_digest)
                result.classes.append(hasher.digest() if hasher else None, part, _proof(part))
        result.bytes_read += s.size * len(s.paths)
        counters.advance(s.size * len(s.paths))

    def _contents(self, s: CandidateSet, result: ConfirmResult) -> tuple[list[bytes], Sequence[int]]:
        """Return all bytes of each file of a set that can be read and has not changed, and those files."""
        contents = []
        failed = set()
        for n, path, expected in zip(range(len(s.paths)), s.paths, s.stats, strict=True):
            try:
                data, seen = self.opener.read_with_stat(path, s.size)
            except OSError as error:
                result.problems.append(problems.of_error(path, error))
                failed.add(n)
                continue
            unchanged = seen == expected or file_stat.is_unchanged(expected, seen)
            if unchanged and len(data) == s.size:
                contents.append(data)
            else:
                kind = ProblemKind.SHORT_READ if unchanged else ProblemKind.CHANGED
                result.problems.append(problems.of_kind(path, kind))
                failed.add(n)
        return contents, [m for n, m in enumerate(s.members) if n not in failed] if failed else s.members

    def _large(self, s: CandidateSet, result: ConfirmResult, *, may_mmap: bool) -> None:
        """Split files window by window, again without those that failed or changed, until none does."""
        left = list(range(len(s.paths)))
        while len(left) > 1 or (left and s.needs_digest):
            bad: dict[int, Problem] = {}
            found = ConfirmResult()
            with ExitStack() as stack:
                files = self._open(s, left, bad, stack, may_mmap=may_mmap)
                classes = self._in_step(s, files, bad, found) if not bad else []
                self._look_again(s, [f for c in classes for f in c.files], bad)
            result.problems += bad.values()
            result.bytes_read += found.bytes_read
            if not bad:
                for c in classes:
                    members = [s.members[f.position] for f in c.files]
                    result.classes.append(c.hasher.digest() if c.hasher else None, members, _proof(members))
                    if c.divergences:
                        found.apart.append((c.divergences, members))
                result.apart += found.apart
                break
            left = [i for i in left if i not in bad]

    def _open(
        self, s: CandidateSet, positions: Sequence[int], bad: dict[int, Problem], stack: ExitStack, *, may_mmap: bool
    ) -> list[OpenFile]:
        files = []
        for i in positions:
            try:
                descriptor = self.opener.open(s.paths[i])
                file = OpenFile(i, descriptor, reader(descriptor, may_mmap=may_mmap))
                stack.callback(file.close)
                if not file_stat.is_unchanged(s.stats[i], file_stat.of_descriptor(descriptor)):
                    bad[i] = problems.of_kind(s.paths[i], ProblemKind.CHANGED)
                files.append(file)
            except OSError as error:
                bad[i] = problems.of_error(s.paths[i], error)
        return files

    def _in_step(
        self, s: CandidateSet, files: list[OpenFile], bad: dict[int, Problem], result: ConfirmResult
    ) -> list[_Class]:
        """Read all files in step and return the classes left at the end; stop early once a file fails."""
        tuning = self.tuning
        span = s.span or Span(0, s.size, (len(s.paths),))
        hasher = self.method.hasher(s.size, needs_digest=s.needs_digest) if span.ticket or not s.span else None
        classes = [_Class(part, hasher) for part in _equal_so_far(files, span.classes)]
        most = min(tuning.window, tuning.windows // len(files))
        window = max(tuning.granularity, most // tuning.granularity * tuning.granularity)
        for offset in range(span.begin, span.end, window):
            length = min(window, span.end - offset)
            for file in (f for c in classes for f in c.files):
                try:
                    file.advance(offset, length)
                except EOFError:
                    bad[file.position] = problems.of_kind(s.paths[file.position], ProblemKind.SHORT_READ)
                except OSError as error:
                    bad[file.position] = problems.of_error(s.paths[file.position], error)
            if bad:
                return []
            for at in range(0, length, tuning.step):
                step = min(tuning.step, length - at)
                counted = sum(len(c.files) - (c.files[0].position in span.hashed) for c in classes)
                count = counted * max(0, min(step, offset + at + step - span.counted))
                parts = [part for c in classes for part in _split(c, offset, at, step)]
                classes = [c for c in parts if len(c.files) > 1 or s.needs_digest]
                dropped = [c for c in parts if len(c.files) == 1 and not s.needs_digest]
                for c in classes:
                    if c.hasher is not None:
                        c.files[0].feed(c.hasher, at, step)
                result.bytes_read += count
                counters.advance(count)
                self._look_again(s, [c.files[0] for c in dropped], bad)
                for c in dropped:
                    result.apart.append((c.divergences, [s.members[c.files[0].position]]))
                    c.files[0].close()
                if span.ticket and counters.is_withdrawn(span.ticket):
                    return []
                if bad:  # what the changed file was compared with proves nothing: it may have stood for others
                    return []
            if not classes:
                break
        return classes

    def _look_again(self, s: CandidateSet, files: Sequence[OpenFile], bad: dict[int, Problem]) -> None:
        """Find the files that changed while they were read."""
        for file in files:
            if not file_stat.is_unchanged(s.stats[file.position], file_stat.of_descriptor(file.descriptor)):
                bad[file.position] = problems.of_kind(s.paths[file.position], ProblemKind.CHANGED)


def _proof(members: Sequence[int]) -> Proof:
    """Return how the members of a class are proven: a file alone is known by its digest only."""
    return Proof.COMPARED if len(members) > 1 else Proof.HASHED


def _equal_so_far(files: Sequence[OpenFile], counts: Sequence[int]) -> list[list[OpenFile]]:
    """Return the files that are left of each class, given how many members each had, in their order."""
    ends = list(accumulate(counts))
    parts: list[list[OpenFile]] = [[] for _ in ends]
    for file in files:
        parts[bisect_right(ends, file.position)].append(file)
    return [part for part in parts if part]


def _split(c: _Class, offset: int, at: int, length: int) -> list[_Class]:
    """Return the parts of a class whose next bytes are equal: `length` of them, `at` in the window at `offset`."""
    from dedupe.digests.memory import equal

    parts, files = [], c.files
    while files:
        address = files[0].address() + at
        same = [f for f in files if f is files[0] or equal(address, f.address() + at, length)]
        parts.append(same)
        files = [f for f in files if f not in same] if len(same) < len(files) else []
    if len(parts) == 1:
        return [c]
    hashers = [c.hasher] + [c.hasher.copy() if c.hasher else None for _ in parts[1:]]
    return [
        _Class(same, hasher, c.divergences + same[0].divergence_at(offset, at, length))
        for same, hasher in zip(parts, hashers, strict=True)
    ]


def _parts(contents: Sequence[bytes], members: Sequence[int]) -> list[tuple[bytes, list[int]]]:
    """Return each content that there is, and the members that have it."""
    found: dict[bytes, list[tuple[bytes, list[int]]]] = {}
    for content, member in zip(contents, members, strict=True):
        same_key = found.setdefault(xxhash.xxh3_128_digest(content), [])
        for other, part in same_key:
            if other == content:
                part.append(member)
                break
        else:
            same_key.append((content, [member]))
    return [part for same_key in found.values() for part in same_key]
