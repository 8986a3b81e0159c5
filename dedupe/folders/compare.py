"""Which whole folders are identical, and how much of one another holds.  Works on a result only: reads nothing.

Names are compared by content, so a result must say how many files lie below each folder (`ScanResult.folders`):
unique files and entries that were left out must count, or "holds all of it" would be a lie.  A file that has several
names (hard links) but no copy is in no group and counts as unique: shares are never told too high.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from itertools import chain
from typing import NamedTuple

from dedupe.folders.tree import FolderTree
from dedupe.result import ScanResult

_LEAST = 0.5  # a folder of which no other holds half is no copy of anything
_NEARLY = 0.9  # a folder further down that holds so much of the best says more than the one above it
_VOTES = 8  # names of one content that may name a candidate: contents with many copies must not cost their square


class IdenticalFolders(NamedTuple):
    """Folders with the same relative names and contents of every file that was compared."""

    folders: tuple[bytes, ...]  # sorted; two or more
    files: int  # names below each
    bytes: int  # their sizes, below each
    reclaimable_bytes: int  # sizes of the physical files that the first folder does not hold
    left_out: int  # the most entries below one of them of which nothing is known: 0 means identical without an "if"


class ContainedFolder(NamedTuple):
    """A folder of whose files another holds at least half, under whatever names."""

    folder: bytes
    holder: bytes
    files: int  # names below `folder`
    bytes: int
    held_files: int  # those of them whose content is below `holder` too
    held_bytes: int
    linked_files: int  # those held names that are only further names (hard links) of files below `holder`
    left_out: int  # entries below `folder` of which nothing is known

    @property
    def tells_something(self) -> bool:
        """Whether the share is worth telling, and there is anything to win."""
        return self.held_files >= _LEAST * self.files and self.held_bytes > 0


class FolderReport(NamedTuple):
    """Both answers, the most bytes first."""

    identical: tuple[IdenticalFolders, ...] = ()
    contained: tuple[ContainedFolder, ...] = ()


def compare_folders(result: ScanResult) -> FolderReport:
    """Return which listed folders are identical, and which are held by another to at least half.

    Of identical folders the topmost are told, not again the folders below them; likewise of held ones, unless a folder
    further down is held elsewhere.  `holder` never lies below or above `folder`.  Folders with nothing to win (all the
    same files by hard links, or empty ones) are left out.  The time grows with names times their depth.
    """
    if not result.folders:
        return FolderReport()
    tree = FolderTree(result.groups, result.folders)
    identical, covered = _identical(tree)
    contained = _contained(tree, covered)
    return FolderReport(
        tuple(sorted(identical, key=lambda each: (-each.reclaimable_bytes, each.folders))),
        tuple(sorted(contained, key=lambda each: (-each.held_bytes, each.folder))),
    )


def _identical(tree: FolderTree) -> tuple[list[IdenticalFolders], set[int]]:
    """Return the topmost sets of identical folders, and every folder that is in a set, told or not."""
    shapes = _shapes(tree)
    sets: dict[int, list[int]] = {}
    for folder, shape in shapes.items():
        sets.setdefault(shape, []).append(folder)
    told: list[IdenticalFolders] = []
    covered: set[int] = set()
    seen = bytearray(tree.files)
    for members in sets.values():
        if len(members) > 1 and (found := _identical_set(tree, members, seen)).reclaimable_bytes:
            covered.update(members)
            above = [tree.above[member] for member in members]
            same_above = {shapes.get(each, -1 - each) for each in above}
            if len(same_above) > 1 or len(set(above)) < len(above):
                told.append(found)
    return told, covered


def _shapes(tree: FolderTree) -> dict[int, int]:
    """Return a number for each folder whose files all are in groups: the same for the same names and contents."""
    numbers: dict[bytes, int] = {}  # by the hash of what lies in a folder: as objects all names would be in memory
    shapes: dict[int, int] = {}
    inside: dict[int, list[tuple[bytes, int]]] = {}
    for folder in reversed(range(len(tree.paths))):  # what lies below comes first
        below = inside.pop(folder, [])
        if len(tree.below(folder)) != tree.counts[folder].files:
            continue
        items = below + [(tree.name(i), tree.group_of[i]) for i in tree.direct(folder)]
        told = blake2b(digest_size=32)
        for name, number in sorted(items):
            told.update(b"%b\0%d\0" % (name, number))  # no name holds a NUL
        shapes[folder] = shape = numbers.setdefault(told.digest(), len(numbers))
        if tree.above[folder] >= 0:
            inside.setdefault(tree.above[folder], []).append((tree.relative(folder), -1 - shape))
    return shapes


def _identical_set(tree: FolderTree, members: list[int], seen: bytearray) -> IdenticalFolders:
    """Return what is to be told of identical folders; `seen` has a zero for each file, and is left as it was."""
    first, *others = members
    for i in tree.below(first):
        seen[tree.file_of[i]] = 1
    freed = 0
    for i in chain.from_iterable(map(tree.below, others)):
        if not seen[tree.file_of[i]]:
            seen[tree.file_of[i]] = 1
            freed += tree.sizes[tree.group_of[i]]
    for i in chain.from_iterable(map(tree.below, members)):
        seen[tree.file_of[i]] = 0
    counts = [tree.counts[member] for member in members]
    return IdenticalFolders(
        folders=tuple(sorted(tree.paths[member] for member in members)),
        files=counts[0].files,
        bytes=counts[0].bytes,
        reclaimable_bytes=freed,
        left_out=max(count.left_out for count in counts),
    )


def _contained(tree: FolderTree, covered: set[int]) -> Iterator[ContainedFolder]:
    """Yield the topmost held folders, and those below them that are held elsewhere."""
    holders: dict[int, int] = {}  # folder -> holder of the closest told folder at or above it
    folder = 0
    while folder < len(tree.paths):
        if folder in covered:
            folder = tree.ends[folder]
            continue
        inherited = holders.get(tree.above[folder], -1)
        holder = _holder(tree, folder)
        found = _measured(tree, folder, holder) if holder >= 0 else None
        if found is not None and found.tells_something:
            if not 0 <= inherited <= holder < tree.ends[inherited]:
                inherited = holder
                yield found
            if found.held_files == found.files:
                folder = tree.ends[folder]
                continue
        holders[folder] = inherited
        folder += 1


def _holder(tree: FolderTree, folder: int) -> int:
    """Return the folder beside this one that holds most of its contents as other physical files, -1 for none.

    That is the smallest of those that hold most, or a folder below it that holds nearly as much.
    """
    start, end = folder, tree.ends[folder]
    if len(tree.below(folder)) < _LEAST * tree.counts[folder].files:
        return -1
    kinds: Counter[tuple[int, ...]] = Counter()
    places, holding = tree.places, tree.holding
    for i in tree.below(folder):
        own = tree.file_of[i]
        begin, stop = tree.holders(tree.group_of[i])
        low, high = bisect_left(places, start, begin, stop), bisect_left(places, end, begin, stop)
        before = range(begin, min(low, begin + _VOTES))
        after = range(high, min(stop, high + _VOTES - len(before)))
        kinds[tuple(dict.fromkeys(places[j] for each in (before, after) for j in each if holding[j] != own))] += 1
    votes: Counter[int] = Counter()
    for kind, count in kinds.items():
        lifted: set[int] = set()
        for place in kind:
            while place not in lifted and not place <= start < tree.ends[place]:
                lifted.add(place)
                if (place := tree.above[place]) < 0:
                    break
        for place in lifted:
            votes[place] += count
    return _best(tree, votes)


def _best(tree: FolderTree, votes: Counter[int]) -> int:
    """Return the smallest folder with the most votes, or a folder below it with nearly as many."""
    if not votes:
        return -1
    most = max(votes.values())
    best = min((p for p, n in votes.items() if n == most), key=lambda p: (tree.counts[p].files, p))
    below: dict[int, list[int]] = {}
    for place, count in votes.items():
        if count >= _NEARLY * most:
            below.setdefault(tree.above[place], []).append(place)
    while best in below:
        best = min(below[best], key=lambda p: (-votes[p], tree.counts[p].files, p))
    return best


def _measured(tree: FolderTree, folder: int, holder: int) -> ContainedFolder:
    """Return how much of a folder's files the holder really has, counted over all names."""
    held_files = held_bytes = linked = 0
    for i in tree.below(folder):
        group = tree.group_of[i]
        begin, stop = tree.holders(group)
        low = bisect_left(tree.places, holder, begin, stop)
        high = bisect_left(tree.places, tree.ends[holder], low, stop)
        if low < high:
            held_files += 1
            held_bytes += tree.sizes[group]
            linked += all(tree.holding[j] == tree.file_of[i] for j in range(low, high))
    count = tree.counts[folder]
    return ContainedFolder(
        folder=tree.paths[folder],
        holder=tree.paths[holder],
        files=count.files,
        bytes=count.bytes,
        held_files=held_files,
        held_bytes=held_bytes,
        linked_files=linked,
        left_out=count.left_out,
    )
