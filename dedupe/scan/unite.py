"""Which names are one physical file, and of which nature each further name is.  Opens files, and reads none.

Told as one: the same inode of the same volume.  A number that was given up during the walk may be another file's by
the time it is seen again, and some file systems make their numbers up; so where two stats of one number differ, or the
numbers do not stay with their files, both names are looked at once more while the first is held open: an open file's
number can be nobody else's.
"""

from __future__ import annotations

import os
import unicodedata
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from dedupe.files.columns import column_getter
from dedupe.files.grouping import group_by_key
from dedupe.files.table import FileTable
from dedupe.result import NameKind
from dedupe.storage import file_stat, layers, volumes
from dedupe.storage.opener import Opener


@dataclass(slots=True)
class United:
    """Sets of physical files, each by its first name, and the further names that were found for some."""

    sets: list[array[int]] = field(default_factory=list)
    names: dict[int, list[tuple[int, NameKind]]] = field(default_factory=dict)  # by first name, in the order of paths
    files: int = 0  # names that are not their file's first
    bytes: int = 0  # of the sizes that those would count for


def unite_hard_links(table: FileTable, sets: Iterable[Sequence[int]], opener: Opener) -> United:
    """Return the sets with one name for each physical file, and no set of a single one.

    Args:
        table: the files.
        sets: those of one size.
        opener: opens and looks at names of one number.
    """
    united, showing = United(), showing_mounts(table)
    for members in sets:
        further: set[int] = set()
        for names in same_files(table, members, opener, showing):
            first, others = _in_order(table, names)
            further.update(names)
            further.discard(first)
            if others:
                united.names[first] = others
        if further:
            united.files += len(further)
            united.bytes += table.size[members[0]] * len(further)
        if len(members) - len(further) > 1:
            united.sets.append(array("I", (i for i in members if i not in further)) if further else array("I", members))
    return united


def showing_mounts(table: FileTable) -> frozenset[int]:
    """Return the mounts whose files may be ones that lie elsewhere, as those of an overlay."""
    mounts = enumerate(table.mounts)
    return frozenset(n for n, m in mounts if m.prefix and not m.volume.offline and layers.shows_others(m.prefix))


def same_files(
    table: FileTable, members: Sequence[int], opener: Opener, showing: Collection[int] = ()
) -> Iterable[list[int]]:
    """Yield the names of each file that has more than one.

    Args:
        table: the files.
        members: names, all those of one size.
        opener: opens and looks at names of one number.
        showing: mounts whose files may be ones that lie elsewhere.
    """
    told = _of_equal_numbers(table, members, opener)
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
        if inode := table.inode_of(i):
            identities.add((volume.device, inode))
        for identity in identities:
            mine = owner.setdefault(i, [i])
            known = by_identity.setdefault(identity, mine)
            if known is not mine:
                known += mine
                owner.update(dict.fromkeys(mine, known))
                by_identity.update({key: known for key, names in by_identity.items() if names is mine})
    yield from (names for names in {id(names): names for names in owner.values()}.values() if len(names) > 1)


def _of_equal_numbers(table: FileTable, members: Sequence[int], opener: Opener) -> Iterator[list[int]]:
    if table.has_unstable_inodes:
        loose = [i for i in members if not table.volumes[table.volume[i]].stable_inodes]
        yield from _of_loose_numbers(table, loose, opener)
        members = [i for i in members if table.volumes[table.volume[i]].stable_inodes]
    disks = _disks(table)
    # nearly never do any share an inode number, and all else is looked at only then
    for same in group_by_key(members, column_getter(table.inode)):
        for names in group_by_key(same, lambda some: [_identity(table, i, disks) for i in some]):
            if _are_sure(table, names):
                yield list(names)
            else:
                yield from _looked_at(table, names, opener)


