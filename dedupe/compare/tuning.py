"""Amounts on which no result depends, only what it costs.  Reads nothing."""

from __future__ import annotations

from typing import NamedTuple

from dedupe.storage.readers import GRANULARITY
from dedupe.workers.tuning import WorkerTuning


class Tuning(NamedTuple):
    """The amounts by which files are fingerprinted and compared; the defaults were measured.

    Another value is for tests and experiments.  The first four say which bytes a fingerprint covers: with others, no
    cache may be used that was filled with the defaults.
    """

    whole: int = 32 << 10  # bytes; files up to this size are covered whole
    sample: int = 4 << 10  # bytes of each sample: a page, so that one sample costs one read from a disk
    large: int = 64 << 20  # bytes; from this size on, places between head and tail are sampled too
    between: int = 3  # such places
    fingerprint_files: tuple[int, int, int] = (512, 16, 8192)  # handed to a worker at once: first, least, most

    small: int = 256 << 10  # bytes; smaller files cost less to read whole than to map
    open_files: int = 48  # at one time in a worker
    window: int = 8 << 20  # bytes read or mapped of a file at a time, at most
    windows: int = 64 << 20  # bytes of all windows of a set together, at most
    share: int = 64 << 20  # bytes of a set from which it may be shared out by ranges
    share_bytes: tuple[int, int] = (16 << 20, 128 << 20)  # of all files in one range: least, most; some milliseconds
    hashing: int = 6  # files compared in the time that one is hashed: 8 to 11 GB/s against SHA-256's 1.4 to 1.8
    step: int = 1 << 20  # bytes compared and hashed at a time, so that a first file's are still in the core's cache
    granularity: int = GRANULARITY  # bytes of which the size of a window is a multiple

    batch: tuple[int, int, int] = (16 << 20, 1 << 20, 256 << 20)  # bytes handed to a worker: first, least, most
    opening: int = 32 << 10  # bytes that could be read in the time that opening a file takes
    part_files: int = 1024  # small files compared together, whose contents are in memory at once
    part_bytes: int = 32 << 20  # of those contents

    hash_files: int = 64  # files handed to a worker at once where each is hashed by itself
    hash_bytes: int = 8 << 20  # of those files; some milliseconds of work

    workers: WorkerTuning | None = None  # how work is handed out; None for what was measured there

    stat_files: int = 4096  # files that a worker looks at once more at a time: some ten milliseconds
    stat_batches: int = 64  # of them handed out at one time: some 20 MB


MEASURED = Tuning()
