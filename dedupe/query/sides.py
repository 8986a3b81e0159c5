"""Which files are on the card, which in the archive, and which are one file on both sides.  Reads no content.

A file that is on both sides does not hold itself: it goes with the card.  It does where the archive has it under a
further hard link, whose place is none of the card's.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dedupe.catalog.offline import Offline
from dedupe.files.table import FileTable
from dedupe.report.units import counted
from dedupe.result import Problem, ProblemKind
from dedupe.scan.list_files import Sets, group_by_size
from dedupe.scan.same_files import possible_files, same_content, same_files, showing_mounts
from dedupe.scan.unite import is_independent
from dedupe.storage.opener import Opener
from dedupe.walk.listing import Listing


@dataclass(slots=True)
class Sides:
    """Both sides in one table: the names on the card first, then those in the archive.

    A physical file is known by one of its names: one in the archive if it is held there, else its first on the card.
    """

    table: FileTable
    card_names: int  # how many names are on the card
    sets: Sets = field(default_factory=list)  # physical files of one size, of both sides in each
    further: dict[int, list[int]] = field(default_factory=dict)  # by first name on the card: the others there
    linked: set[int] = field(default_factory=set)  # first names on the card of files that the archive has as hard links
    shared: set[int] = field(default_factory=set)  # likewise, of those on both sides that it has not
    ghosts: set[int] = field(default_factory=set)  # names in the archive that a catalog tells to be on the card
    same_names: set[int] = field(default_factory=set)  # names on the card that are not their file's first there

    def is_on_card(self, i: int) -> bool:
        """Return whether a file is on the card and not held by being in the archive as well."""
        return i < self.card_names

    def are_on_both(self, members: Sequence[int]) -> bool:
        """Return whether some files, in the order of the table, are from both sides."""
        return self.is_on_card(members[0]) and not self.is_on_card(members[-1])

    @property
    def empty_files(self) -> int:
        """Return how many names on the card hold nothing."""
        return self.table.size[: self.card_names].count(0)

    @property
    def catalogued_files(self) -> int:
        """Return how many files of the card only a catalog tells of."""
        away = {n for n, volume in enumerate(self.table.volumes) if volume.offline}
        return sum(self.table.volume[i] in away for i in self.card_files()) if away else 0

    def card_files(self) -> Iterator[int]:
        """Yield the files of the card, each by its first name, without those that are empty."""
        size = self.table.size
        return (i for i in range(self.card_names) if size[i] and i not in self.same_names)


def roots_without_files(table: FileTable, roots: Sequence[bytes]) -> list[Problem]:
    """Return a problem for each root of the card below which nothing is: it may be where a disk should be mounted.

    Args:
        table: what was found on the card.
        roots: of the card, by their numbers.
    """
    filled = (
        set(map(table.root_of, range(len(table))))
        if table.named_root
        else {table.folder_root[folder] for folder in set(table.folder)}
    )
    problems = []
    for root in (root for number, root in enumerate(roots) if number not in filled):
        within = os.path.join(root, b"")
        below = {n for n, folder in enumerate(table.folders) if folder.startswith(within)}  # another root may lie there
        if not any(table.left_out[n] > 0 for n in below) and below.isdisjoint(table.folder):
            problems.append(Problem(root, ProblemKind.NOT_FOUND, "holds no file: check that it is what you mean"))
    return problems


def unread_problems(offline: Offline) -> list[Problem]:
    """Return a problem for each catalog of the card that lacks what could not be read when it was finished."""
    return [
        Problem(path, ProblemKind.IO, f"{counted(count, 'entry', 'entries')} could not be read for this catalog")
        for path, count in offline.unread.items()
    ]


def joined(card: Listing, archive: Listing, roots: int, archive_roots: int) -> Sides:
    """Return both sides in one table.

    Args:
        card: its listing, whose table takes in the other.
        archive: its listing.
        roots: how many the card has; those of the archive are numbered after them.
        archive_roots: how many the archive has.
    """
    names = len(card.table)
    archive.table.number_roots(range(roots, roots + archive_roots))
    card.table.extend(archive.table)
    return Sides(card.table, names)


def tell_sides(sides: Sides, opener: Opener) -> None:
    """Find out which names are one file, and which sizes both sides have."""
    table, card_names = sides.table, sides.card_names
    showing = showing_mounts(table)
    for members in group_by_size(table):
        if sides.ghosts:
            members = array("I", (i for i in members if i not in sides.ghosts))  # noqa: PLW2901
        if (
            not members or not table.size[members[0]] or members[0] >= card_names
        ):  # in the order of the table: none on the card
            continue
        left = set(members)
        for names in same_files(table, members, opener, showing):
            left.difference_update(names)
            left.update(_representatives(sides, names))
        physical = array("I", sorted(left))
        if physical and sides.are_on_both(physical):
            sides.sets.append(physical)


def _representatives(sides: Sides, names: Sequence[int]) -> Iterator[int]:
    """Yield the name that stands for a file where contents are compared, and note what its names tell."""
    table = sides.table
    on_card = _named_on_card(sides, names)
    in_archive = sorted(
        (i for i in names if not sides.is_on_card(i)), key=lambda i: (i in table.symlinks, table.path(i))
    )
    if on_card:
        first = on_card[0]
        real = next((i for i in in_archive if all(is_independent(table, i, on) for on in on_card)), None)
        if real is not None:
            sides.linked.add(first)
        elif in_archive:
            sides.shared.add(first)
        yield first if real is None else real
    else:
        yield in_archive[0]


def _named_on_card(sides: Sides, names: Sequence[int]) -> list[int]:
    """Return the names of one file that are on the card, in the order of paths, and note all but the first."""
    table = sides.table
    on_card = sorted((i for i in names if sides.is_on_card(i)), key=table.path)
    sides.same_names.update(on_card[1:])
    by_path = {table.path(i): i for i in on_card}  # a root inside a root can bring one path twice
    if len(by_path) > 1:
        first = on_card[0]
        known = [i for name in on_card for i in sides.further.pop(name, ())]
        further = [i for i in by_path.values() if table.path(i) != table.path(first)]
        sides.further[first] = sorted({*known, *further}, key=table.path)
    return on_card


def not_held_by_itself(sides: Sides, members: Sequence[int], opener: Opener) -> dict[int, list[int]]:
    """Return of files on the card which in the archive cannot hold them though they are equal: it may be the same.

    Asked of equal files whose numbers may be others' as well.  The names of one on the card are noted too.
    """
    table, showing = sides.table, showing_mounts(sides.table)
    for names in same_content(table, members, opener, showing):
        _named_on_card(sides, names)
    own: dict[int, list[int]] = {}
    for names in possible_files(table, members, opener, showing):
        on_card = [i for i in names if sides.is_on_card(i)]
        in_archive = [i for i in names if not sides.is_on_card(i)]
        independent = {i for i in in_archive if all(is_independent(table, i, on) for on in on_card)}
        for i in on_card:
            own[i] = [other for other in in_archive if other not in independent]
            if in_archive and i not in sides.same_names:
                (sides.linked if independent else sides.shared).add(i)
    return own
