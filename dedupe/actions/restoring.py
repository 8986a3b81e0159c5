"""Making a file again from a copy of it: the content checked on the way, the metadata as the journal has it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any

from dedupe.actions.action import Spot, rename, second_name, temporary
from dedupe.actions.holding import RefusedError
from dedupe.actions.journal import write_all
from dedupe.actions.places import Place, look_at
from dedupe.actions.reread import digest_of
from dedupe.storage import display, metadata, sharing
from dedupe.storage.opening import create_new, open_nofollow, unlink_at
from dedupe.storage.rename import NOT_OFFERED, exchange

if sys.platform == "win32":
    from dedupe.storage import windows_acts

_BLOCK = 1 << 20
UNKNOWN_DIGEST = "the journal has a digest of it that is not known here: nothing can be compared with it"
TAKEN_MEANWHILE = "something else took its name meanwhile"
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


def taken_name(run: str, n: int) -> bytes:
    """Return the name that what had a name before has for a moment, where two files cannot be exchanged."""
    return temporary(run, n) + b"c"


def put_over(source: Spot, target: Place, run: str, n: int) -> None:
    """Give a file the name of another that has the same content, and that one's name up.

    Both are exchanged, so that what had the name can be looked at before it goes; where the file system exchanges
    nothing, what has the name is taken aside for that look.

    Args:
        source: the file that gets the name, beside it.
        target: the name, and what was seen to have it.
        run: the run that says so; its `taken_name` is free.
        n: the number of the name within that run.

    Raises:
        RefusedError: something else took the name meanwhile, or changed; it has it still, or lies where that says.
        OSError: it was not done.
    """
    folder, name = target.spot
    try:
        exchange(source.name, name, a_dir=source.folder, b_dir=folder)
    except OSError as error:
        if error.errno not in NOT_OFFERED:
            raise
        _put_in_steps(source, target, run, n)
        return
    if not _is_still(source, target):
        exchange(source.name, name, a_dir=source.folder, b_dir=folder)
        raise RefusedError(TAKEN_MEANWHILE)
    unlink_at(*source)


def _put_in_steps(source: Spot, target: Place, run: str, n: int) -> None:
    """Do what `put_over` does: take aside what has the name, look at it, and put the file in without replacing."""
    if not _is_still(target.spot, target):
        raise RefusedError(TAKEN_MEANWHILE)
    aside = Spot(target.spot.folder, taken_name(run, n))
    if sys.platform == "win32":
        windows_acts.move(windows_acts.at(*target.spot), windows_acts.at(*aside))
    else:  # nobody else has that name
        os.rename(target.spot.name, aside.name, src_dir_fd=target.spot.folder, dst_dir_fd=aside.folder)
    try:
        if not _is_still(aside, target):
            raise RefusedError(TAKEN_MEANWHILE)
        rename(source, target.spot, second_name(run, n))
    except (OSError, RefusedError) as error:
        _put_again(aside, target, second_name(run, n, back=True))
        if isinstance(error, FileExistsError):
            raise RefusedError(TAKEN_MEANWHILE) from error
        raise
    unlink_at(*aside)


def _put_again(aside: Spot, target: Place, second: bytes) -> None:
    """Give what was taken aside its name again; where that is taken too, a link goes, and all else stays and is told.

    Raises:
        RefusedError: it stays.
        OSError: likewise.
    """
    try:
        rename(aside, target.spot, second)
    except FileExistsError as error:
        there = look_at(aside)
        if there.look is not None and there.look.nlink > 1 and _is_still(aside, target):
            unlink_at(*aside)
            return
        told = f"{TAKEN_MEANWHILE}, and what had it before lies beside it as {display.shown(aside.name)}"
        raise RefusedError(told) from error


def _is_still(spot: Spot, seen: Place) -> bool:
    """Return whether a name means the very file that was seen, as it was."""
    now = look_at(spot).look
    return now is not None and seen.look is not None and now.is_as(seen.look)
