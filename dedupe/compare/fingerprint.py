"""Samples of a file to an xxh3-128 fingerprint, which only ever tells files apart: equal ones are not thereby proven.

Algorithm: XXH3, 128 bits, canonical (big-endian) digest: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import xxhash

from dedupe.files.columns import gather_array
from dedupe.files.table import FileTable
from dedupe.result import Problem, ProblemKind
from dedupe.storage import file_stat, problems
from dedupe.workers import counters
from dedupe.workers.batch_size import BatchSize

LAYOUT = 1  # raise whenever the same file would get another fingerprint: remembered ones are then not believed
WIDTH = 16  # bytes of a fingerprint
WHOLE = 32 << 10  # files up to this size are covered whole
SAMPLE = 4 << 10  # bytes of each sample: a page, so that one sample costs one read from a disk
_LARGE = 64 << 20  # from this size on, places between head and tail are sampled too
_BETWEEN = 3
_FIRST, _LEAST, _MOST = 512, 16, 8192  # files handed to a worker at once


def places(size: int) -> tuple[tuple[int, int], ...]:
    """Return the (offset, length) of each sample of a file of `size` bytes, in rising order."""
    if size <= WHOLE:
        return ((0, size),)
    between = _BETWEEN if size >= _LARGE else 0
    step = (size - SAMPLE) // (between + 1)
    inner = ((step * n // SAMPLE * SAMPLE, SAMPLE) for n in range(1, between + 1))
    return ((0, SAMPLE), *inner, (size - SAMPLE, SAMPLE))


@dataclass(frozen=True, slots=True)
class Batch:
    """Files to fingerprint."""

    members: Sequence[int]  # what the caller knows them by
    paths: Iterable[bytes]
    sizes: Sequence[int]  # bytes


@dataclass(slots=True)
class Fingerprints:
    """Results for one batch: `WIDTH` bytes a file, None where a problem stands."""

    values: list[bytes | None] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    bytes_read: int = 0
    seconds: float = 0.0  # that it took


@dataclass(frozen=True, slots=True)
class Fingerprinter:
    """Fingerprints batches of files; a picklable task for `Pool`."""

    follow: bool = False

    def __call__(self, batch: Batch) -> Fingerprints:
        """Fingerprint every file of a batch by plain reads: a map pays only for far more than a page."""
        begun = time.perf_counter()
        found = Fingerprints()
        for path, size in zip(batch.paths, batch.sizes, strict=True):
            value = None
            try:
                value = self._one(path, size)
                if value is None:
                    found.problems.append(problems.of_kind(path, ProblemKind.SHORT_READ))
            except OSError as error:
                found.problems.append(problems.of_error(path, error))
            found.values.append(value)
            found.bytes_read += size if size <= WHOLE else SAMPLE * (2 if size < _LARGE else 2 + _BETWEEN)
        counters.advance(0)
        found.seconds = time.perf_counter() - begun
        return found

    def lost(self, batch: Batch) -> Fingerprints:
        """Return problems for a batch whose workers died."""
        message = "could not be read: its reader died"
        return Fingerprints([None] * len(batch.members), [Problem(p, ProblemKind.IO, message) for p in batch.paths])

    def _one(self, path: bytes, size: int) -> bytes | None:
        """Return a file's fingerprint, or None where it ends before `size`."""
        if size <= WHOLE:
            data = file_stat.content(path, size, follow=self.follow)
            return xxhash.xxh3_128_digest(data) if len(data) == size else None
        state = xxhash.xxh3_128()
        descriptor = file_stat.open_file(path, follow=self.follow)
        try:
            for offset, length in places(size):
                data = file_stat.read_at(descriptor, length, offset)
                if len(data) != length:
                    return None
                state.update(data)
            return state.digest()
        finally:
            os.close(descriptor)


def batch_size() -> BatchSize:
    """Return how many files the next batch should hold, to be told how long each batch took."""
    return BatchSize(_FIRST, least=_LEAST, most=_MOST)


def batches(table: FileTable, members: Sequence[int], size: BatchSize) -> Iterator[Batch]:
    """Yield batches of files that need a fingerprint."""
    first = 0
    while part := members[first : first + size.amount]:
        yield Batch(part, table.packed_paths(part), gather_array(part)(table.size))
        first += len(part)
