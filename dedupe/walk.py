"""From directories to entries.  Never opens a file, and knows no cache.

Folders are listed in batches that may go to workers; each listing is a table of its own that is put together here.
"""

from __future__ import annotations

import os
import stat
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dedupe import problems, status
from dedupe.config import AnyPath, ScanConfig
from dedupe.entries import Entries
from dedupe.filters import Filters
from dedupe.pool import Pool
from dedupe.result import Problem, ProblemKind, SkipReason

_SHARE = 4000  # files that a worker lists before it hands its remaining folders back: some 15 ms of work
_WIDTH = 64  # folders waiting before workers are asked to help


@dataclass(slots=True)
class Listing:
    """What was found below some folders, and the folders that still wait to be listed."""

    entries: Entries = field(default_factory=Entries)
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    waiting: list[tuple[bytes, int]] = field(default_factory=list)  # path, and the device of its root

    def take(self, other: Listing) -> None:
        """Add what another listing found."""
        self.entries.extend(other.entries)
        self.skipped.update(other.skipped)
        self.problems += other.problems
        self.waiting += other.waiting


@dataclass(slots=True)
class Lister:
    """Lists folders by the rules of one scan; a picklable task for `Pool`."""

    filters: Filters
    boundaries: frozenset[bytes]  # other roots: they are listed on their own
    own: frozenset[tuple[int, int]]  # (device, inode) of files that this very scan writes
    one_file_system: bool
    follow: bool
    cloud_files: bool
    visited: set[tuple[int, int]] = field(default_factory=set)  # folders, where links are followed

    def __call__(self, batch: list[tuple[bytes, int]], *, mapped: bool) -> Listing:  # noqa: ARG002 - nothing to map
        """List the folders of a batch and those below them, until a fair share of files is reached."""
        listing = Listing(waiting=batch)
        while listing.waiting and (self.follow or len(listing.entries) < _SHARE):
            self.folder(listing, *listing.waiting.pop())
        return listing

    def lost(self, batch: list[tuple[bytes, int]]) -> Listing:
        """Return what is known of folders whose worker died."""
        return Listing(problems=[Problem(p, ProblemKind.IO, "could not be listed: its worker died") for p, _ in batch])

    def folder(self, listing: Listing, path: bytes, device: int) -> None:
        """List one folder: files into the table, folders to those that wait."""
        try:
            if self.follow and not self._first_visit(path):
                listing.skipped[SkipReason.SYMLINK] += 1
                return
            with os.scandir(path) as found:
                children = list(found)  # at once, so that what is written meanwhile cannot make it endless
        except OSError as error:
            listing.problems.append(problems.of_listing(path, error))
            return
        number = listing.entries.enter(path)
        for child in children:
            try:
                self._child(listing, number, child, device)
            except OSError as error:
                listing.problems.append(problems.of_listing(child.path, error))

    def _first_visit(self, path: bytes) -> bool:
        seen = os.stat(path)
        known = (seen.st_dev, seen.st_ino) in self.visited
        self.visited.add((seen.st_dev, seen.st_ino))
        return not known

    def _child(self, listing: Listing, number: int, child: os.DirEntry[bytes], device: int) -> None:
        """Sort one directory entry in: file, folder, link or special."""
        folder = listing.entries.folders[number]
        if sys.platform == "win32" and (reason := self._windows_only(child)):
            listing.skipped[reason] += 1
        elif child.is_file(follow_symlinks=self.follow):
            reason = self.filters.of_file(folder, child.name) if self.filters.any_names else None
            if reason is None:
                reason = self.file(listing, number, child.name, child)
            if reason is not None:
                listing.skipped[reason] += 1
        elif child.is_dir(follow_symlinks=self.follow):
            reason = self._folder_rule(folder, child, device)
            if reason is not None:
                listing.skipped[reason] += 1
            elif child.path not in self.boundaries:
                listing.waiting.append((child.path, device))
        else:
            listing.skipped[SkipReason.SYMLINK if child.is_symlink() else SkipReason.SPECIAL] += 1

    def file(self, listing: Listing, number: int, name: bytes, child: os.DirEntry[bytes] | bytes) -> SkipReason | None:
        """Append one regular file, or return why it is left out."""
        if sys.platform == "win32" or isinstance(child, bytes):
            found = status.of_path(child if isinstance(child, bytes) else child.path, follow=self.follow)
        else:
            found = status.of_stat(child.stat(follow_symlinks=self.follow))
        if self.own and (found.device, found.inode) in self.own:
            return SkipReason.OWN_OUTPUT
        if not self.filters.min_size <= found.size <= self.filters.max_size:
            return self.filters.of_size(found.size)
        listing.entries.add(number, name, found)
        return None

    def _folder_rule(self, folder: bytes, child: os.DirEntry[bytes], device: int) -> SkipReason | None:
        reason = self.filters.of_folder(folder, child.name)
        if reason is None and self.one_file_system and child.stat(follow_symlinks=self.follow).st_dev != device:
            reason = SkipReason.OTHER_FILE_SYSTEM
        return reason

    def _windows_only(self, child: os.DirEntry[bytes]) -> SkipReason | None:
        """Return why Windows' attributes keep an entry out: placeholders are judged without opening them."""
        from dedupe import windows

        seen = child.stat(follow_symlinks=False)
        if windows.is_junction_or_link(seen.st_file_attributes, seen.st_reparse_tag) and not self.follow:
            return SkipReason.SYMLINK
        if windows.is_cloud_placeholder(seen.st_file_attributes) and not self.cloud_files:
            return SkipReason.CLOUD
        return None


