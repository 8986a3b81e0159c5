"""The files that a walk found, in columns, and what identifies a physical file.  Touches no disk.

A million files must fit in little memory, so there is no object per file: names lie end to end in one buffer and
numbers in arrays, some 60 bytes a file.  A file is known by its index.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice, repeat

from dedupe.files.columns import gather
from dedupe.storage.file_stat import FileStat
from dedupe.storage.volume import NOWHERE, Mount, Volume

_NATIVE = os.sep.encode()
_WIDE = 1 << 64
STAT_COLUMNS = ("size", "modified_ns", "changed_ns", "inode")  # of the table; see `FileStat`


class FileTable:
    """Regular files by index: folder, name, volume, and stat as the walk saw it."""

    __slots__ = (
        "_mount_numbers",
        "changed_ns",
        "ends",
        "far",
        "folder",
        "folder_mount",
        "folder_root",
        "folders",
        "inode",
        "left_out",
        "modified_ns",
        "mount_volume",
        "mounts",
        "named_root",
        "names",
        "size",
        "symlinks",
        "volume",
        "volumes",
        "wide",
    )

    def __init__(self) -> None:
        self.volumes: list[Volume] = []
        self.mounts: list[Mount] = []
        self.mount_volume: list[int] = []  # index into `volumes`, by mount
        self._mount_numbers: dict[Mount, int] = {}
        self.folders: list[bytes] = []  # each ends where a name can follow
        self.folder_mount = array("I")  # index into `mounts`, by folder
        self.folder_root = array("I")  # by folder: from which of the scan's roots it was reached, in their order
        self.left_out = array("q")  # by folder: its entries that take no part; -1 where it was not listed itself
        self.folder = array("I")  # index into `folders`, by file, like all that follows
        self.names = bytearray()
        self.ends = array("Q")  # where each name ends in `names`
        self.size = array("Q")
        self.modified_ns = array("q")
        self.changed_ns = array("q")
        self.inode = array("Q")  # as told, though it may not stay with the file: see `Volume.stable_inodes`
        self.volume = array("I")  # index into `volumes`; nearly always that of the folder's mount
        self.wide: dict[int, int] = {}  # inodes of 128 bits, as ReFS has
        self.far: dict[int, tuple[int, int]] = {}  # modified and changed, where one lies beyond the year 2262
        self.named_root: dict[int, int] = {}  # of files that are roots themselves: which
        self.symlinks: set[int] = set()  # files whose own name is a symbolic link

    def __len__(self) -> int:
        return len(self.ends)

    def enter(self, folder: bytes, mount: Mount = NOWHERE, root: int = 0) -> int:
        """Return the index of a folder whose files follow.

        Args:
            folder: as it was reached.
            mount: that it lies on.
            root: from which of the scan's roots it was reached.
        """
        self.folders.append(folder if folder[-1:] in (b"/", _NATIVE) else folder + _NATIVE)
        self.folder_mount.append(self._mount(mount))
        self.folder_root.append(root)
        self.left_out.append(-1)
        return len(self.folders) - 1

    def _mount(self, mount: Mount) -> int:
        """Return the index of a mount, which is entered if it is new."""
        if self.mounts and self.mounts[-1] is mount:  # as nearly always
            return len(self.mounts) - 1
        number = self._mount_numbers.setdefault(mount, len(self.mounts))
        if number == len(self.mounts):
            self.mounts.append(mount)
            self.mount_volume.append(self.enter_volume(mount.volume))
        return number

    def enter_volume(self, volume: Volume) -> int:
        """Return the index of a volume, which is entered if no other is the same."""
        for n, known in enumerate(self.volumes):
            if known.is_same(volume):
                return n
        self.volumes.append(volume)
        return len(self.volumes) - 1

    def move_folder(self, folder: int, mount: Mount) -> None:
        """Note that a folder lies on another mount than was thought when it was entered; it has no files yet."""
        self.folder_mount[folder] = self._mount(mount)

    def mount_of(self, folder: int) -> Mount:
        """Return the mount that a folder lies on."""
        return self.mounts[self.folder_mount[folder]]

    def volume_of(self, folder: int) -> int:
        """Return the index of the volume that a folder lies on."""
        return self.mount_volume[self.folder_mount[folder]]

    def root_of(self, i: int) -> int:
        """Return from which of the scan's roots a file was reached, in their order."""
        return self.named_root.get(i, self.folder_root[self.folder[i]])

    def roots_of(self, members: Sequence[int]) -> Sequence[int]:
        """Return the same of many files."""
        if self.named_root:
            return list(map(self.root_of, members))
        return gather(gather(members)(self.folder))(self.folder_root)

    def number_roots(self, numbers: Sequence[int]) -> None:
        """Give the roots other numbers: each one that which stands at its place."""
        self.folder_root = array("I", [numbers[root] for root in self.folder_root])
        self.named_root = {i: numbers[root] for i, root in self.named_root.items()}

    def add(self, folder: int, name: bytes, stat: Sequence[int], volume: int | None = None) -> int:
        """Append one file and return its index; `volume` is that of its folder unless told."""
        size, modified_ns, changed_ns, inode = stat
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
        self.inode.append(inode)
        self.volume.append(self.volume_of(folder) if volume is None else volume)
        return len(self.ends) - 1

    def _add_far(self, i: int, modified_ns: int, changed_ns: int) -> None:
        """Keep times that do not fit a column beside it: they date nothing, but must not end the scan."""
        self.far[i] = (modified_ns, changed_ns)
        for column in (self.modified_ns, self.changed_ns):
            del column[i:]
            column.append(0)

    def add_all(
        self,
        folder: int,
        names: Sequence[bytes],
        stats: Sequence[Sequence[int]],
        volumes: Sequence[int] | None = None,
    ) -> None:
        """Append many files of one folder, their stats as a column a field: a walk does it for every file.

        Args:
            folder: its index.
            names: of the files.
            stats: the columns of `FileStat`.
            volumes: indexes of the files' volumes, where not all lie on that of the folder.
        """
        columns = (self.size, self.modified_ns, self.changed_ns, self.inode)
        first = len(self)
        try:
            for column, values in zip(columns, stats, strict=True):
                column.extend(values)
        except OverflowError:  # some are out of the common range: those are kept apart
            for column in columns:
                del column[first:]
            for name, volume, *stat in zip(names, volumes or repeat(None, len(names)), *stats, strict=True):
                self.add(folder, name, stat, volume)
            return
        self.folder.extend(array("I", (folder,)) * len(names))
        self.volume.extend(volumes or array("I", (self.volume_of(folder),)) * len(names))
        self.ends.extend(islice(accumulate(map(len, names), initial=len(self.names)), 1, None))
        self.names += b"".join(names)

    def extend(self, other: FileTable) -> None:
        """Append all files of another table, whose volumes and mounts may be known here already."""
        first, folders, names = len(self), len(self.folders), len(self.names)
        mounts = [self._mount(mount) for mount in other.mounts]
        volumes = [self.enter_volume(volume) for volume in other.volumes]
        self.folders += other.folders
        self.folder_mount.extend([mounts[mount] for mount in other.folder_mount])
        self.folder_root.extend(other.folder_root)
        self.left_out += other.left_out
        self.folder.extend([folders + folder for folder in other.folder])
        self.names += other.names
        self.ends.extend([names + end for end in other.ends])
        for column in STAT_COLUMNS:
            getattr(self, column).extend(getattr(other, column))
        if volumes == list(range(len(volumes))):
            self.volume.extend(other.volume)
        else:
            self.volume.extend([volumes[volume] for volume in other.volume])
        self.wide.update((first + i, inode) for i, inode in other.wide.items())
        self.far.update((first + i, times) for i, times in other.far.items())
        self.named_root.update((first + i, root) for i, root in other.named_root.items())
        self.symlinks.update(first + i for i in other.symlinks)

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
        """Return a file's inode number as it was told, all 128 bits of it where the file system has as many."""
        return self.wide.get(i) or self.inode[i]

    @property
    def has_unstable_inodes(self) -> bool:
        """Return whether some files lie on a volume whose inode numbers do not stay with their files."""
        return not all(volume.stable_inodes for volume in self.volumes)

    def stable_inode_of(self, i: int) -> int:
        """Return a file's inode number, 0 where it is none that stays with the file."""
        return self.inode_of(i) if self.volumes[self.volume[i]].stable_inodes else 0

    def stat(self, i: int) -> FileStat:
        """Return what the walk saw of a file, with an inode of 0 where that tells nothing."""
        modified_ns, changed_ns = self.times(i)
        return FileStat(self.size[i], modified_ns, changed_ns, self.stable_inode_of(i))

    def set_times(self, i: int, modified_ns: int, changed_ns: int) -> None:
        """Take over newer times of a file that nothing was read of yet."""
        self.far.pop(i, None)
        try:
            self.modified_ns[i], self.changed_ns[i] = modified_ns, changed_ns
        except OverflowError:
            self.modified_ns[i] = self.changed_ns[i] = 0
            self.far[i] = (modified_ns, changed_ns)

    def relative_path(self, i: int) -> bytes:
        """Return a file's path in its volume, as far as its folder's mount tells it."""
        return self.relative_paths((i,))[0]

    def relative_folder(self, folder: int) -> bytes:
        """Return a folder's path in its volume, as far as its mount tells it."""
        return self.mount_of(folder).relative(self.folders[folder])

    def relative_paths(self, members: Sequence[int]) -> list[bytes]:
        """Return the paths of many files in their volumes."""
        folder, names, ends = gather(members)(self.folder), self.names, self.ends
        inside = {f: self.relative_folder(f) for f in set(folder)}
        each = zip(folder, members, strict=True)
        return [inside[f] + names[ends[i - 1] if i else 0 : ends[i]] for f, i in each]

    def times(self, i: int) -> tuple[int, int]:
        """Return when a file was modified and changed, whatever the year."""
        return self.far.get(i) or (self.modified_ns[i], self.changed_ns[i])
