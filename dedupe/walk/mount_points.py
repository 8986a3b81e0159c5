"""Which mount listed folders and files lie on.  Lists nothing, and opens no file.

Nearly every folder lies on the mount of the one that it is in, so the system is asked only where something says
otherwise: a known mount point, a link that is followed, or files whose device is another.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from dedupe.files.table import FileTable
from dedupe.storage import file_stat, volumes
from dedupe.storage.volume import Mount


def located(folder: bytes) -> Mount:
    """Return where a folder lies as this host sees it.

    Raises:
        OSError: it is not there any more.
    """
    return volumes.locate(folder, file_stat.identity(folder, follow=True)[0])


def begins_a_mount(child: os.DirEntry[bytes], mount: Mount, *, follow: bool, ask: bool) -> bool:
    """Return whether a folder may lie elsewhere than the one that it is in, which lies on `mount`.

    Args:
        child: the folder.
        mount: of the folder that it is in.
        follow: whether links are followed, so that it may be one.
        ask: for its device, which costs a call; else its files will tell.
    """
    path = os.path.realpath(child.path) if mount.linked else child.path  # the system lists real paths
    if path in volumes.points() or (follow and child.is_symlink()):
        return True
    return ask and file_stat.identity(child.path, follow=follow)[0] != mount.volume.device


def volumes_of(table: FileTable, folder: int, names: Sequence[bytes], devices: Sequence[int]) -> Sequence[int] | None:
    """Return the volume of each file of a folder; None where it is that of the folder's mount, which is set right.

    A mount may begin with the folder itself, or with single files of it; some file systems show files of several
    devices in one folder.

    Args:
        table: that the folder is in, and the volumes are entered in.
        folder: its index.
        names: of the files.
        devices: `st_dev` of each file.
    """
    path = table.folders[folder]
    here = located(path)
    if here.volume.device in devices:
        table.move_folder(folder, here)
    known = {table.mount_of(folder).volume.device: table.volume_of(folder)}
    for name, device in zip(names, devices, strict=True):
        if device not in known:
            known[device] = table.enter_volume(volumes.locate(path + name, device).volume)
    return [known[device] for device in devices] if len(known) > 1 else None
