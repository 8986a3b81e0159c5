"""Files, one by one, to their digests: through the backends, workers and cache of a scan.  Compares and prints nothing.

A digest is given only for all bytes of a regular file that did not change meanwhile.
"""

from __future__ import annotations

import os
import stat
import time
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from dedupe.cache.store import open_cache
from dedupe.compare.method import Method
from dedupe.compare.tuning import MEASURED, Tuning
from dedupe.config import AnyPath, ScanConfig
from dedupe.files.table import FileTable
from dedupe.progress import Progress
from dedupe.result import Problem, ProblemKind, SkipReason
from dedupe.scan.fingerprints import read_fingerprints
from dedupe.scan.hash_whole import HashedFile, hash_whole
from dedupe.scan.recall import Known, recall
from dedupe.scan.session import Session
from dedupe.storage import file_stat, mounts, problems, volumes
from dedupe.storage.opener import Opener, read_at
from dedupe.storage.paths import absolute, outside
from dedupe.walk.mount_points import located, volumes_of
from dedupe.walk.walker import walk
from dedupe.workers.schedule import Schedule

STDIN = b"-"
_PIECE = 1 << 20  # bytes of standard input at a time
_OPENER = Opener()  # a link that is named has been followed before: what is opened is a file


@dataclass(frozen=True, slots=True)
class Hashed:
    """A file by the name that the user gave it, with its digest or the reason why there is none.

    A file that has rotted has both: a digest of what it holds now, and the problem.
    """

    name: bytes
    digest: bytes | None = None
    problem: Problem | None = None
    size: int = 0  # bytes that the digest is of


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

    def __init__(self, config: HashConfig, progress: Progress, stdin: BinaryIO, tuning: Tuning = MEASURED) -> None:
        path = os.fsencode(config.cache) if config.cache is not None else None
        method = Method.of(config.algorithm, config.backend)  # what nobody can do makes no cache
        cache = open_cache(path, method.algorithm, time.time_ns())
        try:
            self._method, self.choice = method.chosen(config.backend, cache.measurements)
        except BaseException:
            cache.close()
            raise
        mounts.forget()
        volumes.forget()
        schedule = Schedule(jobs=config.jobs, opener=_OPENER, tuning=tuning.workers)
        self._session = Session(
            roots=(),
            method=self._method,
            backend=config.backend,
            cache=cache,
            schedule=schedule,
            pool=schedule.pool(),
            progress=progress,
            opener=_OPENER,
            tuning=tuning,
        )
        self._use_cache = config.use_cache
        self._stdin = stdin

    def __enter__(self) -> Hashing:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._session.__exit__(kind)

    @property
    def notes(self) -> Sequence[str]:
        """Sentences for the user, such as a cache that could not be used."""
        return self._session.cache.notes

    def files_below(
        self, folder: bytes, own_files: Sequence[AnyPath | int] = ()
    ) -> tuple[list[bytes], list[Problem], dict[SkipReason, int]]:
        """Return the names of all files below a folder, sorted, and what could not or should not be listed.

        Nothing but pseudo file systems is left out, and `own_files`, which are paths or descriptors: a list of
        checksums is expected to be complete.
        """
        root = absolute(folder)
        config = ScanConfig(roots=[root], min_size=0, trash=True)
        found = walk(config, [root], self._session.pool, (*self._session.cache.files, *own_files))
        prefix = len(os.path.join(root, b""))
        paths = sorted(found.table.paths(range(len(found.table))))
        unlisted = [problem._replace(path=outside(problem.path)) for problem in found.problems]
        return [os.path.join(folder, path[prefix:]) for path in paths], unlisted, dict(found.skipped)

    def digests(self, names: Sequence[bytes]) -> Iterator[Hashed]:
        """Yield every file of `names` in order; `-` is standard input."""
        table, where = FileTable(), array("l")  # the index in `names` of each entry
        found: dict[int, Hashed] = {}
        folders: dict[bytes, int] = {}
        for place, name in enumerate(names):
            if name == STDIN:
                found[place] = self._of_stdin()
                continue
            problem = _enter(table, folders, name)
            if problem:
                found[place] = Hashed(name, problem=problem)
            else:
                where.append(place)
        following = 0
        for each in self._results(table):
            place = where[each.member]
            found[place] = Hashed(names[place], each.digest, each.problem, table.size[each.member])
            while following in found:
                yield found.pop(following)
                following += 1
        for place in sorted(found):
            yield found[place]

    def _of_stdin(self) -> Hashed:
        hasher, size = self._method.hasher(None, needs_digest=True), 0
        assert hasher is not None
        while piece := self._stdin.read(_PIECE):
            hasher.update(piece)
            size += len(piece)
        return Hashed(STDIN, hasher.digest(), size=size)

    def _results(self, table: FileTable) -> Iterator[HashedFile]:
        """Yield what is known or found of every file, as it is."""
        session = self._session
        known = recall(session, table, [range(len(table))])
        unknown: Sequence[int] = range(len(table))
        if self._use_cache:
            self._verify(table, known)
            unknown = [i for i in unknown if i not in known.digests]
            yield from (HashedFile(i, known.digests.get(i)) for i in range(len(table)) if i in known.digests)
        yield from hash_whole(session, table, unknown, self._method, known)

    def _verify(self, table: FileTable, known: Known) -> None:
        """Find out which digests of files without change times still count; whatever fails is told when it is read."""
        if known.unverified:
            with self._session.phase("fingerprint", len(known.unverified)):
                read_fingerprints(self._session, table, sorted(known.unverified), known)


def _enter(table: FileTable, folders: dict[bytes, int], name: bytes) -> Problem | None:
    """Append a file as it is now, or return why it cannot be hashed.  Opens nothing but empty regular files.

    Args:
        table: that it is appended to.
        folders: the indexes of those that are in the table already.
        name: as the user wrote it.
    """
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
        folder, last = os.path.split(path)
        if folder not in folders:
            folders[folder] = table.enter(folder, located(folder))
        number, device = folders[folder], file_stat.identity(path)[0]
        other = None
        if device != table.mount_of(number).volume.device:  # a single file may be mounted over another
            other = volumes_of(table, number, [last], [device])
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        if isinstance(error, OSError):
            return problems.of_root(name, error)
        return Problem(name, ProblemKind.NOT_FOUND, str(error))
    table.add(number, last, seen, other[0] if other else None)
    return None


def _holds_data(path: bytes) -> bool:
    descriptor = _OPENER.open(path)
    try:
        return bool(read_at(descriptor, 1, 0))
    finally:
        os.close(descriptor)
