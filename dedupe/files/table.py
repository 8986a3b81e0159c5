"""The files that a walk found, in columns, and the identity of a physical file.  Touches no disk.

A million files must fit in little memory, so there is no object per file: names lie end to end in one buffer and
numbers in arrays, some 65 bytes a file.  A file is known by its index.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, islice

from dedupe.files.columns import PackedStats, Paths, gather, gather_array, is_contiguous
from dedupe.storage.file_stat import FileStat

_NATIVE = os.sep.encode()
_WIDE = 1 << 64


class FileTable:
    """Regular files by index: folder, name, and status as the walk saw it."""

    __slots__ = (
        "changed_ns",
        "device",
        "ends",
        "far",
        "folder",
        "folders",
        "inode",
        "left_out",
        "modified_ns",
        "names",
        "size",
        "wide",
    )

    def __init__(self) -> None:
        self.folders: list[bytes] = []  # each ends where a name can follow
        self.left_out = array("q")  # by folder: its entries that take no part; -1 where it was not listed itself
        self.folder = array("I")  # index into `folders`
        self.names = bytearray()
        self.ends = array("Q")  # where each name ends in `names`
        self.size = array("Q")
        self.modified_ns = array("q")
        self.changed_ns = array("q")
        self.device = array("Q")
        self.inode = array("Q")
        self.wide: dict[int, int] = {}  # inodes of 128 bits, as ReFS has
        self.far: dict[int, tuple[int, int]] = {}  # modified and changed, where one lies beyond the year 2262

    def __len__(self) -> int:
        return len(self.ends)

    def enter(self, folder: bytes) -> int:
        """Return the index of a folder whose files follow."""
        self.folders.append(folder if folder[-1:] in (b"/", _NATIVE) else folder + _NATIVE)
        self.left_out.append(-1)
        return len(self.folders) - 1

    def add(self, folder: int, name: bytes, stat: Sequence[int]) -> None:
        """Append one file."""
        size, modified_ns, changed_ns, device, inode = stat
        if inode >= _WIDE:
            self.wide[len(self.ends)] = inode
            inode %= _WIDE
        self.folder.append(folder)
        self.names += name
        self.ends.append(len(self.names))
        self.size.append(size)
        try:
            self.modified_ns.append(modified_ns)
            self.changed_ns.append(changed_ns)
        except OverflowError:
            self._add_far(len(self.ends) - 1, modified_ns, changed_ns)
        self.device.append(device)
        self.inode.append(inode)

    def _add_far(self, i: int, modified_ns: int, changed_ns: int) -> None:
        """Keep times that do not fit a column beside it: they date nothing, but must not end the scan."""
        self.far[i] = (modified_ns, changed_ns)
        for column in (self.modified_ns, self.changed_ns):
            del column[i:]
            column.append(0)

    def add_all(self, folder: int, names: Sequence[bytes], stats: Sequence[Sequence[int]]) -> None:
        """Append many files of one folder, their statuses as a column a field: a walk does it for every file."""
        columns = (self.size, self.modified_ns, self.changed_ns, self.device, self.inode)
        first = len(self)
        try:
            for column, values in zip(columns, stats, strict=True):
                column.extend(values)
        except OverflowError:  # some are out of the common range: those are kept apart
            for column in columns:
                del column[first:]
            for name, *stat in zip(names, *stats, strict=True):
                self.add(folder, name, stat)
            return
        self.folder.extend(array("I", (folder,)) * len(names))
        self.ends.extend(islice(accumulate(map(len, names), initial=len(self.names)), 1, None))
        self.names += b"".join(names)

    def extend(self, other: FileTable) -> None:
        """Append all files of another table."""
        first, folders, names = len(self), len(self.folders), len(self.names)
        self.folders += other.folders
        self.left_out += other.left_out
        self.folder.extend([folders + folder for folder in other.folder])
        self.names += other.names
        self.ends.extend([names + end for end in other.ends])
        for column in ("size", "modified_ns", "changed_ns", "device", "inode"):
            getattr(self, column).extend(getattr(other, column))
        self.wide.update((first + i, inode) for i, inode in other.wide.items())
        self.far.update((first + i, times) for i, times in other.far.items())

    def listed(self) -> Iterator[tuple[bytes, int, int, int]]:
        """Yield each folder that was listed: files that take part, their sizes, entries left out, directly in it."""
        files = [0] * len(self.folders)
        sizes = [0] * len(self.folders)
        for folder, size in zip(self.folder, self.size, strict=True):
            files[folder] += 1
            sizes[folder] += size
        for folder, left_out in enumerate(self.left_out):
            if left_out >= 0:
                yield self.folders[folder], files[folder], sizes[folder], left_out

    def path(self, i: int) -> bytes:
        """Return a file's whole path."""
        return self.folders[self.folder[i]] + self.names[self.ends[i - 1] if i else 0 : self.ends[i]]

    def paths(self, members: Iterable[int]) -> list[bytes]:
        """Return the whole paths of many files."""
        folders, folder, names, ends = self.folders, self.folder, self.names, self.ends
        return [folders[folder[i]] + names[ends[i - 1] if i else 0 : ends[i]] for i in members]

    def inode_of(self, i: int) -> int:
        """Return a file's inode number, all 128 bits of it where the file system has as many."""
        return self.wide.get(i) or self.inode[i]

    def stat(self, i: int) -> FileStat:
        """Return what the walk saw of a file."""
        modified_ns, changed_ns = self.times(i)
        return FileStat(self.size[i], modified_ns, changed_ns, self.device[i], self.inode_of(i))

    def packed_paths(self, members: Sequence[int]) -> Paths:
        """Return the paths of many files in a form that is cheap to make and to send."""
        if is_contiguous(members):
            first, last = members[0], members[-1]
            folder: Sequence[int] = self.folder[first : last + 1]
            begin = self.ends[first - 1] if first else 0
            names = bytes(self.names[begin : self.ends[last]])
            ends = array("Q", [end - begin for end in self.ends[first : last + 1]])
        else:
            folder = gather(members)(self.folder)
            whole, ends_of = self.names, self.ends
            single = [whole[ends_of[i - 1] if i else 0 : ends_of[i]] for i in members]
            names = b"".join(single)
            ends = array("Q", accumulate(map(len, single)))
        used = sorted(set(folder))
        place = dict(zip(used, range(len(used)), strict=True))
        return Paths([self.folders[f] for f in used], array("I", [place[f] for f in folder]), names, ends)

    def packed_stats(self, members: Sequence[int]) -> Iterable[tuple[int, ...]]:
        """Return what the walk saw of many files, likewise."""
        if self.wide or self.far:
            return [tuple(self.stat(i)) for i in members]
        columns = (self.size, self.modified_ns, self.changed_ns, self.device, self.inode)
        return PackedStats(list(map(gather_array(members), columns)))

    def times(self, i: int) -> tuple[int, int]:
        """Return when a file was modified and changed, whatever the year."""
        return self.far.get(i) or (self.modified_ns[i], self.changed_ns[i])

    def identities(self, members: Sequence[int]) -> list[tuple[int, ...] | bytes]:
        """Return what the names of one physical file share; without an inode number each path stands alone."""
        # with the times, as a number that was given up may be another file's by now
        return [
            (inode, self.device[i], *self.times(i)) if (inode := self.inode_of(i)) else self.path(i) for i in members
        ]


def group_by_key(
    members: Sequence[int], keys_of: Callable[[Sequence[int]], Sequence[object]], *, at_once: int = 1 << 16
) -> Iterator[array[int]]:
    """Yield the members that share a key, in sets of two or more, each in the order given.

    Works through the keys in slices, so that a million of them never are in memory at once.

    Args:
        members: indexes of files.
        keys_of: returns the keys of some of the members, in their order.
        at_once: keys in memory at one time.
    """
    slices = -(-len(members) // at_once) | 1  # odd: sizes love powers of two
    parts: Iterable[Sequence[int]] = (members,)
    if slices > 1:
        buckets = [array("I") for _ in range(slices)]
        for first in range(0, len(members), at_once):
            part = members[first : first + at_once]
            for i, key in zip(part, keys_of(part), strict=True):
                buckets[hash(key) % slices].append(i)
        parts = iter(buckets)
    for part in parts:
        keys = keys_of(part)
        if len(set(keys)) == len(keys):
            continue
        sets: dict[object, list[int]] = {key: [] for key, count in Counter(keys).items() if count > 1}
        for i, key in zip(part, keys, strict=True):
            if key in sets:
                sets[key].append(i)
        for found in sets.values():
            yield array("I", found)
