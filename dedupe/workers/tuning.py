"""The measured numbers by which work is handed out, in one value, so that a test can have others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerTuning:
    """When workers start, how they are kept busy, and how they end."""

    default: ClassVar[WorkerTuning]  # taken where no other is given

    warm_files: int = 3000  # files seen by the walk from which workers pay for their start
    warm_bytes: int = 32 << 20  # bytes to confirm from which they do
    start_method: Literal["fork", "forkserver", "spawn"] | None = None  # None: the quickest that is safe
    ahead: int = 2  # batches a worker that are handed out at once: one in work, one waiting
    # Batches handed at once to an executor that does not say how many workers it has.  A cluster may have hundreds; a
    # batch that waits costs its few KiB and no more, a worker that waits costs its work.
    ahead_of_unknown: int = 256
    tick_seconds: float = 0.1  # between looks at the counters; lets Ctrl-C through on Windows before Python 3.14
    grace_seconds: float = 0.3  # that workers have to end by themselves when they are broken off
    # Asking where a file begins takes 6.0 us when everything is in memory, and reading 4 KiB of it 4.5 us (best of
    # three turns over 20,000 files of ext4, CPU time): cheap beside one travel of the head, but a scan that needs none
    # must not take twice as long for it.  So it costs 60 ms at most.
    places_asked: int = 10_000


WorkerTuning.default = WorkerTuning()
