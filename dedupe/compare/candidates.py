"""What goes to those who confirm, and what comes back: sets of files that may be equal, and classes.  Reads nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, overload

from dedupe.files.classes import Classes
from dedupe.result import Problem


class Span(NamedTuple):
    """What is done at once of a set that several workers share: a range of its files, or one file hashed whole."""

    begin: int  # bytes from the beginning of each file; a multiple of what maps begin at
    end: int
    classes: Sequence[int]  # how many of the members, in their order, were equal so far: only they are compared
    hashed: frozenset[int] = frozenset()  # positions of members that somebody hashes and counts as read
    ticket: int = 0  # by which hashing may be withdrawn; 0 where files are only compared
    counted: int = 0  # bytes at the beginning of what is hashed that count as read already


@dataclass(slots=True)
class CandidateSet:
    """Files of one size that may be equal."""

    size: int  # bytes of each
    members: Sequence[int]  # what the caller knows them by
    paths: Sequence[bytes]
    stats: Sequence[tuple[int, ...]]  # `FileStat` as the walk saw them, or plain tuples of the same
    needs_digest: bool = False  # others may join them by digest: each is read to its end, also when alone
    may_mmap: bool = True  # their file system may be mapped
    span: Span | None = None  # None for all at once


class CandidateBatch(Sequence[CandidateSet]):
    """Sets that are confirmed together, in the columns that travel between processes; made into objects on arrival.

    Args:
        members: all files, set after set.
        paths: of each of them.
        stats: of each of them.
        sets: of each set its size in bytes, the count of its files, `needs_digest` and `may_mmap`.
    """

    __slots__ = ("_members", "_paths", "_sets", "_stats")

    def __init__(
        self,
        members: Sequence[int],
        paths: Iterable[bytes],
        stats: Iterable[tuple[int, ...]],
        sets: Sequence[tuple[int, int, bool, bool]],
    ) -> None:
        self._members = members
        self._paths = paths
        self._stats = stats
        self._sets = sets

    @property
    def files(self) -> int:
        """Return how many files there are in all sets together."""
        return len(self._members)

    @property
    def needs_digest(self) -> bool:
        """Return whether classes of any of the sets may be joined with others by digest."""
        return any(needs_digest for _, _, needs_digest, _ in self._sets)

    def __len__(self) -> int:
        return len(self._sets)

    def __iter__(self) -> Iterator[CandidateSet]:
        paths, stats, end = list(self._paths), list(self._stats), 0
        for size, count, needs_digest, may_mmap in self._sets:
            first, end = end, end + count
            part = slice(first, end)
            yield CandidateSet(size, self._members[part], paths[part], stats[part], needs_digest, may_mmap)

    @overload
    def __getitem__(self, n: int) -> CandidateSet: ...

    @overload
    def __getitem__(self, n: slice) -> Sequence[CandidateSet]: ...

    def __getitem__(self, n: int | slice) -> CandidateSet | Sequence[CandidateSet]:
        return list(self)[n]


class SpanBatch(CandidateBatch):
    """A part of the work on one set, which tells nothing by itself but what it says of its range.

    Args:
        key: the set's, among those that are shared.
        span: what is done.
        batch: the one set, with the members that it is done with.
    """

    __slots__ = ("key", "span")

    def __init__(self, key: int, span: Span, batch: CandidateBatch) -> None:
        super().__init__(batch._members, batch._paths, batch._stats, batch._sets)
        self.key = key
        self.span = span

    def __iter__(self) -> Iterator[CandidateSet]:
        for s in super().__iter__():
            s.span = self.span
            yield s


@dataclass(slots=True)
class ConfirmResult:
    """What became of the sets of a batch: classes of their members, each with a digest (None if nobody wants one)."""

    classes: Classes = field(default_factory=Classes)
    problems: list[Problem] = field(default_factory=list)
    bytes_read: int = 0
    seconds: float = 0.0  # that it took
    apart: list[tuple[bytes, Sequence[int]]] = field(
        default_factory=list
    )  # divergences, and the members that have them
