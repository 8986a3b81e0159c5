"""Whether reading a file would first download it, judged by its listing or `lstat` alone.  Opens nothing.

Windows (OneDrive and others) marks such files by attributes, macOS (iCloud and others) by the flag "dataless".
"""

from __future__ import annotations

import os
import sys

EXIST = sys.platform == "win32" or sys.platform == "darwin"  # elsewhere nobody needs to ask
# FILE_ATTRIBUTE_OFFLINE, _RECALL_ON_OPEN, _RECALL_ON_DATA_ACCESS ("File Attribute Constants")
_CLOUD = 0x1000 | 0x40000 | 0x400000
_DATALESS = 0x4000_0000  # SF_DATALESS of macOS's <sys/stat.h>


def would_download(seen: os.stat_result) -> bool:
    """Return whether the content is elsewhere; `seen` describes the entry itself, not what a link leads to.

    It is true of folders too, whose listing is then what would be downloaded.
    """
    if sys.platform == "win32":
        return is_cloud_placeholder(seen.st_file_attributes)
    elif sys.platform == "darwin":  # noqa: RET505 - mypy takes what follows an if for Windows as unreachable there
        return is_dataless(seen.st_flags)
    else:
        return False


def is_dataless(flags: int) -> bool:
    """Return whether macOS's flags of a file say that its content is not on the disk."""
    return flags & _DATALESS != 0


def is_cloud_placeholder(attributes: int) -> bool:
    """Return whether Windows' attributes of a file say that reading, or even opening, would first download it.

    Take `attributes` from `os.scandir`, before anything opens the file.
    """
    return attributes & _CLOUD != 0
