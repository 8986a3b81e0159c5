"""From classes of equal content to the files of the card that the archive holds.  Reads no content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dedupe.query.sides import Sides
from dedupe.result import Problem, Proof
from dedupe.scan.confirm import Confirmed
from dedupe.scan.look_again import look_again
from dedupe.scan.session import Session

HELD, HELD_BY_MEMORY = 1, 2


@dataclass(slots=True)
class Held:
    """Which files of the card are held, and files that changed while memory alone stood for them."""

    states: bytearray  # by name on the card: 0 where it is not held by content
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
        proofs = classes.proofs(n, n + 1) if confirmed.remembered else [Proof.COMPARED] * len(members)
        _take(held, sides, [(i, proof) for i, proof in zip(members, proofs, strict=True) if i not in changed])
    return held


def _take(held: Held, sides: Sides, members: Sequence[tuple[int, Proof]]) -> None:
    """Note the files on the card of one class that has any in the archive."""
    holders = [proof for i, proof in members if not sides.is_on_card(i)]
    if not holders:
        return
    by_memory = all(proof is Proof.REMEMBERED for proof in holders)
    for i, proof in members:
        if sides.is_on_card(i):
            held.states[i] = HELD_BY_MEMORY if by_memory or proof is Proof.REMEMBERED else HELD
