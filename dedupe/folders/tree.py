"""The folders above the names of all groups, numbered so that what lies below one is a range.  Reads no disk.

Separators are told from the paths themselves, as a report from Windows may be read elsewhere.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping

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
    in the order of their folders, so that those below a folder are a range too: `below(i)`.
    """

    def __init__(self, groups: Iterable[Group], counts: Mapping[bytes, FolderCount]) -> None:
        self.sizes = array("Q")  # by group, counted from 0
        rows = self._rows(groups, counts)
        self.paths = sorted(with_all_above((row[0] for row in rows), counts), key=_order)
        self.counts = [counts[path] for path in self.paths]
        numbers = {path: i for i, path in enumerate(self.paths)}
        self.above = [numbers.get(nearest(path, counts) or b"", -1) for path in self.paths]
        self.ends = self._ends()
        self._columns([(numbers[place], group, file, name) for place, group, file, name in rows])

    def _rows(
        self, groups: Iterable[Group], counts: Mapping[bytes, FolderCount]
    ) -> list[tuple[bytes, int, int, bytes]]:
        """Return (folder, group, file, last part of the name) of each name in a listed folder."""
        rows: list[tuple[bytes, int, int, bytes]] = []
        places: dict[bytes, bytes | None] = {}  # what stands before the last separator -> the folder, if it is listed
        for number, group in enumerate(groups):
            self.sizes.append(group.size)
            for file_number, file in enumerate(group.files):
                for path in file.names:
                    head, _, name = path.rpartition(separator(path))
                    if head not in places:
                        folder = parent(path)
                        places[head] = folder if folder is not None and folder in counts else None
                    if (place := places[head]) is not None:
                        rows.append((place, number, file_number, name))
        return rows

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

    def _columns(self, rows: list[tuple[int, int, int, bytes]]) -> None:
        rows.sort()
        self.folder_of = array("L", [row[0] for row in rows])
        self.group_of = array("L", [row[1] for row in rows])
        self.file_of = array("L", [row[2] for row in rows])
        self.name_of = [row[3] for row in rows]
        self.first = array("Q", [bisect_left(self.folder_of, i) for i in range(len(self.paths) + 1)])
        self.places: list[list[int]] = [[] for _ in self.sizes]  # by group: folders of its names, ascending
        self.files: list[list[int]] = [[] for _ in self.sizes]  # by group: the physical file of each of them
        for folder, group, file in zip(self.folder_of, self.group_of, self.file_of, strict=True):
            self.places[group].append(folder)
            self.files[group].append(file)

    def below(self, folder: int) -> range:
        """Return the names below a folder, at any depth, as places in the columns."""
        return range(self.first[folder], self.first[self.ends[folder]])

    def direct(self, folder: int) -> range:
        """Return the names directly in a folder."""
        return range(self.first[folder], self.first[folder + 1])

    def relative(self, folder: int) -> bytes:
        """Return a folder's path below the listed folder above it."""
        return self.paths[folder].removeprefix(self.paths[self.above[folder]]).lstrip(separator(self.paths[folder]))


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
