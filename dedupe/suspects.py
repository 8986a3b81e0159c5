"""What goes to those who confirm, and what comes back: sets of files that may be equal, verdicts.  Reads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dedupe.result import Problem


@dataclass(slots=True)
class Suspects:
    """Files of one size that may be equal."""

    size: int  # bytes of each
    members: Sequence[int]  # what the caller knows them by
    paths: Sequence[bytes]
    statuses: Sequence[tuple[int, ...]]  # `Status` as the walk saw them, or plain tuples of the same
    join: bool = False  # they will be joined with others by digest: each is read to its end, also when alone
    mapped: bool = True  # their file system may be mapped


class SuspectsBatch(list[Suspects]):
    """Sets that are judged together.  Travels between processes as a few flat lists: a tenth of the time."""

    def __reduce__(self) -> tuple[object, ...]:
        flat = [[x for s in self for x in getattr(s, name)] for name in ("members", "paths", "statuses")]
        return _sets, (*flat, [(s.size, len(s.members), s.join, s.mapped) for s in self])


def _sets(
    members: list[int], paths: list[bytes], statuses: list[tuple[int, ...]], sets: list[tuple[int, int, bool, bool]]
) -> SuspectsBatch:
    batch, end = SuspectsBatch(), 0
    for size, count, join, mapped in sets:
        first, end = end, end + count
        batch.append(Suspects(size, members[first:end], paths[first:end], statuses[first:end], join, mapped))
    return batch


@dataclass(slots=True)
class Verdict:
    """What became of one set: classes of its members, each with a digest (None if none was asked for)."""

    classes: list[tuple[bytes | None, list[int]]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    bytes_read: int = 0
    apart: list[tuple[bytes, list[int]]] = field(default_factory=list)  # marks of members that were told apart


class VerdictBatch(list[Verdict]):
    """Verdicts on one batch, in its order.  Travels as plain lists, for the same reason."""

    def __reduce__(self) -> tuple[object, ...]:
        return _verdicts, ([(v.classes, v.problems, v.bytes_read, v.apart) for v in self],)


def _verdicts(plain: list[tuple[Any, ...]]) -> VerdictBatch:
    return VerdictBatch([Verdict(*v) for v in plain])
