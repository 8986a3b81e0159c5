"""Files, one by one, to their digests: through the backends, workers and cache of a scan.  Compares and prints nothing.

A digest is given only for all bytes of a regular file that did not change meanwhile.
"""

from __future__ import annotations

import os
import stat
import time
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

from dedupe.cache.store import Cache
from dedupe.compare.candidates import CandidateBatch
from dedupe.compare.confirm import Confirmer
from dedupe.compare.fingerprint import Fingerprinter, batches, pace
from dedupe.config import ScanConfig
from dedupe.digests.choose import any_of, choose
from dedupe.files.table import FileTable
from dedupe.progress import Progress
from dedupe.result import Problem, ProblemKind, SkipReason
from dedupe.storage import file_stat, mounts, problems, volumes
from dedupe.storage.paths import absolute, outside
from dedupe.walk.walker import walk
from dedupe.workers.pool import Pool
from dedupe.workers.read_order import ReadOrder

STDIN = b"-"
_PIECE = 1 << 20  # bytes of standard input at a time
_BATCH_FILES, _BATCH_BYTES = 64, 8 << 20  # some milliseconds of work for a worker


@dataclass(frozen=True, slots=True)
class Hashed:
    """A file by the name that the user gave it, with its digest, or with the problem why there is none."""

    name: bytes
    digest: bytes | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HashConfig:
    """How files are hashed."""

    algorithm: str = "sha256"  # one that a backend offers
    backend: str = "auto"
    cache: str | bytes | None = None  # the cache's file; None remembers nothing
    jobs: int | None = None  # readers at once; None means one a core
    use_cache: bool = False  # let a remembered digest stand for a file; otherwise every file is read


class Hashing:
    """Hashes files; used as a context manager, so that workers end and what was learnt is kept.

    Raises:
        BackendError: nobody here computes the algorithm.
    """

    def __init__(self, config: HashConfig, progress: Progress, stdin: BinaryIO) -> None:
        cache = os.fsencode(config.cache) if config.cache is not None else None
        self._algorithm = config.algorithm
        self._use_cache = config.use_cache
        any_of(config.algorithm, config.backend)  # what nobody can do makes no cache
        self._cache = Cache(cache, config.algorithm, time.time_ns())
        try:
            found = choose(config.algorithm, config.backend, measurements=self._cache.measurements)
        except BaseException:
            self._cache.close()
            raise
        self._backend, self.choice = found
        self._jobs = config.jobs
        mounts.forget()
        self._pool = Pool(config.jobs)
        self._progress = progress
        self._stdin = stdin

    def __enter__(self) -> Hashing:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._progress.end()
        self._pool.stop(at_once=kind is not None)
        self._cache.close()

    @property
    def notes(self) -> Sequence[str]:
        """Sentences for the user, such as a cache that could not be used."""
        return self._cache.notes

    def files_below(self, folder: bytes) -> tuple[list[bytes], list[Problem], dict[SkipReason, int]]:
        """Return the names of all files below a folder, sorted, and what could not or should not be listed.

        Nothing is left out by its name: a list of checksums is expected to be complete.
        """
        root = absolute(folder)
        config = ScanConfig(roots=[root], min_size=0, default_excludes=False)
        found = walk(config, [root], self._pool, self._cache.files)
        prefix = len(os.path.join(root, b""))
        paths = sorted(found.table.paths(range(len(found.table))))
        unlisted = [replace(problem, path=outside(problem.path)) for problem in found.problems]
        return [os.path.join(folder, path[prefix:]) for path in paths], unlisted, dict(found.skipped)

    def digests(self, names: Sequence[bytes]) -> Iterator[Hashed]:
        """Yield every file of `names` in order; `-` is standard input."""
        table, where = FileTable(), array("l")  # the index in `names` of each entry
        found: dict[int, Hashed] = {}
        for place, name in enumerate(names):
            if name == STDIN:
                found[place] = Hashed(name, self._of_stdin())
                continue
            problem = _enter(table, name)
            if problem:
                found[place] = Hashed(name, problem=problem)
            else:
                where.append(place)
        following = 0
        for i, result in self._results(table):
            found[where[i]] = Hashed(names[where[i]], *result)
            while following in found:
                yield found.pop(following)
                following += 1
        for place in sorted(found):
            yield found[place]

    def _of_stdin(self) -> bytes:
        hasher = self._backend.hasher(self._algorithm)
        while piece := self._stdin.read(_PIECE):
            hasher.update(piece)
        return hasher.digest()

    def _results(self, table: FileTable) -> Iterator[tuple[int, tuple[bytes | None, Problem | None]]]:
        """Yield digest or problem of every entry, by its index, as they are found."""
        prints: dict[int, bytes] = {}
        known = set()
        for recalled in self._cache.recall(table, range(len(table)), self._pool):
            prints.update(zip(recalled.members, recalled.prints, strict=True))
            if self._use_cache:
                known.update(recalled.digested)
                for i, value in zip(recalled.digested, recalled.digests, strict=True):
                    yield i, (value, None)
        reading = ReadOrder(table, self._jobs)
        unknown = array("I", reading.in_order([i for i in range(len(table)) if i not in known], int))
        total = sum(table.size[i] for i in unknown)
        self._progress.begin("hash", total, in_bytes=True)
        self._pool.start_if_worthwhile(len(unknown), total)
        if self._cache.usable:
            self._fingerprint(table, array("I", (i for i in unknown if i not in prints)), prints, reading.at_once)
        begun = self._pool.counted()
        for batch, verdict in self._pool.run(
            Confirmer(self._algorithm, self._backend),
            _batches(table, unknown),
            at_once=reading.at_once,
            tick=lambda count: self._tick(count - begun),
        ):
            digests = {i: digest for digest, (i,) in verdict.classes}
            failed = {problem.path: problem for problem in verdict.problems}
            # a row must have the fingerprint too
            learnt = {i: value for i, value in digests.items() if value is not None and i in prints}
            self._cache.remember(table, learnt, prints.get, learnt)
            for s in batch:
                (i,) = s.members
                digest = digests.get(i)
                yield i, (digest, None if digest else failed[s.paths[0]])
        self._progress.end()

    def _tick(self, done: int) -> None:
        """Tell how far hashing is, and have the cache write what is due, however long one file takes."""
        self._progress.reach(done)
        self._cache.commit_if_due()

    def _fingerprint(
        self, table: FileTable, members: array[int], prints: dict[int, bytes], at_once: int | None
    ) -> None:
        """Add the fingerprints without which nothing can be remembered; whatever fails will fail again when hashed."""
        size = pace()
        for batch, results in self._pool.run(Fingerprinter(), batches(table, members, size), at_once=at_once):
            size.took(len(batch.members), results.seconds)
            found = zip(batch.members, results.values, strict=True)
            prints.update((i, value) for i, value in found if value is not None)


