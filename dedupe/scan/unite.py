"""Physical files, each by its first name, and of which nature each further name is.  Opens files, and reads none."""

from __future__ import annotations

import os
import unicodedata
from array import array
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from dedupe.files.classes import Classes
from dedupe.files.table import FileTable
from dedupe.result import NameKind
from dedupe.scan.confirm import Confirmed
from dedupe.scan.same_files import has_loose, possible_files, same_content, same_files, showing_mounts
from dedupe.storage import file_stat, volumes
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


def unite_equal(table: FileTable, united: United, confirmed: Confirmed, opener: Opener) -> None:
    """Take further names out of the classes of equal files, where only equal content tells that they are such.

    Args:
        table: the files.
        united: takes in what is found.
        confirmed: the classes.
        opener: opens and looks at names.
    """
    if not table.has_unstable_inodes:
        return
    showing, left, gone = showing_mounts(table), Classes(), set[int]()
    for n, (digest, members) in enumerate(confirmed.classes):
        if has_loose(table, members):
            further = _united_again(table, united, same_content(table, members, opener, showing))
            united.files += len(further)
            united.bytes += table.size[members[0]] * len(further)
            gone |= further
        kept = [
            (i, proof) for i, proof in zip(members, confirmed.classes.proofs(n, n + 1), strict=True) if i not in gone
        ]
        if len(kept) > 1:
            left.append(digest, [i for i, _ in kept], [proof for _, proof in kept])
    if gone:
        confirmed.classes = left
        confirmed.remembered = array("I", (i for i in confirmed.remembered if i not in gone))


def _united_again(table: FileTable, united: United, files: Iterable[Sequence[int]]) -> set[int]:
    """Note names of files that are found to be one, whose own further names are known; return which are no first."""
    further: set[int] = set()
    for names in files:
        known = [i for name in names for i, _ in united.names.pop(name, ())]
        first, others = _in_order(table, [*names, *known])
        united.names[first] = others
        further.update(names)
        further.discard(first)
    return further


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
    for names in possible_files(table, members, opener, showing):
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
