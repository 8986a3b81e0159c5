"""Volumes that a test makes up: other hosts, clones, device numbers that change, file systems without inode numbers.

with volumes.use(FakeVolumes({tmp_path / "a": volume("uuid:1"), tmp_path / "b": volume("uuid:1", host="other")})):
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dedupe.storage import volumes
from dedupe.storage.volume import Mount, Volume

DEVICE_OF_THE_FOLDER = -1  # a volume with this number gets the one that is asked about


def volume(name: str, **changes: Any) -> Volume:
    """Return a volume of this host; `changes` are fields of `Volume`."""
    return Volume(name, f"only {name}", volumes.host(), DEVICE_OF_THE_FOLDER)._replace(**changes)


class FakeVolumes:
    """A system in which each of some folders is the root of a volume; all other folders are where they really are.

    Folders may be added to `roots` and taken away while it is in use; `asked` has the folders that were asked about.
    """

    def __init__(self, roots: Mapping[Path, Volume]) -> None:
        self.roots = dict(roots)
        self.asked: list[bytes] = []
        self._real = volumes._this_system()

    def locate(self, folder: bytes, device: int) -> Mount:
        """Return where a folder lies: in the innermost of the roots."""
        self.asked.append(folder)
        path = Path(os.fsdecode(folder))
        for root in (path, *path.parents):
            if root in self.roots:
                base = path.relative_to(root).as_posix()
                return Mount(
                    self._volume(root, device),
                    os.path.join(folder, b""),
                    b"" if base == "." else os.fsencode(base) + b"/",
                )
        return self._real.locate(folder, device)

    def points(self) -> frozenset[bytes]:
        """Return the roots, and the real mounts."""
        return self._real.points() | {os.fsencode(root) for root in self.roots}

    def mounted(self, volume_id: str) -> list[Mount]:
        """Return the roots of a volume."""
        found = [root for root, each in self.roots.items() if each.id == volume_id]
        real = [] if found else self._real.mounted(volume_id)
        return [Mount(self._volume(root, 0), os.path.join(os.fsencode(root), b""), b"") for root in found] + real

    def forget(self) -> None:
        """Look at the real mounts anew."""
        self._real.forget()

    def _volume(self, root: Path, device: int) -> Volume:
        told = self.roots[root]
        return told._replace(device=device) if told.device == DEVICE_OF_THE_FOLDER else told
