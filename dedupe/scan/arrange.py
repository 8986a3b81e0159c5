"""From classes to groups in their order, without files that changed while they stood there by memory alone.

Ordering is this process's work, and looking at files is the workers': they do both at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from dedupe.files.classes import Classes
from dedupe.files.groups import FoundGroups
from dedupe.files.table import FileTable
from dedupe.result import Problem
from dedupe.scan.confirm import Confirmed
from dedupe.scan.look_again import Seen, look_again
from dedupe.scan.scope import ScopeFilter
from dedupe.scan.session import Session
from dedupe.scan.unite import United


class Arranged(NamedTuple):
    """The groups of a scan in their order, and the files that are in none since they have changed."""

    groups: FoundGroups
    problems: Sequence[Problem] = ()


def arrange(
    session: Session, table: FileTable, united: United, confirmed: Confirmed, scope: ScopeFilter, algorithm: str
) -> Arranged:
    """Return the groups in the order of a report.

    Args:
        session: the means.
        table: the files.
        united: which names are one file.
        confirmed: the classes of equal files.
        scope: which of them are asked for.
        algorithm: by which they were confirmed.
    """
    scope.take_classes(confirmed.classes)
    if not confirmed.remembered:
        return Arranged(FoundGroups(table, confirmed.classes, united.names, algorithm))
    with session.phase("recheck", len(confirmed.remembered)):
        looks = look_again(session, table, confirmed.remembered)
        first = next(looks)  # sets the workers to work
        groups = FoundGroups(table, confirmed.classes, united.names, algorithm)
        changed, problems = _changed(session, chain((first,), looks))
    if changed:
        groups = FoundGroups(table, _without(confirmed.classes, changed, scope), united.names, algorithm)
    return Arranged(groups, problems)


def _changed(session: Session, looks: Iterator[tuple[Sequence[int], Seen]]) -> tuple[set[int], list[Problem]]:
    """Return the files that have changed, and the problems that they are."""
    changed: set[int] = set()
    problems: list[Problem] = []
    done = 0
    for members, seen in looks:
        changed.update(members[place] for place in seen.changed)
        problems += seen.problems
        done += len(members)
        session.progress.reach(done)
    return changed, problems


def _without(classes: Classes, gone: set[int], scope: ScopeFilter) -> Classes:
    """Return the classes without some members, and without those of which is left too little, or not what is asked."""
    left = Classes()
    for n, (digest, members) in enumerate(classes):
        kept = [(i, proof) for i, proof in zip(members, classes.proofs(n, n + 1), strict=True) if i not in gone]
        if len(kept) > 1 and scope.fits([i for i, _ in kept]):
            left.append(digest, [i for i, _ in kept], [proof for _, proof in kept])
    return left
