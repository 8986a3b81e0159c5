"""Classes of equal files in columns: half a million pairs in 20 MB, where objects need 150.  Reads nothing."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from operator import sub
from typing import TypeAlias, overload

from dedupe.result import Proof

Class: TypeAlias = tuple[bytes | None, Sequence[int]]  # digest, members
_AT_ONCE = 1024  # members whose keys are in memory together
_PROOFS = tuple(Proof)  # a byte a member says which; the weaker, the higher
_BYTES = {proof: bytes([n]) for n, proof in enumerate(_PROOFS)}


class Classes(Sequence[Class]):
    """Grows by whole classes.  Digests are of one length, where a class has one.  Each member has a proof."""

    __slots__ = ("_digests", "_ends", "_members", "_proofs", "_undigested", "_width")

    def __init__(self) -> None:
        self._members = array("I")
        self._ends = array("I")
        self._proofs = bytearray()  # of each member
        self._digests = bytearray()  # nothing as long as no class has one, then zeros for those that have none
        self._undigested = set[int]()  # classes without one beside others that have one
        self._width = 0

    def append(self, digest: bytes | None, members: Sequence[int], proof: Proof | Sequence[Proof]) -> None:
        """Add a class.

        Args:
            digest: that all members have, None where they were only compared.
            members: indexes of files.
            proof: of all members, or of each of them.

        Raises:
            ValueError: its digest is of another length than those before, or there are not as many proofs as members.
        """
        if digest is not None:
            self._widen(len(digest))
        elif self._width:
            self._undigested.add(len(self._ends))
        proofs = _BYTES[proof] * len(members) if isinstance(proof, Proof) else b"".join(map(_BYTES.__getitem__, proof))
        if len(proofs) != len(members):
            raise ValueError(f"{len(proofs)} proofs of {len(members)} members")
        self._members.extend(members)
        self._proofs += proofs
        self._ends.append(len(self._members))
        self._digests += digest or bytes(self._width)

    def _widen(self, width: int) -> None:
        """Take digests of so many bytes from now on; the classes so far keep having none.

        Raises:
            ValueError: those before are of another length.
        """
        if not self._width:
            self._width = width
            self._digests = bytearray(width * len(self._ends))
            self._undigested.update(range(len(self._ends)))
        elif width != self._width:
            raise ValueError(f"a digest of {width} bytes beside others of {self._width}")

    def append_all(self, digests: Sequence[bytes], members: Sequence[int], counts: Sequence[int], proof: Proof) -> None:
        """Add many classes that have digests, and members of one proof.

        Args:
            digests: of each class.
            members: of one class after the other.
            counts: how many of them each class has.
            proof: of all members.

        Raises:
            ValueError: the digests are of another length than those before, or the counts do not add up.
        """
        more, width = Classes(), set(map(len, digests))
        if sum(counts) != len(members) or len(counts) != len(digests) or len(width) > 1:
            raise ValueError(f"{len(members)} members of {len(counts)} classes with {len(digests)} digests")
        more._members.extend(members)
        more._proofs += _BYTES[proof] * len(members)
        more._ends.extend(accumulate(counts))
        more._digests += b"".join(digests)
        more._width = width.pop() if width else 0
        self.extend(more)

    def extend(self, other: Classes) -> None:
        """Add all classes of another table.

        Raises:
            ValueError: its digests are of another length than those before.
        """
        first, begin = len(self._ends), len(self._members)
        if other._width:
            self._widen(other._width)
            self._undigested.update(first + n for n in other._undigested)
        elif self._width:
            self._undigested.update(range(first, first + len(other)))
        self._members.extend(other._members)
        self._proofs += other._proofs
        self._ends.extend([begin + end for end in other._ends])
        self._digests += other._digests or bytes(self._width * len(other))

    def sort_members(self, ordered: Callable[[array[int], Iterable[int]], array[int]]) -> None:
        """Put the members of each class in order: `ordered` is given those of many classes, and how many of each."""
        for first, last in self.spans(_AT_ONCE):
            members = self.members(first, last)
            part = slice(self._begin(first), self._begin(last))
            self._members[part] = after = ordered(members, self.counts(first, last))
            if not _is_uniform(proofs := self._proofs[part]):
                of = dict(zip(members, proofs, strict=True))
                self._proofs[part] = bytes(map(of.__getitem__, after))

    def reorder(self, numbers: Iterable[int]) -> None:
        """Put the classes in another order, given by where they are now."""
        members, ends, digests, proofs = array("I"), array("I"), bytearray(), bytearray()
        begins, width = [0, *self._ends], self._width
        undigested = set[int]()
        for place, n in enumerate(numbers):
            if n in self._undigested:
                undigested.add(place)
            members += self._members[begins[n] : begins[n + 1]]
            proofs += self._proofs[begins[n] : begins[n + 1]]
            ends.append(len(members))
            digests += self._digests[n * width : (n + 1) * width]
        self._members, self._ends, self._digests, self._proofs = members, ends, digests, proofs
        self._undigested = undigested

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def total(self) -> int:
        """How many members all classes have together."""
        return len(self._members)

    def _begin(self, n: int) -> int:
        return self._ends[n - 1] if n else 0

    def spans(self, least: int) -> Iterator[tuple[int, int]]:
        """Yield the bounds of runs of classes, with no more classes in each than it takes for so many members."""
        first = 0
        while first < len(self):
            last = min(bisect_left(self._ends, self._begin(first) + least, first) + 1, len(self))
            yield first, last
            first = last

    def members(self, first: int, last: int) -> array[int]:
        """Return the members of a run of classes."""
        return self._members[self._begin(first) : self._begin(last)]

    def firsts(self, first: int, last: int) -> array[int]:
        """Return the first member of each class of a run."""
        return array("I", [self._members[self._begin(n)] for n in range(first, last)])

    def counts(self, first: int, last: int) -> Iterator[int]:
        """Yield how many members each class of a run has."""
        ends = self._ends[first:last]
        return map(sub, ends, chain((self._begin(first),), ends))

    def copies(self, first: int, last: int) -> Iterator[int]:
        """Yield how many members of each class of a run are here, and not only in a catalog."""
        if self._proofs.find(_BYTES[Proof.OFFLINE]) < 0:
            return self.counts(first, last)
        ends = [self._begin(first), *self._ends[first:last]]
        return (end - begin - self._proofs.count(_BYTES[Proof.OFFLINE], begin, end) for begin, end in pairwise(ends))

    def proofs(self, first: int, last: int) -> Sequence[Proof]:
        """Return the proofs of the members of a run of classes."""
        proofs = self._proofs[self._begin(first) : self._begin(last)]
        if _is_uniform(proofs):
            return [_PROOFS[proofs[0]]] * len(proofs) if proofs else []
        return [_PROOFS[proof] for proof in proofs]

    def weakest(self, first: int, last: int) -> Sequence[Proof]:
        """Return the weakest proof of each class of a run."""
        begin, end = self._begin(first), self._begin(last)
        if begin < end and _is_uniform(self._proofs[begin:end]):
            return [_PROOFS[self._proofs[begin]]] * (last - first)
        bounds = pairwise((begin, *self._ends[first:last]))
        return [_PROOFS[max(self._proofs[i:j])] for i, j in bounds]

    def digests(self, first: int, last: int) -> Sequence[bytes | None]:
        """Return the digests of a run of classes."""
        if not self._width:
            return [None] * (last - first)
        run = bytes(self._digests[first * self._width : last * self._width])
        found: list[bytes | None] = [run[at : at + self._width] for at in range(0, len(run), self._width)]
        for n in self._undigested.intersection(range(first, last)):
            found[n - first] = None
        return found

    @overload
    def __getitem__(self, n: int) -> Class: ...

    @overload
    def __getitem__(self, n: slice) -> Sequence[Class]: ...

    def __getitem__(self, n: int | slice) -> Class | Sequence[Class]:
        if isinstance(n, slice):
            return [self[i] for i in range(*n.indices(len(self)))]
        n = range(len(self))[n]
        return self.digests(n, n + 1)[0], self._members[self._begin(n) : self._ends[n]]

    def __iter__(self) -> Iterator[Class]:
        return (self[n] for n in range(len(self)))


def _is_uniform(proofs: bytearray) -> bool:
    """Return whether all are one proof, as those of most scans are."""
    return not proofs or proofs.count(proofs[0]) == len(proofs)
