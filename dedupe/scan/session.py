"""What the phases of one run share: workers, cache, progress, and how files are opened.  Finds and keeps no file."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dedupe.cache.store import AnyCache, open_cache
from dedupe.compare.method import Method
from dedupe.compare.tuning import MEASURED, Tuning
from dedupe.config import ScanConfig
from dedupe.digests.base import BackendChoice
from dedupe.errors import UsageError
from dedupe.progress import Progress
from dedupe.storage import mounts, volumes
from dedupe.storage.opener import Opener
from dedupe.storage.paths import absolute, lies_below
from dedupe.workers.pool import Pool
from dedupe.workers.schedule import Schedule

if TYPE_CHECKING:
    from concurrent.futures import Executor


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The means of one run; used as a context manager, so that workers end and what was learnt is kept."""

    roots: Sequence[bytes]  # absolute, each once
    method: Method
    backend: str  # as the user asked for it
    cache: AnyCache
    schedule: Schedule
    pool: Pool
    progress: Progress
    opener: Opener
    tuning: Tuning = MEASURED
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    begun: float = field(default_factory=time.perf_counter)
    phases: dict[str, float] = field(default_factory=dict)  # seconds of each that has ended

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.progress.end()
        self.pool.stop(abort=kind is not None)
        self.cache.close()

    @contextlib.contextmanager
    def phase(self, name: str, total: int | None = None, *, in_bytes: bool = False) -> Iterator[None]:
        """Show the progress of a phase while it lasts, and measure it."""
        begun = time.perf_counter()
        self.progress.begin(name, total, in_bytes=in_bytes)
        yield
        self.progress.end()
        self.phases[name] = self.phases.get(name, 0.0) + time.perf_counter() - begun

    def tick(self, done: int) -> None:
        """Tell how far a phase is, and have the cache write what is due, however long one file takes."""
        self.progress.reach(done)
        self.cache.commit_if_due()

    def chosen_method(self) -> tuple[Method, BackendChoice]:
        """Return the method with the fastest backend, and why that is taken; see `Method.chosen`."""
        return self.method.chosen(self.backend, self.cache.measurements)


def scan_session(config: ScanConfig, progress: Progress, executor: Executor | None, tuning: Tuning) -> Session:
    """Return the means of a scan.

    Raises:
        BackendError: the digest backend asked for is not available here.
        UsageError: a cluster is asked for that cannot be used.
        NothingUsableError: no scheduler answers.
    """
    clock = time.time_ns()
    roots = list(dict.fromkeys(absolute(os.fsencode(r)) for r in config.roots))
    method = Method.of(config.confirm, config.backend)  # what nobody can do makes no cache
    path = os.fsencode(config.cache) if config.cache is not None else None
    scanned = lambda: any(lies_below(path or b"", r) for r in roots)  # noqa: E731
    mounts.forget()
    volumes.forget()
    opener = Opener(follow=config.follow_symlinks)
    schedule = Schedule(roots, config.jobs, opener=opener, tuning=tuning.workers)
    workers = None
    if config.cluster is not None:
        from dedupe.cluster.connect import connect  # brings dask

        if executor is not None:
            raise UsageError("Give a cluster or an executor, not both: either does all of the reading.")
        pairs = [(os.fsencode(there), os.fsencode(here)) for there, here in config.worker_roots]
        workers = connect(config.cluster, roots, pairs, schedule.readers, tuning.workers)
    return Session(
        roots=roots,
        method=method,
        backend=config.backend,
        cache=open_cache(path, method.algorithm, clock, scanned=scanned),
        schedule=schedule,
        pool=schedule.pool(executor, workers),
        progress=progress,
        opener=opener,
        tuning=tuning,
    )
