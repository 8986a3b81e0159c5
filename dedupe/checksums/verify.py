"""Checks files against the digests that a list has of them.  Hashes nothing itself, and prints nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import TypeAlias

from dedupe.checksums import algorithms
from dedupe.checksums.entry import Entry
from dedupe.checksums.hash_files import STDIN, Hashed
from dedupe.errors import BackendError
from dedupe.result import Problem, ProblemKind

# Yields files in the order of their names, hashed by an algorithm
HashAll: TypeAlias = Callable[[str, Sequence[bytes]], Iterator[Hashed]]


class CheckResult(StrEnum):
    """What became of a line of a list, in the words of sha256sum."""

    OK = "OK"
    FAILED = "FAILED"
    UNREADABLE = "FAILED open or read"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one line; with a problem where the file could not be read, or has rotted."""

    entry: Entry
    result: CheckResult
    algorithm: str  # by which the file has the digest of its line, or else by which it was hashed
    problem: Problem | None = None
    fits: str | None = None  # where it failed, an algorithm that others can forge, by which it has that digest

    @property
    def is_gone(self) -> bool:
        """Return whether there is no such file."""
        return self.problem is not None and self.problem.kind in (ProblemKind.NOT_FOUND, ProblemKind.VANISHED)


def verify(entries: Sequence[Entry], hash_all: HashAll) -> Iterator[Outcome]:
    """Yield what became of every entry, in order.

    Where the length of a digest leaves several algorithms open, the first file decides which one is tried first, and
    an entry has failed only when none of them gives its digest.  They withstand attackers, so that none does by chance.
    """
    for open_to, group in groupby(entries, key=lambda entry: entry.algorithms):
        same = list(group)
        if len(open_to) == 1 or len(same) == 1:
            yield from _checked(same, open_to, hash_all)
            continue
        (first,) = _checked(same[:1], open_to, hash_all)
        yield first
        order = sorted(open_to, key=lambda name: name != first.algorithm)
        yield from _checked(same[1:], order, hash_all)


def _checked(entries: Sequence[Entry], order: Sequence[str], hash_all: HashAll) -> Iterator[Outcome]:
    likely, *others = order
    for entry, hashed in zip(entries, hash_all(likely, [local(entry.path) for entry in entries]), strict=True):
        if hashed.digest is None:
            yield Outcome(entry, CheckResult.UNREADABLE, likely, hashed.problem)
        elif hashed.digest == entry.digest and entry.size in (None, hashed.size):
            yield Outcome(entry, CheckResult.OK, likely, hashed.problem)
        elif found := _by_any(entry, others, hash_all):
            yield Outcome(entry, CheckResult.OK, found, hashed.problem)
        else:
            weak = algorithms.weak_of_size(len(entry.digest)) if others else ()
            yield Outcome(entry, CheckResult.FAILED, likely, hashed.problem, _by_any(entry, weak, hash_all))


def _by_any(entry: Entry, names: Sequence[str], hash_all: HashAll) -> str | None:
    """Return the first algorithm by which a file has its digest; standard input cannot be read again to find out."""
    if entry.path == STDIN:
        return None
    for name in names:
        try:
            if any(hashed.digest == entry.digest for hashed in hash_all(name, [local(entry.path)])):
                return name
        except BackendError:  # a package that is not installed
            continue
    return None


def local(path: bytes) -> bytes:
    """Return the path of a list as this system writes it: backslashes of Windows are slashes where that is a file."""
    if os.sep == "/" and b"\\" in path and not os.path.lexists(path):
        turned = path.replace(b"\\", b"/")
        return turned if os.path.lexists(turned) else path
    return path
