"""The folder that a catalog is of, wherever its disk is mounted now.  Changes nothing."""

from __future__ import annotations

import os
import sqlite3

from dedupe.catalog import database
from dedupe.catalog.head import Head
from dedupe.config import ScanConfig
from dedupe.errors import NothingUsableError, UsageError
from dedupe.storage import display
from dedupe.storage.paths import absolute, outside
from dedupe.walk.mount_points import located


def refuse_other(connection: sqlite3.Connection, head: Head, root: bytes, path: str) -> None:
    """Refuse a folder that a catalog is not of: on another volume, or at another place of it.

    Raises:
        UsageError: it is another one.
    """
    place = located(root)
    known = database.volumes_of(connection, path)[1]
    if (known.id, head.inside) != (place.volume.id, place.relative(os.path.join(root, b""))):
        name = display.text(os.fsencode(path))
        label = f" ({display.shown_text(known.label)})" if known.label else ""
        raise UsageError(
            f"{name} is of {display.text(head.root)} on the volume {known.id or 'without a name'}{label}, and "
            f"{display.text(outside(root))} is another place: name that folder, or make a catalog of this one."
        )


def root_of(config: ScanConfig) -> bytes:
    """Return the folder that a catalog is of.

    Raises:
        UsageError, NothingUsableError: it is no folder.
    """
    (root,) = (absolute(os.fsencode(each)) for each in config.roots)
    if not os.path.isdir(root):
        if os.path.lexists(root):
            raise UsageError(f"{display.text(outside(root))} is no folder: name the one that the disk is reached by.")
        raise NothingUsableError(f"{display.text(outside(root))} does not exist: check that its disk is connected.")
    return root
