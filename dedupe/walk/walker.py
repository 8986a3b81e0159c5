"""From roots to a table of files.  Never opens a file, and knows no cache.

Folders are listed in batches that may go to workers; each listing is a table of its own that is put together here.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Sequence

from dedupe.config import AnyPath, ScanConfig
from dedupe.result import Problem, ProblemKind
from dedupe.storage import problems
from dedupe.walk.filters import Filters
from dedupe.walk.listing import Listing, PendingFiles, PendingFolder
from dedupe.walk.mount_points import located
from dedupe.walk.own_files import own_file
from dedupe.walk.scanner import FolderScanner
from dedupe.workers.pool import Pool

_WIDTH = 64  # folders waiting before workers are asked to help


def walk(
    config: ScanConfig,
    roots: Sequence[bytes],
    pool: Pool,
    own_files: Iterable[AnyPath | int] = (),
    *,
    reach: Callable[[int], object] = lambda _: None,
) -> Listing:
    """Return the listing of a whole scan; problems with roots come first.

    The order of its files depends on the machine: nothing may rely on it.

    Args:
        config: what takes part.
        roots: absolute paths.
        pool: lists folders where there are many.
        own_files: that the scan itself writes, paths or descriptors: they take no part.
        reach: is told how many files there are, each time that there are more.

    """
    rules = FolderScanner(
        filters=Filters.of(config),
        boundaries=frozenset(),
        own=tuple(filter(None, map(own_file, own_files))),
        one_file_system=config.one_file_system,
        follow=config.follow_symlinks,
        cloud_files=config.cloud_files,
    )
    total = Listing()
    folders: dict[bytes, int] = {}  # of roots that are files
    for number, root in enumerate(roots):
        _start(rules, total, root, number, folders)
    rules.boundaries = frozenset(pending.folder for pending in total.pending)  # of a million roots that are files, none
    while total.pending:
        reach(len(total.table))
        many = len(total.pending) >= _WIDTH or any(isinstance(pending, PendingFiles) for pending in total.pending)
        shared = many and not config.follow_symlinks
        if shared:
            pool.prepare(files=len(total.table))
        if not shared or not pool.has_workers:
            batch, total.pending = total.pending, []
            total.take(rules(batch))
        else:
            for _, listing in pool.run(rules, _hand_out(total)):
                total.take(listing)
                reach(len(total.table))
    reach(len(total.table))
    return total


def _hand_out(total: Listing) -> Iterable[list[PendingFolder | PendingFiles]]:
    """Yield folders in small batches as long as any wait; workers bring back those that they did not reach."""
    while total.pending:
        size = 1 if isinstance(total.pending[-1], PendingFiles) else max(1, min(32, len(total.pending) // 8))
        batch, total.pending = total.pending[-size:], total.pending[:-size]
        yield batch


def _start(rules: FolderScanner, total: Listing, root: bytes, number: int, folders: dict[bytes, int]) -> None:
    """Add one root: a folder waits to be listed, a file is taken, anything else is a problem."""
    try:
        mode = os.stat(root).st_mode
        if stat.S_ISDIR(mode):
            mount = located(root)
            total.pending.append(PendingFolder(root, mount, number, mount.volume))
        elif stat.S_ISREG(mode):
            path = os.path.realpath(root) if os.path.islink(root) else root  # a link itself is never opened
            folder, name = os.path.split(path)
            if folder not in folders:
                mount = located(folder)
                folders[folder] = total.table.enter(folder, mount)
            files = len(total.table)
            rules.file(total, folders[folder], name)
            if len(total.table) > files:
                total.table.named_root[files] = number
        else:
            message = "is neither a file nor a folder: name something that holds data"
            total.problems.append(Problem(root, ProblemKind.NOT_A_FILE, message))
    except OSError as error:
        total.problems.append(problems.of_root(root, error))
