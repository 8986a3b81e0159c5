"""Which files are catalogs, told from what they are and not from their names.  Opens none as a database."""

from __future__ import annotations

import os
import stat

from dedupe.storage import placeholders, sqlite_owner


def is_catalog(path: bytes) -> bool:
    """Return whether a path leads to a catalog, whatever its name; no for what cannot be read, or only from a cloud.

    One that was cut short is one too: taken for a file, it would hold nothing, and nobody would know why.
    """
    try:
        seen = os.stat(path)
        if not stat.S_ISREG(seen.st_mode) or not seen.st_size:
            return False
        if placeholders.EXIST and placeholders.would_download(seen):
            return False
        return sqlite_owner.application_of(path) == sqlite_owner.CATALOG
    except (OSError, ValueError):
        return False
