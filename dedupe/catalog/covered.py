"""What is known better than a catalog knows it: folders that are looked at themselves, or told of by another catalog.

One disk may be reached twice, plugged in and by its catalog: its files are no copies of themselves, and what is gone
from it is held by it no more.  Opens no file, and asks no file system.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from dedupe.files.table import FileTable


class Covered:
    """Places of some volumes, by the ids that those have wherever they are.

    Args:
        ids: of the volumes that catalogs tell of; what lies on others is nobody's business here.
    """

    def __init__(self, ids: Iterable[str]) -> None:
        self._ids = frozenset(filter(None, ids))
        self._bases: dict[str, tuple[bytes, ...]] = {}
        self._others: set[str] = set()  # ids of volumes of which single files are known
        self._places: set[tuple[str, bytes]] = set()
        self._inodes: set[tuple[str, int, int]] = set()  # with the sizes: numbers are given anew

    def take_live(self, table: FileTable, roots: Collection[int]) -> None:
        """Take the folders below some roots that were listed, and files that are roots themselves."""
        ids = {n: volume.id for n, volume in enumerate(table.volumes) if volume.id in self._ids and not volume.offline}
        listed = (n for n, left_out in enumerate(table.left_out) if left_out >= 0 and table.folder_root[n] in roots)
        for number in {table.folder_mount[n] for n in listed}:
            if (volume := table.mount_volume[number]) in ids:
                self.take_base(ids[volume], table.mounts[number].base)
        for i, root in table.named_root.items():
            if root in roots and table.volume[i] in ids:
                self._places.add((ids[table.volume[i]], table.relative_path(i)))
        if ids:
            self._others.update(ids.values())
            live = (i for i, volume in enumerate(table.volume) if volume in ids and table.root_of(i) in roots)
            self._inodes.update(
                (ids[table.volume[i]], inode, table.size[i]) for i in live if (inode := table.stable_inode_of(i))
            )

    def take_base(self, volume_id: str, base: bytes) -> None:
        """Take all that lies below a folder, given by its path in its volume."""
        known = self._bases.get(volume_id, ())
        if volume_id in self._ids and not base.startswith(known):
            self._bases[volume_id] = (*known, base)

    def knows(self, volume_id: str) -> bool:
        """Return whether any file of a volume may be known better."""
        return volume_id in self._bases or volume_id in self._others

    def has(self, volume_id: str, place: bytes, inode: int, size: int) -> bool:
        """Return whether a file of a catalog is known better, by its place or by its number."""
        return (
            place.startswith(self._bases.get(volume_id, ()))
            or (volume_id, inode, size) in self._inodes
            or (volume_id, place) in self._places
        )
