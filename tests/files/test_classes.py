"""Classes in columns: a list of plain values in all that it says, and never a digest or a proof of another class."""

from __future__ import annotations

import pickle
import random
from array import array
from collections.abc import Iterable
from itertools import accumulate, chain, islice, pairwise
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.files.classes import Classes
from dedupe.result import Proof

Plain: TypeAlias = tuple[bytes | None, list[int], list[Proof]]


def _values(digest: st.SearchStrategy[bytes | None]) -> st.SearchStrategy[list[list[Plain]]]:
    """Return tables of classes as lists; most classes have one proof, as in a scan."""
    members = st.lists(st.tuples(st.integers(0, 99), st.sampled_from(Proof)), min_size=1, max_size=4)
    mixed = st.tuples(digest, members.map(lambda m: [i for i, _ in m]), members.map(lambda m: [p for _, p in m]))
    same = mixed.filter(lambda c: len(c[1]) == len(c[2])) | mixed.map(lambda c: (c[0], c[1], c[2][:1] * len(c[1])))
    return st.lists(st.lists(same, max_size=5), max_size=4)


digests = st.binary(min_size=4, max_size=4)
tables = _values(digests) | _values(st.none()) | _values(digests | st.none() | st.just(bytes(4)))


def table(classes: Iterable[Plain]) -> Classes:
    """Return classes made of plain values; where all members have one proof, that is given for all."""
    made = Classes()
    for digest, members, proofs in classes:
        made.append(digest, members, proofs[0] if len(set(proofs)) == 1 else proofs)
    return made


def plain(classes: Classes) -> list[Plain]:
    """Return classes as plain values."""
    each = enumerate(classes)
    return [(digest, list(members), list(classes.proofs(n, n + 1))) for n, (digest, members) in each]


@given(tables)
def test_tables_are_lists_of_plain_values(parts: list[list[Plain]]) -> None:
    """However a table grows, by one class or by many, it holds what a list would, also after a journey."""
    whole = Classes()
    for part in parts:
        whole.extend(pickle.loads(pickle.dumps(table(part))))
    expected = [each for part in parts for each in part]
    assert plain(whole) == plain(table(expected)) == expected


@given(tables)
def test_proofs_of_many_classes_are_those_of_each(parts: list[list[Plain]]) -> None:
    """The proofs of a run are those of its classes, and the weakest of a class is the weakest of its members."""
    expected = list(chain.from_iterable(parts))
    classes = table(expected)
    assert list(classes.proofs(0, len(classes))) == [proof for _, _, proofs in expected for proof in proofs]
    weakest = [max(proofs, key=list(Proof).index) for _, _, proofs in expected]
    assert list(classes.weakest(0, len(classes))) == weakest == [Proof.weakest(proofs) for _, _, proofs in expected]


def _backwards(members: array[int], counts: Iterable[int]) -> array[int]:
    """Order members of classes by falling number."""
    bounds = pairwise(accumulate(counts, initial=0))
    return array("I", [i for begin, end in bounds for i in sorted(members[begin:end], reverse=True)])


def _numbered(parts: list[list[Plain]]) -> list[Plain]:
    """Return the classes of all parts with members of their own: a file is in one class only."""
    numbers = iter(random.Random(1).sample(range(1000), 1000))
    return [(digest, list(islice(numbers, len(members))), proofs) for part in parts for digest, members, proofs in part]


@given(tables.map(_numbered))
def test_proofs_stay_with_their_members(expected: list[Plain]) -> None:
    """Whatever is put in another order, each member keeps its proof."""
    classes = table(expected)
    classes.sort_members(_backwards)
    classes.reorder(reversed(range(len(classes))))
    pairs = [
        (digest, sorted(zip(members, proofs, strict=True), reverse=True))
        for digest, members, proofs in reversed(expected)
    ]
    assert plain(classes) == [(digest, [i for i, _ in own], [proof for _, proof in own]) for digest, own in pairs]


@pytest.mark.parametrize(("first", "second"), [(b"four", b"eight888"), (b"eight888", b"four")])
def test_digests_of_two_lengths_are_refused(first: bytes, second: bytes) -> None:
    """A digest of another length would shift all that follow: it is refused, and nothing is taken in."""
    one, two = [(digest, [1, 2], [Proof.HASHED] * 2) for digest in (first, second)]
    classes = table([one])
    with pytest.raises(ValueError, match="beside others"):
        classes.append(second, [3, 4], Proof.HASHED)
    with pytest.raises(ValueError, match="beside others"):
        classes.extend(table([two]))
    assert plain(classes) == [one]


def test_a_proof_is_of_each_member() -> None:
    """Another number of proofs than of members would shift all that follow: it is refused, and nothing is taken in."""
    classes = Classes()
    with pytest.raises(ValueError, match="1 proofs of 2 members"):
        classes.append(None, [1, 2], [Proof.HASHED])
    assert plain(classes) == []


def test_the_weakest_proof_counts() -> None:
    """A chain is as strong as its weakest part, and where a part is unknown so is the chain."""
    assert Proof.weakest([Proof.COMPARED, Proof.HASHED]) == Proof.HASHED
    assert Proof.weakest([Proof.REMEMBERED, Proof.COMPARED]) == Proof.REMEMBERED
    assert Proof.weakest([Proof.COMPARED, None]) is None
    assert Proof.weakest([]) is None
