"""What a worker's answer is worth: only what agrees with what this machine sees itself.  Sends nothing.

Of files, the stats by which the worker had them open must be those that the walk saw.  Of folders, this machine looks
at each one that was listed; on which mount it lies is for this machine to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from dedupe.cluster.proof import look
from dedupe.cluster.remote import Answer
from dedupe.compare.candidates import CandidateBatch
from dedupe.compare.confirm import Confirmer
from dedupe.compare.fingerprint import Batch, Fingerprinter
from dedupe.files.selection import SelectedStats
from dedupe.files.table import FileTable
from dedupe.storage import file_stat
from dedupe.walk.listing import Listing, PendingFiles, PendingFolder
from dedupe.walk.mount_points import located
from dedupe.walk.scanner import FolderScanner


def may_send(task: object, batch: object, table: FileTable | None) -> bool:
    """Return whether another machine's answer to a task can be checked."""
    if isinstance(task, FolderScanner):
        return isinstance(batch, list) and not task.one_file_system and all(map(_may_be_listed, batch))
    if isinstance(task, Fingerprinter):
        return isinstance(batch, Batch) and table is not None
    return isinstance(task, Confirmer) and isinstance(batch, CandidateBatch)


def is_true(task: object, batch: Any, answer: Answer, table: FileTable | None) -> bool:
    """Return whether an answer tells of the very files and folders that are here, without a problem among them.

    The listing of folders is then given the mounts that they lie on here.
    """
    if isinstance(task, FolderScanner):
        return _is_listing(answer.result, answer.seen)
    if answer.result is None or answer.result.problems:
        return False
    expected: Iterable[Sequence[int]]
    if isinstance(batch, Batch):
        assert table is not None
        expected = SelectedStats(table, batch.members)
    else:
        expected = chain.from_iterable(s.stats for s in batch)
    stats = list(expected)
    return len(stats) == len(answer.seen) and all(map(file_stat.is_unchanged, stats, answer.seen))


def names_own(task: object, answer: Answer) -> bool:
    """Return whether a listing may hold a file that this scan writes, which only this machine can tell for sure."""
    if not isinstance(task, FolderScanner) or answer.result is None:
        return False
    return not {file.inode for file in task.own}.isdisjoint(answer.result.table.inode)


def _may_be_listed(pending: PendingFolder | PendingFiles) -> bool:
    """Return whether a folder's number and times tell it from others."""
    if isinstance(pending, PendingFiles):
        return True  # it was asked when the folder was
    return pending.top.stable_inodes and pending.top.keeps_change_time


def _is_listing(listing: Listing, seen: Sequence[Any]) -> bool:
    table = listing.table
    if listing.problems or listing.unlisted or len(seen) != len(table.folders):
        return False
    if any(volume != table.volume_of(folder) for folder, volume in zip(table.folder, table.volume, strict=True)):
        return False  # a mount of a single file
    mounts = []
    for folder, told in zip(table.folders, seen, strict=True):
        try:
            if told is None or look(folder) != told:
                return False
            mounts.append(located(folder))
        except OSError:
            return False
    if not all(mount.volume.stable_inodes and mount.volume.keeps_change_time for mount in mounts):
        return False
    table.place_folders(mounts)
    return True