def _enter(table: FileTable, name: bytes) -> Problem | None:
    """Append a file as it is now, or return why it cannot be hashed.  Opens nothing but empty regular files."""
    try:
        path = absolute(name)
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            return Problem(name, ProblemKind.NOT_A_FILE, "is a folder: --recursive hashes what is in it")
        if not stat.S_ISREG(mode):
            return Problem(name, ProblemKind.NOT_A_FILE, "is no regular file, and reading it might never end")
        if os.path.islink(path):
            path = absolute(os.path.realpath(path))
        seen = file_stat.of_path(path)
        if not seen.size and _holds_data(path):
            return Problem(name, ProblemKind.IO, "says that it is empty, but holds data: such files have no end")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        if isinstance(error, OSError):
            return problems.of_root(name, error)
        return Problem(name, ProblemKind.NOT_FOUND, str(error))
    folder, last = os.path.split(path)
    mount = volumes.locate(folder, file_stat.identity(folder, follow=True)[0])
    table.add(table.enter(folder, mount), last, seen)
    return None


def _holds_data(path: bytes) -> bool:
    descriptor = file_stat.open_file(path)
    try:
        return bool(file_stat.read_at(descriptor, 1, 0))
    finally:
        os.close(descriptor)


def _batches(table: FileTable, members: Sequence[int]) -> Iterator[CandidateBatch]:
    """Yield the files as sets of one, each to be read to its end, in batches of about equal cost."""
    part, size = array("I"), 0
    for i in members:
        part.append(i)
        size += table.size[i]
        if len(part) >= _BATCH_FILES or size >= _BATCH_BYTES:
            yield _batch(table, part)
            part, size = array("I"), 0
    if part:
        yield _batch(table, part)


def _batch(table: FileTable, members: array[int]) -> CandidateBatch:
    sets = [(table.size[i], 1, True, mounts.may_map(table.folders[table.folder[i]])) for i in members]
    return CandidateBatch(members, table.packed_paths(members), table.packed_stats(members), sets)