def _of_loose_numbers(table: FileTable, members: Sequence[int], opener: Opener) -> Iterator[list[int]]:
    """Yield the names of each file where numbers do not stay: by place in the volume, then by a look at both."""
    places: dict[tuple[int, bytes, int], list[int]] = {}
    for i in members:  # with the time: one name of a server may stand for several, behind tunnels
        places.setdefault((table.volume[i], table.relative_path(i), table.times(i)[0]), []).append(i)
    by_first = {names[0]: names for names in places.values()}
    for same in group_by_key(list(by_first), lambda some: [(table.volume[i], table.inode_of(i)) for i in some]):
        for firsts in _looked_at(table, same, opener) if table.inode_of(same[0]) else ():
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
    left = list(names)
    while len(left) > 1:
        first, *others = left
        try:
            descriptor = opener.open(table.path(first))
        except OSError:
            left = others
            continue
        try:
            identity = file_stat.identity(descriptor)
            same = [i for i in others if _identity_now(table.path(i), opener) == identity]
            if same:
                now = file_stat.of_descriptor(descriptor)
                for i in (first, *same) if now.size == table.size[first] else ():
                    table.set_times(i, now.modified_ns, now.changed_ns)
                yield [first, *same]
        finally:
            os.close(descriptor)
        left = [i for i in others if i not in same]


def _identity_now(path: bytes, opener: Opener) -> tuple[int, int] | None:
    try:
        return opener.identity(path)
    except OSError:
        return None


def _in_order(table: FileTable, names: Sequence[int]) -> tuple[int, list[tuple[int, NameKind]]]:
    """Return the first name of a file, a real one where there is any, and the others with their nature."""
    by_path = {table.path(i): i for i in names}  # a root inside a root can bring one path twice
    ordered = sorted(by_path, key=lambda path: (*_detour(table, by_path[path]), path))
    first, *others = (by_path[path] for path in ordered)
    known = {table.relative_path(first)}
    kinds = {}
    for i in others:
        place = table.relative_path(i)
        kinds[i] = _kind(table, i, first, is_known=place in known)
        known.add(place)
    return first, [(by_path[path], kinds[by_path[path]]) for path in sorted(by_path) if by_path[path] in kinds]


def without_views(table: FileTable, members: Sequence[int], opener: Opener, showing: Collection[int]) -> Sequence[int]:
    """Return names of one size without those by which a root only shows what another has: it has no copy to lose.

    Args:
        table: the files.
        members: names, all those of one size.
        opener: opens and looks at names of one number.
        showing: mounts whose files may be ones that lie elsewhere.
    """
    views: set[int] = set()
    for names in same_files(table, members, opener, showing):
        if len({table.root_of(i) for i in names}) > 1:
            first, others = _in_order(table, names)
            root = table.root_of(first)
            views.update(i for i, kind in others if kind is not NameKind.HARD_LINK and table.root_of(i) != root)
    return array("I", (i for i in members if i not in views)) if views else members


def is_independent(table: FileTable, i: int, other: int) -> bool:
    """Return whether a name of a file keeps it when another is removed: a hard link at another place, and no alias.

    In doubt it is none: a name that only differs in case may be the same one.
    """
    place, folder = table.relative_path(i), os.path.dirname(table.path(i))
    is_known = place == table.relative_path(other)
    if is_known or _kind(table, i, other, is_known=is_known) is not NameKind.HARD_LINK:
        return False
    try:
        if os.stat(table.path(i)).st_nlink < 2:
            return False
        one_folder = file_stat.identity(folder, follow=True) == file_stat.identity(
            os.path.dirname(table.path(other)), follow=True
        )
    except OSError:
        return False
    return not one_folder or _folded(place) != _folded(table.relative_path(other))


def _folded(place: bytes) -> str:
    """Return the last name of a path as file systems do that take capitals and composed letters for the same."""
    return unicodedata.normalize("NFC", place[place.rfind(b"/") + 1 :].decode("utf-8", "surrogateescape")).casefold()


def _detour(table: FileTable, i: int) -> tuple[bool, bool]:
    """Return whether a name is a symbolic link itself, and whether its folder was reached through one."""
    return i in table.symlinks, table.mount_of(table.folder[i]).linked


def _kind(table: FileTable, i: int, first: int, *, is_known: bool) -> NameKind:
    """Return the nature of a further name; `is_known`: its place in the volume has been reached by another name."""
    is_link, through_link = _detour(table, i)
    if is_link or (is_known and through_link and not _detour(table, first)[1]):
        return NameKind.SYMBOLIC_LINK
    elsewhere = table.volume[i] != table.volume[first]  # the same, mounted under another name
    points = volumes.points()  # a single file may be one
    is_mounted = is_known or elsewhere or any(os.path.realpath(table.path(n)) in points for n in (first, i))
    return NameKind.MOUNTED if is_mounted else NameKind.HARD_LINK
