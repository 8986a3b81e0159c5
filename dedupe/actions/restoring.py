"""Making a file again from a copy of it: the content checked on the way, the metadata as the journal has it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any

from dedupe.actions.action import Spot
from dedupe.actions.holding import RefusedError
from dedupe.actions.journal import write_all
from dedupe.actions.places import Place, look_at
from dedupe.actions.reread import digest_of
from dedupe.storage import metadata, sharing
from dedupe.storage.opening import create_new, open_nofollow, unlink_at
from dedupe.storage.rename import NOT_OFFERED, exchange

if sys.platform == "win32":
    from dedupe.storage import windows_acts

_BLOCK = 1 << 20
UNKNOWN_DIGEST = "the journal has a digest of it that is not known here: nothing can be compared with it"
CHANGED = "its copy does not have the content any more that the journal says"


def copy_to(source: Spot, target: Spot, algorithm: str, digest: bytes, kept: dict[str, Any]) -> list[str]:
    """Make a new file from a copy that still has the digest; return in words what metadata could not be restored.

    Raises:
        RefusedError: the source has other content by now; nothing stays of the new file.
        OSError: it could not be read or made; likewise.
    """
    opened = open_nofollow(*source)
    try:
        return copy_open(opened, target, algorithm, digest, kept)
    finally:
        os.close(opened)


def copy_open(opened: int, target: Spot, algorithm: str, digest: bytes, kept: dict[str, Any]) -> list[str]:
    """Make a new file from an open one, as `copy_to` does; its own names may be gone by now."""
    if sharing.clone_into_new(opened, *target):
        made = open_nofollow(*target)
    else:
        made = create_new(*target)
        _copy(opened, made, target)
    try:
        if digest_of(made, algorithm) != digest:
            raise RefusedError(CHANGED)
        left = metadata.restore(made, metadata.from_json(kept))
        os.fsync(made)
    except BaseException:
        _remove(target)
        raise
    finally:
        os.close(made)
    return left


def _copy(source: int, made: int, target: Spot) -> None:
    """Copy all content; blocks of zeros become holes, as they may have been before."""
    try:
        os.lseek(source, 0, os.SEEK_SET)
        size = 0
        while block := os.read(source, _BLOCK):
            size += len(block)
            if block.count(0) == len(block):
                os.lseek(made, size, os.SEEK_SET)
            else:
                write_all(made, block)
        os.ftruncate(made, size)
    except BaseException:
        os.close(made)
        _remove(target)
        raise


def _remove(target: Spot) -> None:
    """Remove a file that was made a moment ago, under a name that only this run has."""
    with suppress(OSError):
        unlink_at(*target)


def put_over(source: Spot, target: Place) -> None:
    """Give a file the name of another that has the same content, and that one's name up.

    Both are exchanged, so that what had the name can be looked at before it goes; where the file system exchanges
    nothing, one step replaces it.

    Raises:
        RefusedError: something else took the name meanwhile; it has it still.
        OSError: it was not done.
    """
    name, folder = target.spot.name, target.spot.folder
    try:
        exchange(source.name, name, a_dir=source.folder, b_dir=folder)
    except OSError as error:
        if error.errno not in NOT_OFFERED:
            raise
        if sys.platform == "win32":
            os.replace(windows_acts.at(*source), windows_acts.at(*target.spot))
        else:
            os.replace(source.name, name, src_dir_fd=source.folder, dst_dir_fd=folder)
        return
    there = look_at(source)
    if there.look is None or target.look is None or there.look.identity != target.look.identity:
        exchange(source.name, name, a_dir=source.folder, b_dir=folder)
        raise RefusedError("something else took its name meanwhile")
    unlink_at(*source)
