"""Which names are one physical file.  Opens files, and reads none.

Told as one: the same inode of the same volume.  A number that was given up during the walk may be another file's by
the time it is seen again; so where two stats of one number differ, both names are looked at once more while the first
is held open: an open file's number can be nobody else's.  Where a file system makes its numbers up, or passes on those
of several disks, even that says little: there each name is read as a file of its own, and `same_content` is asked about
those that turned out to be equal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import TypeAlias

from dedupe.files.columns import column_getter
from dedupe.files.grouping import group_by_key, is_each_unlike
from dedupe.files.table import FileTable
from dedupe.storage import file_stat, layers, volumes
from dedupe.storage.opener import Opener

_Telling: TypeAlias = Callable[[FileTable, Sequence[int], Opener], Iterator[list[int]]]  # which of some names are one


def showing_mounts(table: FileTable) -> frozenset[int]:
    """Return the mounts whose files may be ones that lie elsewhere, as those of an overlay."""
    mounts = enumerate(table.mounts)
    return frozenset(n for n, m in mounts if m.prefix and not m.volume.offline and layers.shows_others(m.prefix))


def same_files(
    table: FileTable, members: Sequence[int], opener: Opener, showing: Collection[int] = ()
) -> Iterable[list[int]]:
    """Yield the names of each file that has more than one, where that can be told without reading them.

    Args:
        table: the files.
        members: names, all those of one size.
        opener: opens and looks at names of one number.
        showing: mounts whose files may be ones that lie elsewhere.
    """
    if table.has_unstable_inodes and (loose := _loose(table, members)):
        apart = set(loose)
        sure = _united(table, [i for i in members if i not in apart], opener, showing)
        return chain(sure, _of_one_path(table, loose))
    return _united(table, members, opener, showing)


def possible_files(
    table: FileTable, members: Sequence[int], opener: Opener, showing: Collection[int] = ()
) -> Iterable[list[int]]:
    """Yield the same of all names that may be one file: whoever asks takes them for one to be on the safe side."""
    return _united(table, members, opener, showing, loose=_looked_at)


def same_content(
    table: FileTable, members: Sequence[int], opener: Opener, showing: Collection[int] = ()
) -> Iterable[list[int]]:
    """Yield the same of names whose content is equal: with a number that may be another's, all else must be equal."""
    return _united(table, members, opener, showing, loose=_alike)


def has_loose(table: FileTable, members: Iterable[int]) -> bool:
    """Return whether the number of any of some files may be another's as well."""
    return not all(table.volumes[n].stable_inodes for n in {table.volume[i] for i in members})


def _loose(table: FileTable, members: Sequence[int]) -> Sequence[int]:
    return [i for i in members if not table.volumes[table.volume[i]].stable_inodes]


def _of_one_path(table: FileTable, members: Sequence[int]) -> Iterator[list[int]]:
    """Yield the names that lead to one path, which is one file whatever its number."""
    detours = table.symlinks or any(mount.linked for mount in table.mounts)
    by_path: dict[bytes, list[int]] = {}
    for i in members:
        path = table.path(i)
        by_path.setdefault(os.path.realpath(path) if detours else path, []).append(i)
    yield from (names for names in by_path.values() if len(names) > 1)


def _united(
    table: FileTable,
    members: Sequence[int],
    opener: Opener,
    showing: Collection[int],
    loose: _Telling | None = None,
) -> Iterable[list[int]]:
    """Yield the names of each file that has more than one; `loose` tells which of some names of one loose number are.

    Without it there must be no such names.
    """
    # nearly never do any share an inode number, and all else is looked at only then
    alone = not table.has_unstable_inodes and is_each_unlike(column_getter(table.inode)(members))
    told: Iterable[list[int]] = () if alone else _of_equal_numbers(table, members, opener, loose)
    if showing and any(table.folder_mount[table.folder[i]] in showing for i in members):
        return _seen_through(table, members, list(told), showing)
    return told


def _seen_through(
    table: FileTable, members: Sequence[int], told: Sequence[list[int]], showing: Collection[int]
) -> Iterator[list[int]]:
    """Yield the same with the names counted in by which another file system shows a file."""
    owner = {i: names for names in told for i in names}
    by_identity: dict[tuple[int, int], list[int]] = {}
    for i in members:
        volume, path = table.volumes[table.volume[i]], table.path(i)
        if volume.offline:
            continue
        identities = set(layers.identities(path)) if table.folder_mount[table.folder[i]] in showing else set()
        if inode := table.stable_inode_of(i):  # others have been told apart as far as they can be
            identities.add((volume.device, inode))
        for identity in identities:
            mine = owner.setdefault(i, [i])
            known = by_identity.setdefault(identity, mine)
            if known is not mine:
                known += mine
                owner.update(dict.fromkeys(mine, known))
                by_identity.update({key: known for key, names in by_identity.items() if names is mine})
    yield from (names for names in {id(names): names for names in owner.values()}.values() if len(names) > 1)


