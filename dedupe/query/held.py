"""From classes of equal content to the files of the card that the archive holds.  Reads no content."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from dedupe.catalog.offline import Offline
from dedupe.query.sides import Sides, not_held_by_itself
from dedupe.result import Problem, Proof
from dedupe.scan.confirm import Confirmed
from dedupe.scan.list_files import Sets
from dedupe.scan.look_again import look_again
from dedupe.scan.same_files import has_loose
from dedupe.scan.session import Session

HELD, HELD_BY_MEMORY, HELD_OFFLINE, PROBABLE = 1, 2, 3, 4


@dataclass(slots=True)
class Held:
    """Which files of the card are held, and files that changed while memory alone stood for them."""

    states: bytearray  # by name on the card: how it is held by content, 0 where it is not
    problems: list[Problem] = field(default_factory=list)


def hold(session: Session, sides: Sides, confirmed: Confirmed) -> Held:
    """Return which files of the card have the content of one in the archive.

    What a remembered digest stands for is looked at once more: it was last seen by the walk.
    """
    held, changed = Held(bytearray(sides.card_names)), set[int]()
    if confirmed.remembered:
        with session.phase("recheck", len(confirmed.remembered)):
            for members, seen in look_again(session, sides.table, confirmed.remembered):
                changed.update(members[place] for place in seen.changed)
                held.problems += seen.problems
    classes = confirmed.classes
    for n, (_, members) in enumerate(classes):
        proofs = classes.proofs(n, n + 1)
        present = [(i, proof) for i, proof in zip(members, proofs, strict=True) if i not in changed]
        if has_loose(sides.table, members):
            _take_apart(held, sides, present, not_held_by_itself(sides, [i for i, _ in present], session.opener))
        else:
            _take(held, sides, present)
    return held


def _take(held: Held, sides: Sides, members: Sequence[tuple[int, Proof]]) -> None:
    """Note the files on the card of one class that has any in the archive."""
    holders = {proof for i, proof in members if not sides.is_on_card(i)}
    if not holders:
        return
    for i, proof in members:
        if sides.is_on_card(i):
            held.states[i] = _state(proof, holders)


def _take_apart(
    held: Held, sides: Sides, members: Sequence[tuple[int, Proof]], own: Mapping[int, Sequence[int]]
) -> None:
    """Note the same where files of the archive may be those of the card: `own` has of each which they are."""
    for i, proof in members:
        if sides.is_on_card(i):
            holders = {p for j, p in members if not sides.is_on_card(j) and j not in own.get(i, ())}
            if holders:
                held.states[i] = _state(proof, holders)


def _state(proof: Proof, holders: Collection[Proof]) -> int:
    """Return how a file is held, by its own proof and those of the files that hold it."""
    if all(each is Proof.OFFLINE for each in holders):
        return HELD_OFFLINE
    read_now = (Proof.COMPARED, Proof.HASHED)
    known = (*read_now, Proof.OFFLINE)  # what only a catalog tells of the card, nobody can read instead
    return HELD if proof in known and any(each in read_now for each in holders) else HELD_BY_MEMORY


def hold_probably(held: Held, sides: Sides, offline: Offline, sets: Sets) -> None:
    """Note the files that only a catalog without digests has, by size and fingerprint."""
    for members in sets if offline.undigested else ():
        in_archive = any(i in offline.undigested and not sides.is_on_card(i) for i in members)
        for i in members:
            if sides.is_on_card(i) and not held.states[i] and (in_archive or i in offline.undigested):
                held.states[i] = PROBABLE
