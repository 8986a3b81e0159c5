"""One scan under way: what its phases hand to each other.  The order of the phases is `find`'s alone."""

from __future__ import annotations

import contextlib
import os
import time
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import compress
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from dedupe.cache.store import Cache
from dedupe.compare import fingerprint
from dedupe.compare.candidates import Verdict
from dedupe.compare.confirm import SMALL, Confirmer
from dedupe.compare.divergence import split_by_divergence
from dedupe.compare.fingerprint import Fingerprinter
from dedupe.compare.split_sets import SetSplitter
from dedupe.config import Confirm, ScanConfig
from dedupe.digests.base import Backend, BackendChoice
from dedupe.digests.choose import any_of, choose
from dedupe.errors import NothingUsableError
from dedupe.files.classes import Classes
from dedupe.files.columns import Column, column_getter
from dedupe.files.grouping import group_by_key
from dedupe.files.groups import FoundGroups, FurtherNames, volumes_of
from dedupe.folders.compare import FolderCounts
from dedupe.progress import Progress
from dedupe.result import ScanResult, Totals
from dedupe.scan.unite import unite_hard_links
from dedupe.storage import mounts
from dedupe.storage.paths import absolute, lies_below, outside
from dedupe.version import __version__
from dedupe.walk.listing import Listing
from dedupe.walk.walker import walk
from dedupe.workers.pool import Pool
from dedupe.workers.read_order import ReadOrder, readers_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

Sets: TypeAlias = "list[array[int]]"
_COMPARED = BackendChoice("none", "bytes are compared, so no digest is needed")
_UNUSED = BackendChoice("none", "no files were so alike that a digest was needed")