def absolute(path: bytes) -> bytes:
    """Return a path made absolute as the user reached it: links stay, `..` is only folded where that is the same."""
    if sys.platform == "win32":
        from dedupe import windows

        return windows.extended(path)
    folded = os.path.abspath(path)
    if b".." in path.split(b"/"):
        try:
            same = os.path.samefile(folded, path)
        except OSError:
            same = False
        return folded if same else os.path.realpath(path)
    return folded.replace(b"//", b"/", 1) if folded.startswith(b"//") else folded


def walk(config: ScanConfig, pool: Pool, own_files: Iterable[AnyPath | int]) -> Iterator[Listing]:
    """Yield the listing of the whole scan, growing, each time that it grew; the last one is complete.

    `own_files` are those that the scan itself writes: they take no part.
    Problems with roots are listed first.  The order of entries depends on the machine: nothing may rely on it.
    """
    roots = list(dict.fromkeys(absolute(os.fsencode(r)) for r in config.roots))
    own = {(s.device, s.inode) for p in own_files if (s := _status_or_none(p))}
    rules = Lister(
        filters=Filters.of(config),
        boundaries=frozenset(roots),
        own=frozenset(own),
        one_file_system=config.one_file_system,
        follow=config.follow_symlinks,
        cloud_files=config.cloud_files,
    )
    total = Listing()
    folders: dict[bytes, int] = {}  # of roots that are files
    for root in roots:
        _start(rules, total, root, folders)
    yield total
    while total.waiting:
        if config.follow_symlinks or len(total.waiting) < _WIDTH or not pool.is_warm(len(total.entries)):
            batch, total.waiting = total.waiting, []
            total.take(rules(batch, mapped=False))
        else:
            for _, listing in pool.run(rules, _hand_out(total)):
                total.take(listing)
                yield total
        yield total


def _hand_out(total: Listing) -> Iterable[list[tuple[bytes, int]]]:
    """Yield folders in small batches as long as any wait; workers bring back those that they did not reach."""
    while total.waiting:
        size = max(1, min(32, len(total.waiting) // 8))
        batch, total.waiting = total.waiting[-size:], total.waiting[:-size]
        yield batch


def _status_or_none(file: AnyPath | int) -> status.Status | None:
    try:
        return status.of_descriptor(file) if isinstance(file, int) else status.of_path(os.fsencode(file))
    except OSError:
        return None


def _start(rules: Lister, total: Listing, root: bytes, folders: dict[bytes, int]) -> None:
    """Add one root: a folder waits to be listed, a file is taken, anything else is a problem."""
    try:
        seen = os.stat(root)
        if stat.S_ISDIR(seen.st_mode):
            total.waiting.append((root, seen.st_dev))
        elif stat.S_ISREG(seen.st_mode):
            path = os.path.realpath(root) if os.path.islink(root) else root  # a link itself is never opened
            folder, name = os.path.split(path)
            reason = rules.filters.of_file(folder + b"/", name)
            if reason is None and folder not in folders:
                folders[folder] = total.entries.enter(folder)
            reason = reason or rules.file(total, folders[folder], name, path)
            if reason is not None:
                total.skipped[reason] += 1
        else:
            message = "is neither a file nor a folder: name something that holds data"
            total.problems.append(Problem(root, ProblemKind.NOT_A_FILE, message))
    except OSError as error:
        total.problems.append(problems.of_root(root, error))
