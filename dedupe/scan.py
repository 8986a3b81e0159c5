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

from dedupe import fingerprint, mounts
from dedupe.cache import Cache
from dedupe.classes import Classes
from dedupe.columns import Column, keys_in
from dedupe.config import Confirm, ScanConfig
from dedupe.confirm import SMALL, Confirmer
from dedupe.digests.base import Backend, BackendChoice
from dedupe.digests.choose import any_of, choose
from dedupe.entries import alike
from dedupe.errors import NothingUsableError
from dedupe.fingerprint import Fingerprinter
from dedupe.folders import FolderCounts
from dedupe.groups import FoundGroups
from dedupe.listing import Listing
from dedupe.marks import tell_apart
from dedupe.partition import Partition
from dedupe.paths import absolute, lies_below, outside
from dedupe.pool import Pool
from dedupe.progress import Progress
from dedupe.reading import Reading, readers_of
from dedupe.result import ScanResult, Totals
from dedupe.suspects import Verdict
from dedupe.version import __version__
from dedupe.walk import walk

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
        self._marks: dict[int, bytes] = {}  # of the few files that have some
        self._links: dict[int, list[int]] = {}  # other names of a physical file, by its first
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
            for listing in walk(self._config, self._roots, self._pool, own):
                self._progress.reach(len(listing.entries))
            self._found = listing
        roots = frozenset(self._roots)
        lost = [p for p in listing.problems if p.path in roots]
        if lost and not len(listing.entries) and len({p.path for p in lost}) == len(self._roots):
            first = lost[0]
            raise NothingUsableError(f"Nothing could be scanned: {os.fsdecode(outside(first.path))} {first.message}.")
        self._cache.remember_roots(self._roots, self._started)

    def same_size(self) -> Sets:
        """Return the sets of two or more names whose files have one size."""
        entries = self._found.entries
        return list(alike(range(len(entries)), keys_in(entries.size)))

    def one_name_each(self, sets: Sets) -> Sets:
        """Return the sets with one name for each physical file; its other names are kept as links."""
        entries, united = self._found.entries, []
        inodes_of = keys_in(entries.inode)
        for members in sets:
            extra: set[int] = set()
            # nearly never do any share an inode; what they are is looked at then
            for names in (n for same in alike(members, inodes_of) for n in alike(same, entries.identities)):
                by_path = {entries.path(i): i for i in names}  # a root inside a root can bring one path twice
                first, *others = (by_path[p] for p in sorted(by_path))
                extra.update(names)
                extra.discard(first)
                if others:
                    self._links[first] = others
            if extra:
                self._united += len(extra)
                self._united_bytes += entries.size[members[0]] * len(extra)
            if len(members) - len(extra) > 1:
                united.append(array("I", (i for i in members if i not in extra)) if extra else members)
        return united

    def recall(self, sets: Sets) -> None:
        """Take over what the cache still vouches for."""
        entries = self._found.entries
        self._prints = Column(fingerprint.WIDTH)
        self._digests = Column(len(self._backend.hasher(self._config.confirm).digest()) if self._backend else 0)
        if not self._cache.usable:
            return
        with self._phase("recall", None):
            members = self._as_listed(i for s in sets for i in s)
            for found in self._cache.recall(entries, members, self._pool):
                self._prints.put_all(found.members, found.prints)
                if set(map(len, found.digests)) == {self._digests.width}:  # another program may have written there
                    self._digests.put_all(found.digested, found.digests)
                self._marks.update(found.marks)
                self._cache_hits += len(found.members)

    def _as_listed(self, members: Iterable[int]) -> array[int]:
        """Return files in the order in which they were listed: what lies together is read and looked up together."""
        asked = bytearray(len(self._found.entries))
        for i in members:
            asked[i] = 1
        return array("I", compress(range(len(asked)), asked))

    def same_fingerprint(self, sets: Sets) -> Sets:
        """Return the sets of two or more files of one size and fingerprint; files that cannot be read drop out."""
        entries, prints = self._found.entries, self._prints
        unknown = self._as_listed(i for s in sets for i in s if i not in prints)
        done = 0
        with self._phase("fingerprint", len(unknown)):
            self._pool.is_warm(len(unknown))
            pace = fingerprint.pace()
            batches = fingerprint.batches(entries, array("I", self._reading.in_order(unknown, int)), pace)
            for batch, found in self._pool.run(
                Fingerprinter(self._config.follow_symlinks), batches, at_once=self._reading.at_once
            ):
                pace.took(len(batch.members), found.seconds)
                prints.put_all(batch.members, found.values)
                if self._cache.usable:
                    self._cache.remember(entries, [i for i in batch.members if i in prints], prints.get)
                self._found.problems += found.problems
                self._bytes_read += found.bytes_read
                done += len(batch.members)
                self._progress.reach(done)
            known = (s if prints.has_all(s) else array("I", (i for i in s if i in prints)) for s in sets)
            words = prints.first_words()
            likely = [same for s in known for same in alike(s, keys_in(words))]
            if self._backend is not None:
                self._cache.await_digests(i for s in likely for i in s)
            return likely

    def same_content(self, sets: Sets) -> Classes:
        """Return classes of two or more files of proven equal content, each with its digest."""
        entries = self._found.entries
        if sets and self._backend is not None:
            self._choose()
        if self._marks:
            parts = (part for s in sets for part in tell_apart(s, lambda i: self._marks.get(i, b"")))
            sets = [array("I", part) for part in parts if len(part) > 1]
        task = Confirmer(self._config.confirm, self._backend, self._config.follow_symlinks)
        partition = Partition(
            entries, self._digests.get_all if self._digests else None, proven=self._backend is not None
        )
        total = sum(entries.size[s[0]] * self._digests.missing(s) for s in sets)
        with self._phase("confirm", total, in_bytes=True):
            self._pool.is_warm(size=total)
            begun = self._pool.counted()
            # what takes long first, so that no core is left alone with it; small files as they lie, for the disk's sake
            waiting: Sequence[Sequence[int]] = sorted(
                sets, key=lambda s: (-entries.size[s[0]] * len(s) if entries.size[s[0]] > SMALL else 0, s[0])
            )
            while waiting:
                batches = partition.batches(self._reading.in_order(waiting, itemgetter(0)))
                for batch, verdict in self._pool.run(
                    task, batches, at_once=self._reading.at_once, tick=lambda n: self._tick(n - begun)
                ):
                    self._take(verdict)
                    partition.take(batch, verdict)
                waiting, partition.again = partition.again, []
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
            marks = {i: told for told, members in verdict.apart for i in members}
            digests = {i: digest for digest, members in verdict.classes if digest is not None for i in members}
            self._cache.remember(self._found.entries, {**digests, **marks}, self._prints.get, digests, marks)

    @cached_property
    def _reading(self) -> Reading:
        return Reading(self._found.entries, self._config.jobs, follow=self._config.follow_symlinks)

    def result(self, classes: Classes) -> ScanResult:
        """Return the groups in their order, with everything that there is to tell of the scan."""
        found, entries = self._found, self._found.entries
        groups = FoundGroups(entries, classes, self._links, self._config.confirm)
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
                files=len(entries) - self._united,
                bytes=sum(entries.size) - self._united_bytes,
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
            notes=tuple(self._cache.notes),
            folders=FolderCounts(self._listed, [outside(path) for path in found.unlisted]),
            phases=self._phases,
        )

    def _listed(self) -> Iterator[tuple[bytes, int, int, int]]:
        """Yield what lies directly in each listed folder, under the names that the user knows."""
        for folder, *numbers in self._found.entries.listed():
            files, sizes, left_out = numbers
            yield outside(folder), files, sizes, left_out
