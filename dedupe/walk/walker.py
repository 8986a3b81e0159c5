"""From roots to entries.  Never opens a file, and knows no cache.

Folders are listed in batches that may go to workers; each listing is a table of its own that is put together here.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence

from dedupe.config import AnyPath, ScanConfig
from dedupe.result import Problem, ProblemKind
from dedupe.storage import file_stat, problems
from dedupe.walk.filters import Filters
from dedupe.walk.listing import Listing, PendingFolder
from dedupe.walk.scanner import FolderScanner
from dedupe.workers.pool import Pool

_WIDTH = 64  # folders waiting before workers are asked to help


def walk(
    config: ScanConfig, roots: Sequence[bytes], pool: Pool, own_files: Iterable[AnyPath | int]
) -> Iterator[Listing]:
    """Yield the listing of the whole scan, growing, each time that it grew; the last one is complete.

    `roots` are absolute; `own_files` are those that the scan itself writes: they take no part.
    Problems with roots are listed first.  The order of entries depends on the machine: nothing may rely on it.
    """
    own = {(s.device, s.inode) for p in own_files if (s := _status_or_none(p)) and s.inode}
    rules = FolderScanner(
        filters=Filters.of(config),
        boundaries=frozenset(),
        own=frozenset(own),
        one_file_system=config.one_file_system,
        follow=config.follow_symlinks,
        cloud_files=config.cloud_files,
    )
    total = Listing()
    folders: dict[bytes, int] = {}  # of roots that are files
    for root in roots:
        _start(rules, total, root, folders)
    rules.boundaries = frozenset(pending.folder for pending in total.pending)  # of a million roots that are files, none
    yield total
    while total.pending:
        many = len(total.pending) >= _WIDTH or any(pending.names for pending in total.pending)
        if config.follow_symlinks or not many or not pool.start_if_worthwhile(len(total.table)):
            batch, total.pending = total.pending, []
            total.take(rules(batch, may_mmap=False))
        else:
            for _, listing in pool.run(rules, _hand_out(total)):
                total.take(listing)
                yield total
        yield total


def _hand_out(total: Listing) -> Iterable[list[PendingFolder]]:
    """Yield folders in small batches as long as any wait; workers bring back those that they did not reach."""
    while total.pending:
        size = 1 if total.pending[-1].names else max(1, min(32, len(total.pending) // 8))
        batch, total.pending = total.pending[-size:], total.pending[:-size]
        yield batch


def _status_or_none(file: AnyPath | int) -> file_stat.FileStat | None:
    try:
        return file_stat.of_descriptor(file) if isinstance(file, int) else file_stat.of_path(os.fsencode(file))
    except OSError:
        return None


def _start(rules: FolderScanner, total: Listing, root: bytes, folders: dict[bytes, int]) -> None:
    """Add one root: a folder waits to be listed, a file is taken, anything else is a problem."""
    try:
        seen = os.stat(root)
        if stat.S_ISDIR(seen.st_mode):
            total.pending.append(PendingFolder(root, seen.st_dev))
        elif stat.S_ISREG(seen.st_mode):
            path = os.path.realpath(root) if os.path.islink(root) else root  # a link itself is never opened
            folder, name = os.path.split(path)
            if folder not in folders:
                folders[folder] = total.table.enter(folder)
            rules.file(total, folders[folder], name)
        else:
            message = "is neither a file nor a folder: name something that holds data"
            total.problems.append(Problem(root, ProblemKind.NOT_A_FILE, message))
    except OSError as error:
        total.problems.append(problems.of_root(root, error))