def _of_equal_numbers(
    table: FileTable, members: Sequence[int], opener: Opener, loose: _Telling | None
) -> Iterator[list[int]]:
    if loose is not None and table.has_unstable_inodes:
        yield from _of_loose_numbers(table, _loose(table, members), opener, loose)
        members = [i for i in members if table.volumes[table.volume[i]].stable_inodes]
    disks = _disks(table)
    for same in group_by_key(members, column_getter(table.inode)):
        for names in group_by_key(same, lambda some: [_identity(table, i, disks) for i in some]):
            if _are_sure(table, names):
                yield list(names)
            else:
                yield from _looked_at(table, names, opener)


def _of_loose_numbers(
    table: FileTable, members: Sequence[int], opener: Opener, telling: _Telling
) -> Iterator[list[int]]:
    """Yield the names of each file where numbers do not stay: by place in the volume, then by a look at both."""
    places: dict[tuple[int, bytes, int], list[int]] = {}
    for i in members:  # with the time: one name of a server may stand for several, behind tunnels
        places.setdefault((table.volume[i], table.relative_path(i), table.times(i)[0]), []).append(i)
    by_first = {names[0]: names for names in places.values()}
    for same in group_by_key(list(by_first), lambda some: [(table.volume[i], table.inode_of(i)) for i in some]):
        for firsts in telling(table, same, opener) if table.inode_of(same[0]) else ():
            yield [name for first in firsts for name in by_first.pop(first)]
    yield from (names for names in by_first.values() if len(names) > 1)


def _disks(table: FileTable) -> list[int]:
    """Return of each volume the first that is the same by its device on one host, whatever each was mounted as.

    A server's folder and one inside it are mounted under two names, and so may one disk be: their numbers are the same.
    """
    numbers: dict[tuple[str, int], int] = {}
    return [numbers.setdefault((volume.host, volume.device), n) for n, volume in enumerate(table.volumes)]


def _identity(table: FileTable, i: int, disks: Sequence[int]) -> tuple[object, ...]:
    """Return what names of one file must share; without an inode number each path in a volume stands alone."""
    inode = table.inode_of(i)
    return (disks[table.volume[i]], inode) if inode else (table.volume[i], table.relative_path(i))


def _are_sure(table: FileTable, names: Sequence[int]) -> bool:
    """Return whether names of one number are one file beyond doubt: all were seen with the same times."""
    return not table.inode_of(names[0]) or len({table.times(i) for i in names}) == 1


def _looked_at(table: FileTable, names: Sequence[int], opener: Opener) -> Iterator[list[int]]:
    """Yield those of some names that are one file now, and give that file the times that it has now.

    A name that is gone stands for itself: it is told when it is read.
    """

    def with_number(descriptor: int, first: int, others: Sequence[int]) -> list[int]:
        identity = file_stat.identity(descriptor)
        same = [i for i in others if _identity_now(table.path(i), opener) == identity]
        if same:
            now = file_stat.of_descriptor(descriptor)
            for i in (first, *same) if now.size == table.size[first] else ():
                table.set_times(i, now.modified_ns, now.changed_ns)
        return same

    return _held_open(table, names, opener, with_number)


def _alike(table: FileTable, names: Sequence[int], opener: Opener) -> Iterator[list[int]]:
    """Yield those of some names of equal content that are one file: all that tells of them is equal, and is as it was.

    A file must have several names for that, unless one of these is where another file is mounted.
    """
    points = volumes.points()

    def with_all(descriptor: int, first: int, others: Sequence[int]) -> list[int]:
        seen, identity = os.fstat(descriptor), file_stat.identity(descriptor)
        known = file_stat.of_descriptor(descriptor)[:3]
        if known != (table.size[first], *table.times(first)):
            return []
        same = []
        for i in others:
            path = table.path(i)
            with suppress(OSError):
                is_one = opener.identity(path) == identity and opener.stat(path)[:3] == known
                links = os.stat(path, follow_symlinks=opener.follow).st_nlink
                several = seen.st_nlink > 1 or any(os.path.realpath(p) in points for p in (path, table.path(first)))
                if is_one and several and links == seen.st_nlink:
                    same.append(i)
        return same

    return _held_open(table, names, opener, with_all)


def _held_open(
    table: FileTable,
    names: Sequence[int],
    opener: Opener,
    same_as: Callable[[int, int, Sequence[int]], Sequence[int]],
) -> Iterator[list[int]]:
    """Yield names of one file, found by holding one after the other open: `same_as` returns which others it has."""
    left = list(names)
    while len(left) > 1:
        first, *others = left
        try:
            descriptor = opener.open(table.path(first))
        except OSError:
            left = others
            continue
        try:
            same = same_as(descriptor, first, others)
        finally:
            os.close(descriptor)
        if same:
            yield [first, *same]
        left = [i for i in others if i not in same]


def _identity_now(path: bytes, opener: Opener) -> tuple[int, int] | None:
    try:
        return opener.identity(path)
    except OSError:
        return None
