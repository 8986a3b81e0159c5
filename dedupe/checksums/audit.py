"""Compares all files of some folders with a list: what changed, moved, is missing, or is there beside it.

Hashes nothing itself, and prints nothing.  As hashdeep's audit, but by content first: a name that is gone while a new
name holds its content has moved, and only what lies nowhere is missing without a trace.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dedupe.checksums.entry import Entry
from dedupe.checksums.verify import CheckResult, HashAll, Outcome, local, verify
from dedupe.result import Problem
from dedupe.storage.paths import absolute


class AuditResult(StrEnum):
    """What became of a file: of the list, or beside it."""

    OK = "OK"
    FAILED = "FAILED"  # has another content than the list says
    UNREADABLE = "FAILED open or read"
    MOVED = "moved"
    MISSING = "missing"
    EXTRA = "extra"


_OF_CHECK = {
    CheckResult.OK: AuditResult.OK,
    CheckResult.FAILED: AuditResult.FAILED,
    CheckResult.UNREADABLE: AuditResult.UNREADABLE,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one file.

    Attributes:
        path: its name; of a file that moved, the new one.
        result: what became of it.
        other: where a file moved from; another name that has the content of a file that is missing; of a file that is
            extra, one that holds the same where that is content of the list.
        problem: why it could not be read, or that it has rotted.
    """

    path: bytes
    result: AuditResult
    other: bytes | None = None
    problem: Problem | None = None


def audit(entries: Sequence[Entry], names: Sequence[bytes], hash_all: HashAll) -> Iterator[Finding]:
    """Yield what became of every file of a list, in its order; then of those that are beside it; then what is missing.

    Args:
        entries: the list.  Its files are looked for by their own names, wherever these lead.
        names: the files that are there.
        hash_all: hashes.
    """
    contents = _Contents()
    for outcome in verify(entries, hash_all):
        contents.listed(outcome)
        if not outcome.is_gone:
            yield Finding(outcome.entry.path, _OF_CHECK[outcome.result], problem=outcome.problem)
    listed = {_place(local(entry.path)) for entry in entries}
    yield from contents.sort([name for name in names if _place(name) not in listed], hash_all)
    for entry in contents.gone():
        yield Finding(entry.path, AuditResult.MISSING, other=contents.holder(entry))


def _place(name: bytes) -> bytes:
    try:
        return os.path.normcase(absolute(name))
    except ValueError:  # no name that this system could have
        return name


class _Contents:
    """Which content the list has under which names, and where it lies now."""

    def __init__(self) -> None:
        self._free: dict[tuple[str, bytes], list[Entry]] = {}  # names that no longer hold it, until one claims them
        self._holders: dict[tuple[str, bytes], bytes] = {}  # a name that holds it
        self._gone: dict[int, Entry] = {}
        self._algorithms: dict[str, None] = {}

    def listed(self, outcome: Outcome) -> None:
        """Take in what became of an entry."""
        entry, key = outcome.entry, (outcome.algorithm, outcome.entry.digest)
        self._algorithms[outcome.algorithm] = None
        if outcome.result is CheckResult.OK:
            self._holders.setdefault(key, entry.path)
            return
        if outcome.is_gone:
            self._gone[id(entry)] = entry
        if outcome.is_gone or outcome.result is CheckResult.FAILED:
            self._free.setdefault(key, []).append(entry)

    def sort(self, names: Sequence[bytes], hash_all: HashAll) -> Iterator[Finding]:
        """Yield what each of some files is that the list does not name."""
        for found in zip(*(hash_all(algorithm, names) for algorithm in self._algorithms), strict=True):
            keys = [(a, hashed.digest) for a, hashed in zip(self._algorithms, found, strict=True)]
            name, problem = found[0].name, next((hashed.problem for hashed in found if hashed.problem), None)
            known = [(a, digest) for a, digest in keys if digest is not None]
            if not known:
                yield Finding(name, AuditResult.UNREADABLE, problem=problem)
                continue
            source = self._claim(known)
            holder = next((self._holders[key] for key in known if key in self._holders), None)
            for key in known:
                if key in self._free:  # content of the list, which lies here too
                    self._holders.setdefault(key, name)
            if source is not None:
                yield Finding(name, AuditResult.MOVED, source.path, problem)
            else:
                yield Finding(name, AuditResult.EXTRA, holder, problem)

    def _claim(self, keys: Sequence[tuple[str, bytes]]) -> Entry | None:
        """Return an entry whose content this is and whose name holds it no more; those that are gone come first."""
        for key in keys:
            free = self._free.get(key)
            if free:
                place = next((n for n, entry in enumerate(free) if id(entry) in self._gone), 0)
                entry = free.pop(place)
                self._gone.pop(id(entry), None)
                return entry
        return None

    def gone(self) -> list[Entry]:
        """Return the entries whose files are nowhere, and were not found under another name."""
        return list(self._gone.values())

    def holder(self, entry: Entry) -> bytes | None:
        """Return a name that still has the content of an entry."""
        return next(
            (self._holders[a, entry.digest] for a in entry.algorithms if (a, entry.digest) in self._holders), None
        )
