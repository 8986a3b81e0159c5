"""The folders above the names of all groups, numbered so that what lies below one is a range.  Reads no disk.

Separators are told from the paths themselves, as a report from Windows may be read elsewhere.
"""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, repeat

from dedupe.result import FolderCount, Group, Groups


def separator(path: bytes) -> bytes:
    """Return the separator of an absolute path: Windows' never start with a slash."""
    return b"/" if path[:1] == b"/" else b"\\"


def parent(path: bytes) -> bytes | None:
    """Return the folder of an absolute path, None above the topmost."""
    sep = separator(path)
    head, found, _ = path.rpartition(sep)
    above = head + sep if not head or head[-1:] == b":" else head
    return above if found and above != path else None


def plain(folder: bytes) -> bytes:
    r"""Return a folder's path without a separator at its end, but for the topmost (`/`, `C:\`)."""
    sep = separator(folder)
    stripped = folder.removesuffix(sep)
    return folder if not stripped or stripped[-1:] == b":" else stripped


def nearest(path: bytes, known: Container[bytes]) -> bytes | None:
    """Return the closest folder above `path` that is known, None where there is none."""
    above = parent(path)
    while above is not None and above not in known:
        above = parent(above)
    return above


def above_copies(groups: Groups, known: Mapping[bytes, FolderCount]) -> list[bytes]:
    """Return the known folders with a name of a group below them, in order: the others hold no copy of anything."""
    return sorted(with_all_above(map(plain, groups.folders()), known)) if known else []


class FolderTree:
    """Folders by number, in path order; those below folder `i` are the numbers after `i` and before `ends[i]`.

    Only listed folders take part, and only names that lie directly in one.  The names of all groups stand in columns,
    in the order of their folders, so that those below a folder are a range too: `below(i)`.  Their folders stand once
    more group by group, `holders(group)`.  Some 50 bytes a name: objects would need ten times as much.
    """

    def __init__(self, groups: Iterable[Group], counts: Mapping[bytes, FolderCount]) -> None:
        self.sizes = array("Q")  # by group, counted from 0
        self._begins = array("Q", [0])  # by group: where its names begin, in the order of groups
        rows = _Rows()
        for group in groups:
            rows.take(group, len(self.sizes), counts)
            self.sizes.append(group.size)
            self._begins.append(len(rows.folder))
        self.files = rows.files
        self.paths = sorted(with_all_above(rows.places, counts), key=_order)
        self.counts = [counts[path] for path in self.paths]
        numbers = {path: i for i, path in enumerate(self.paths)}
        self.above = [numbers.get(nearest(path, counts) or b"", -1) for path in self.paths]
        self.ends = self._ends()
        self._columns(rows, [numbers[place] for place in rows.places])

    def _ends(self) -> array[int]:
        ends = array("L", [0]) * len(self.paths)
        open_folders: list[int] = []
        for i, above in enumerate(self.above):
            while open_folders and open_folders[-1] != above:
                ends[open_folders.pop()] = i
            open_folders.append(i)
        for i in open_folders:
            ends[i] = len(self.paths)
        return ends

    def _columns(self, rows: _Rows, numbers: Sequence[int]) -> None:
        """Put the rows in the order of their folders, and the folders of each group in theirs."""
        amounts = array("Q", bytes(8 * len(self.paths)))
        for place in rows.folder:
            amounts[numbers[place]] += 1
        self.first = array("Q", accumulate(amounts, initial=0))
        self._row = array("I", bytes(4 * len(rows.folder)))  # of each name: which row it came as
        _deal(self._row, self.first, map(numbers.__getitem__, rows.folder), range(len(rows.folder)))
        self.group_of = array("I", map(rows.group.__getitem__, self._row))
        self.file_of = array("I", map(rows.file.__getitem__, self._row))  # counted over all groups
        self._names, self._name_ends = rows.names, rows.ends
        self.places, self.holding = (array("I", bytes(4 * len(self._row))) for _ in range(2))
        folders = chain.from_iterable(repeat(i, n) for i, n in enumerate(amounts))
        _deal(self.places, self._begins, self.group_of, folders)
        _deal(self.holding, self._begins, self.group_of, self.file_of)

    def name(self, i: int) -> bytes:
        """Return a name without its folder."""
        row = self._row[i]
        return bytes(self._names[self._name_ends[row - 1] if row else 0 : self._name_ends[row]])

    def holders(self, group: int) -> tuple[int, int]:
        """Return the bounds of a group in `places`, folders in ascending order, and `holding`, the file in each."""
        return self._begins[group], self._begins[group + 1]

    def below(self, folder: int) -> range:
        """Return the names below a folder, at any depth, as places in the columns."""
        return range(self.first[folder], self.first[self.ends[folder]])

    def direct(self, folder: int) -> range:
        """Return the names directly in a folder."""
        return range(self.first[folder], self.first[folder + 1])

    def relative(self, folder: int) -> bytes:
        """Return a folder's path below the listed folder above it."""
        return self.paths[folder].removeprefix(self.paths[self.above[folder]]).lstrip(separator(self.paths[folder]))


class _Rows:
    """The names of all groups in columns, as they come: group by group, and file by file."""

    def __init__(self) -> None:
        self.places: list[bytes] = []  # the listed folders of the names, each once
        self.folder = array("I")  # index into these, by name, like all that follows
        self.group = array("I")
        self.file = array("I")  # the physical file, counted over all groups
        self.names = bytearray()  # the last parts
        self.ends = array("Q")  # where each ends
        self.files = 0
        self._numbers: dict[bytes, int] = {}  # by what stands before the last separator; -1: not listed

    def take(self, group: Group, number: int, counts: Mapping[bytes, FolderCount]) -> None:
        """Add the names of a group that lie in a listed folder."""
        for file in group.files:
            for path in file.names:
                head, _, name = path.rpartition(separator(path))
                at = self._numbers.get(head)
                if at is None:
                    at = self._numbers[head] = self._place(parent(path), counts)
                if at >= 0:
                    self.folder.append(at)
                    self.group.append(number)
                    self.file.append(self.files)
                    self.names += name
                    self.ends.append(len(self.names))
            self.files += 1

    def _place(self, folder: bytes | None, counts: Mapping[bytes, FolderCount]) -> int:
        if folder is None or folder not in counts:
            return -1
        self.places.append(folder)
        return len(self.places) - 1


def _deal(column: array[int], begins: Sequence[int], keys: Iterable[int], values: Iterable[int]) -> None:
    """Put values where those of their keys begin, one after the other."""
    free = array("Q", begins)
    for key, value in zip(keys, values, strict=True):
        column[free[key]] = value
        free[key] += 1


def with_all_above(folders: Iterable[bytes], known: Container[bytes]) -> Iterator[bytes]:
    """Yield each known folder of those given and all known folders above them, each once."""
    seen: set[bytes] = set()
    for folder in folders:
        place: bytes | None = folder if folder in known else nearest(folder, known)
        while place is not None and place not in seen:
            seen.add(place)
            yield place
            place = nearest(place, known)


def _order(path: bytes) -> bytes:
    """Return a key that sorts each folder directly before what lies below it: no name holds a NUL."""
    return path.replace(separator(path), b"\0").rstrip(b"\0") + b"\0"