class Scan:
    """The phases of a scan, each a method; used as a context manager, so that what was learnt is kept."""

    def __init__(self, config: ScanConfig, progress: Progress, executor: Executor | None) -> None:
        self._roots = list(dict.fromkeys(absolute(os.fsencode(r)) for r in config.roots))
        self._clock = time.time_ns()
        self._begun = time.perf_counter()
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._config = config
        self._progress = progress
        bytes_only = config.confirm == Confirm.BYTES
        self._backend: Backend | None = None if bytes_only else any_of(config.confirm, config.backend)
        self._choice = _COMPARED if bytes_only else _UNUSED
        cache = os.fsencode(config.cache) if config.cache is not None else None
        scanned = lambda: any(lies_below(cache or b"", r) for r in self._roots)  # noqa: E731
        self._cache = Cache(cache, config.confirm, self._clock, scanned=scanned)
        mounts.forget()
        self._pool = Pool(readers_of(self._roots, config.jobs), executor)
        self._found = Listing()
        self._divergences: dict[int, bytes] = {}  # of the few files that have some
        self._names: FurtherNames = {}
        self._bytes_read = self._cache_hits = self._united = self._united_bytes = 0
        self._phases: dict[str, float] = {}

    def _choose(self) -> None:
        """Choose who computes digests, which may take a measurement: not before any is wanted."""
        kept = self._cache.measurements
        self._backend, self._choice = choose(self._config.confirm, self._config.backend, measurements=kept)

    def __enter__(self) -> Scan:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._progress.end()
        self._pool.stop(at_once=kind is not None)
        self._cache.close()

    @contextlib.contextmanager
    def _phase(self, name: str, total: int | None, *, in_bytes: bool = False) -> Iterator[None]:
        begun = time.perf_counter()
        self._progress.begin(name, total, in_bytes=in_bytes)
        yield
        self._progress.end()
        self._phases[name] = self._phases.get(name, 0.0) + time.perf_counter() - begun

    def walk(self) -> None:
        """List all files below the roots."""
        own = (*self._config.own_files, *self._cache.files)
        with self._phase("walk", None):
            listing = walk(self._config, self._roots, self._pool, own, reach=self._progress.reach)
            self._found = listing
        roots = frozenset(self._roots)
        lost = [p for p in listing.problems if p.path in roots]
        if lost and not len(listing.table) and len({p.path for p in lost}) == len(self._roots):
            first = lost[0]
            raise NothingUsableError(f"Nothing could be scanned: {os.fsdecode(outside(first.path))} {first.message}.")
        self._cache.remember_roots(self._roots, self._started)

    def same_size(self) -> Sets:
        """Return the sets of two or more names whose files have one size."""
        table = self._found.table
        return list(group_by_key(range(len(table)), column_getter(table.size)))

    def one_name_each(self, sets: Sets) -> Sets:
        """Return the sets with one name for each physical file; its other names are kept with what they are."""
        found = unite_hard_links(self._found.table, sets, follow=self._config.follow_symlinks)
        self._names = found.names
        self._united, self._united_bytes = found.files, found.bytes
        return found.sets

    def recall(self, sets: Sets) -> None:
        """Take over what the cache still vouches for."""
        table = self._found.table
        self._prints = Column(fingerprint.WIDTH)
        self._digests = Column(len(self._backend.hasher(self._config.confirm).digest()) if self._backend else 0)
        if not self._cache.usable:
            return
        with self._phase("recall", None):
            members = self._as_listed(i for s in sets for i in s)
            for found in self._cache.recall(table, members, self._pool):
                self._prints.put_all(found.members, found.prints)
                if set(map(len, found.digests)) == {self._digests.width}:  # another program may have written there
                    self._digests.put_all(found.digested, found.digests)
                self._divergences.update(found.divergences)
                self._cache_hits += len(found.members)

    def _as_listed(self, members: Iterable[int]) -> array[int]:
        """Return files in the order in which they were listed: what lies together is read and looked up together."""
        asked = bytearray(len(self._found.table))
        for i in members:
            asked[i] = 1
        return array("I", compress(range(len(asked)), asked))

    def same_fingerprint(self, sets: Sets) -> Sets:
        """Return the sets of two or more files of one size and fingerprint; files that cannot be read drop out."""
        table, prints = self._found.table, self._prints
        unknown = self._as_listed(i for s in sets for i in s if i not in prints)
        done = 0
        with self._phase("fingerprint", len(unknown)):
            self._pool.start_if_worthwhile(len(unknown))
            pace = fingerprint.pace()
            batches = fingerprint.batches(table, array("I", self._reading.in_order(unknown, int)), pace)
            for batch, found in self._pool.run(
                Fingerprinter(self._config.follow_symlinks), batches, at_once=self._reading.at_once
            ):
                pace.took(len(batch.members), found.seconds)
                prints.put_all(batch.members, found.values)
                if self._cache.usable:
                    self._cache.remember(table, [i for i in batch.members if i in prints], prints.get)
                self._found.problems += found.problems
                self._bytes_read += found.bytes_read
                done += len(batch.members)
                self._progress.reach(done)
            known = (s if prints.has_all(s) else array("I", (i for i in s if i in prints)) for s in sets)
            words = prints.first_words()
            likely = [same for s in known for same in group_by_key(s, column_getter(words))]
            if self._backend is not None:
                self._cache.await_digests(i for s in likely for i in s)
            return likely

    def same_content(self, sets: Sets) -> Classes:
        """Return classes of two or more files of proven equal content, each with its digest."""
        table = self._found.table
        if sets and self._backend is not None:
            self._choose()
        if self._divergences:
            parts = (part for s in sets for part in split_by_divergence(s, lambda i: self._divergences.get(i, b"")))
            sets = [array("I", part) for part in parts if len(part) > 1]
        task = Confirmer(self._config.confirm, self._backend, self._config.follow_symlinks)
        partition = SetSplitter(
            table, self._digests.get_all if self._digests else None, proven=self._backend is not None
        )
        total = sum(table.size[s[0]] * self._digests.missing(s) for s in sets)
        with self._phase("confirm", total, in_bytes=True):
            self._pool.start_if_worthwhile(size=total)
            begun = self._pool.counted()
            # what takes long first, so that no core is left alone with it; small files as they lie, for the disk's sake
            pending: Sequence[Sequence[int]] = sorted(
                sets, key=lambda s: (-table.size[s[0]] * len(s) if table.size[s[0]] > SMALL else 0, s[0])
            )
            while pending:
                batches = partition.batches(self._reading.in_order(pending, itemgetter(0)))
                for batch, verdict in self._pool.run(
                    task, batches, at_once=self._reading.at_once, tick=lambda n: self._tick(n - begun)
                ):
                    self._take(verdict)
                    partition.take(batch, verdict)
                pending, partition.again = partition.again, []
        return partition.done

    def _tick(self, done: int) -> None:
        """Tell how far confirming is, and have the cache write what is due, however long one file takes."""
        self._progress.reach(done)
        self._cache.commit_if_due()

    def _take(self, verdict: Verdict) -> None:
        """Count and remember what a verdict says."""
        self._found.problems += verdict.problems
        self._bytes_read += verdict.bytes_read
        if self._backend is not None and self._cache.usable:
            divergences = {i: told for told, members in verdict.apart for i in members}
            digests = {i: digest for digest, members in verdict.classes if digest is not None for i in members}
            self._cache.remember(self._found.table, {**digests, **divergences}, self._prints.get, digests, divergences)

    @cached_property
    def _reading(self) -> ReadOrder:
        return ReadOrder(self._found.table, self._config.jobs, follow=self._config.follow_symlinks)

    def result(self, classes: Classes) -> ScanResult:
        """Return the groups in their order, with everything that there is to tell of the scan."""
        found, table = self._found, self._found.table
        groups = FoundGroups(table, classes, self._names, self._config.confirm)
        problems = sorted((replace(p, path=outside(p.path)) for p in found.problems), key=lambda p: (p.path, p.kind))
        self._cache.close()
        return ScanResult(
            version=__version__,
            started=self._started,
            seconds=round(time.perf_counter() - self._begun, 3),
            roots=[outside(r) for r in self._roots],
            confirm=self._config.confirm,
            backend=self._choice,
            totals=Totals(
                files=len(table) - self._united,
                bytes=sum(table.size) - self._united_bytes,
                skipped=dict(sorted(found.skipped.items())),
                groups=len(groups),
                redundant_files=groups.redundant_files,
                reclaimable_bytes=groups.reclaimable_bytes,
                bytes_read=self._bytes_read,
                cache_hits=self._cache_hits,
                problems=len(problems),
            ),
            groups=groups,
            problems=problems,
            volumes=volumes_of(table),
            notes=tuple(self._cache.notes),
            folders=FolderCounts(self._listed, [outside(path) for path in found.unlisted]),
            phases=self._phases,
        )

    def _listed(self) -> Iterator[tuple[bytes, int, int, int]]:
        """Yield what lies directly in each listed folder, under the names that the user knows."""
        for folder, *numbers in self._found.table.listed():
            files, sizes, left_out = numbers
            yield outside(folder), files, sizes, left_out
