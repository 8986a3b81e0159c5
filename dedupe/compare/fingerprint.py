"""Samples of a file to an xxh3-128 fingerprint, which only ever tells files apart: equal ones are not thereby proven.

Algorithm: XXH3, 128 bits, canonical (big-endian) digest: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import xxhash

from dedupe.compare.tuning import MEASURED, Tuning
from dedupe.files.columns import gather_array
from dedupe.files.selection import SelectedPaths
from dedupe.files.table import FileTable
from dedupe.result import Problem, ProblemKind
from dedupe.storage import problems
from dedupe.storage.opener import Opener, read_at
from dedupe.workers import counters
from dedupe.workers.batch_size import BatchSize

LAYOUT = 1  # raise whenever the same file would get another fingerprint: remembered ones are then not believed
WIDTH = 16  # bytes of a fingerprint


def places(size: int, tuning: Tuning = MEASURED) -> tuple[tuple[int, int], ...]:
    """Return the (offset, length) of each sample of a file of `size` bytes, in rising order."""
    if size <= tuning.whole:
        return ((0, size),)
    sample, between = tuning.sample, tuning.between if size >= tuning.large else 0
    step = (size - sample) // (between + 1)
    inner = ((step * n // sample * sample, sample) for n in range(1, between + 1))
    return ((0, sample), *inner, (size - sample, sample))


class Batch(NamedTuple):
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


class Fingerprinter(NamedTuple):
    """Fingerprints batches of files; a picklable task for `Pool`."""

    opener: Opener
    tuning: Tuning = MEASURED

    def __call__(self, batch: Batch) -> Fingerprints:
        """Fingerprint every file of a batch by plain reads: a map pays only for far more than a page."""
        begun = time.perf_counter()
        found, tuning = Fingerprints(), self.tuning
        for path, size in zip(batch.paths, batch.sizes, strict=True):
            value = None
            try:
                value = self._one(path, size)
                if value is None:
                    found.problems.append(problems.of_kind(path, ProblemKind.SHORT_READ))
            except OSError as error:
                found.problems.append(problems.of_error(path, error))
            found.values.append(value)
            found.bytes_read += (
                size if size <= tuning.whole else tuning.sample * (2 if size < tuning.large else 2 + tuning.between)
            )
        counters.advance(0)
        found.seconds = time.perf_counter() - begun
        return found

    def lost(self, batch: Batch) -> Fingerprints:
        """Return problems for a batch whose workers died."""
        message = "could not be read: its reader died"
        return Fingerprints([None] * len(batch.members), [Problem(p, ProblemKind.IO, message) for p in batch.paths])

    def _one(self, path: bytes, size: int) -> bytes | None:
        """Return a file's fingerprint, or None where it ends before `size`."""
        if size <= self.tuning.whole:
            data = self.opener.read(path, size)
            return xxhash.xxh3_128_digest(data) if len(data) == size else None
        state = xxhash.xxh3_128()
        descriptor = self.opener.open(path)
        try:
            for offset, length in places(size, self.tuning):
                data = read_at(descriptor, length, offset)
                if len(data) != length:
                    return None
                state.update(data)
            return state.digest()
        finally:
            os.close(descriptor)


def batch_size(tuning: Tuning = MEASURED) -> BatchSize:
    """Return how many files the next batch should hold, to be told how long each batch took."""
    first, least, most = tuning.fingerprint_files
    return BatchSize(first, least=least, most=most)


def batches(table: FileTable, members: Sequence[int], size: BatchSize) -> Iterator[Batch]:
    """Yield batches of files that need a fingerprint."""
    first = 0
    while part := members[first : first + size.amount]:
        yield Batch(part, SelectedPaths(table, part), gather_array(part)(table.size))
        first += len(part)
