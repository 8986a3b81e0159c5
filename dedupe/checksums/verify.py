"""Checks files against the digests that a list has of them.  Hashes nothing itself, and prints nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import TypeAlias

from dedupe.checksums.formats import Entry
from dedupe.checksums.hash_files import STDIN, Hashed
from dedupe.result import Problem

# Yields the files of a list in order, hashed by an algorithm
HashAll: TypeAlias = Callable[[str, Sequence[bytes]], Iterator[Hashed]]


class CheckResult(StrEnum):
    """What became of a line of a list, in the words of sha256sum."""

    OK = "OK"
    FAILED = "FAILED"
    UNREADABLE = "FAILED open or read"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one line; with a problem where the file could not be read, or has rotted."""

    path: bytes
    result: CheckResult
    problem: Problem | None = None


def verify(entries: Sequence[Entry], hash_all: HashAll) -> Iterator[Outcome]:
    """Yield what became of every entry, in order.

    Where the length of a digest leaves several algorithms open, the first file decides which one is tried first, and
    an entry has failed only when none of them gives its digest: all are cryptographic, so none does by chance.
    """
    for algorithms, group in groupby(entries, key=lambda entry: entry.algorithms):
        same = list(group)
        if len(algorithms) == 1:
            yield from _checked(same, algorithms, hash_all)
            continue
        first, *rest = same
        order = sorted(algorithms, key=lambda name: not _matches(first, name, hash_all))
        yield from _checked([first, *rest], order, hash_all)


def _checked(entries: Sequence[Entry], order: Sequence[str], hash_all: HashAll) -> Iterator[Outcome]:
    likely, *others = order
    for entry, hashed in zip(entries, hash_all(likely, [entry.path for entry in entries]), strict=True):
        if hashed.digest is None:
            yield Outcome(entry.path, CheckResult.UNREADABLE, hashed.problem)
        elif hashed.digest == entry.digest or any(_matches(entry, name, hash_all) for name in others):
            yield Outcome(entry.path, CheckResult.OK, hashed.problem)
        else:
            yield Outcome(entry.path, CheckResult.FAILED, hashed.problem)


def _matches(entry: Entry, algorithm: str, hash_all: HashAll) -> bool:
    """Return whether a file has its digest by one algorithm; standard input can be read only once, so it never has."""
    if entry.path == STDIN:
        return False
    return any(hashed.digest == entry.digest for hashed in hash_all(algorithm, [entry.path]))
