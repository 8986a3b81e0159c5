"""From directories to entries.  Never opens a file, and knows no cache.

Folders are listed in batches that may go to workers; each listing is a table of its own that is put together here.
"""

from __future__ import annotations

import operator
import os
import stat
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress, islice, starmap
from typing import TypeVar

from dedupe import problems, status, windows
from dedupe.config import AnyPath, ScanConfig
from dedupe.entries import Entries
from dedupe.filters import Filters
from dedupe.pool import Pool
from dedupe.result import Problem, ProblemKind, SkipReason

T = TypeVar("T")

_SHARE = 4000  # files that a worker lists before it hands its remaining folders back: some 15 ms of work
_SLICE = 4096  # entries of a folder that are held as objects at one time
_WIDTH = 64  # folders waiting before workers are asked to help


@dataclass(slots=True)
class Listing:
    """What was found below some folders, and the folders that still wait to be listed."""

    entries: Entries = field(default_factory=Entries)
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    waiting: list[tuple[bytes, int]] = field(default_factory=list)  # path, and the device of its root
    unlisted: list[bytes] = field(default_factory=list)  # folders that waited in vain

    def take(self, other: Listing) -> None:
        """Add what another listing found."""
        self.entries.extend(other.entries)
        self.skipped.update(other.skipped)
        self.problems += other.problems
        self.waiting += other.waiting
        self.unlisted += other.unlisted


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
    _own_inodes: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        self._own_inodes = frozenset(inode for _, inode in self.own)

    def __call__(self, batch: list[tuple[bytes, int]], *, mapped: bool) -> Listing:  # noqa: ARG002 - nothing to map
        """List the folders of a batch and those below them, until a fair share of files is reached."""
        listing = Listing(waiting=batch)
        while listing.waiting and (self.follow or len(listing.entries) < _SHARE):
            self.folder(listing, *listing.waiting.pop())
        return listing

    def lost(self, batch: list[tuple[bytes, int]]) -> Listing:
        """Return what is known of folders whose worker died."""
        lost = [Problem(p, ProblemKind.IO, "could not be listed: its worker died") for p, _ in batch]
        return Listing(problems=lost, unlisted=[p for p, _ in batch])

    def folder(self, listing: Listing, path: bytes, device: int) -> None:
        """List one folder: files into the table, folders to those that wait."""
        try:
            if self.follow and not self._first_visit(path):
                listing.skipped[SkipReason.SYMLINK] += 1
                listing.unlisted.append(path)
                return
            with os.scandir(path) as found:
                self._slices(listing, found, listing.entries.enter(path), device)
        except OSError as error:
            listing.problems.append(problems.of_listing(path, error))
            listing.unlisted.append(path)

    def _slices(self, listing: Listing, found: Iterator[os.DirEntry[bytes]], number: int, device: int) -> None:
        """List a folder slice by slice: a million entries at once would take a gigabyte."""
        left_out = 0
        while children := list(islice(found, _SLICE)):
            before = len(listing.entries)
            others = self._files(listing, number, children)
            going_on = len(listing.entries) - before
            for child in others:
                try:
                    going_on += self._other(listing, child, device)
                except OSError as error:
                    listing.problems.append(problems.of_listing(child.path, error))
            left_out += len(children) - going_on
        listing.entries.left_out[number] = left_out

    def _files(self, listing: Listing, number: int, children: list[os.DirEntry[bytes]]) -> list[os.DirEntry[bytes]]:
        """Append the regular files of a folder; return the entries of other kinds."""
        while True:
            try:
                return self._all_files(listing, number, children)
            except OSError:  # one of them does not answer: go on without
                children = [child for child in children if self._answers(listing, child)]

    def _answers(self, listing: Listing, child: os.DirEntry[bytes]) -> bool:
        """Tell whether the system says what an entry is, or note the problem."""
        try:
            if child.is_file(follow_symlinks=self.follow):
                status.columns([child], follow=self.follow)
        except OSError as error:
            listing.problems.append(problems.of_listing(child.path, error))
            return False
        return True

    def _all_files(self, listing: Listing, number: int, children: list[os.DirEntry[bytes]]) -> list[os.DirEntry[bytes]]:
        """Do the same, at a price that is small beside that of the system's calls; an error leaves nothing behind."""
        folder, filters, follow = listing.entries.folders[number], self.filters, self.follow
        skipped: list[SkipReason] = []
        if sys.platform == "win32":
            children = _kept(children, map(self._windows_only, children), skipped)
        files = [child for child in children if child.is_file(follow_symlinks=follow)]
        others = [] if len(files) == len(children) else [c for c in children if not c.is_file(follow_symlinks=follow)]
        if filters.any_names:
            files = _kept(files, [filters.of_file(folder, file.name) for file in files], skipped)
        columns = status.columns(files, follow=follow)
        size, _, _, device, inode = columns
        least, most = filters.min_size, filters.max_size
        keep = [least <= n <= most for n in size]
        if not self._own_inodes.isdisjoint(inode):
            keep = [k and both not in self.own for k, both in zip(keep, zip(device, inode, strict=True), strict=True)]
        if not all(keep):
            left_out = compress(zip(size, device, inode, strict=True), map(operator.not_, keep))
            skipped += starmap(self._why, left_out)
            columns = [list(compress(column, keep)) for column in columns]
            files = list(compress(files, keep))
        listing.entries.add_all(number, [file.name for file in files], columns)
        listing.skipped.update(skipped)
        return others

    def _why(self, size: int, device: int, inode: int) -> SkipReason:
        """Return why a file that takes no part for what it is does not."""
        return SkipReason.OWN_OUTPUT if (device, inode) in self.own else self.filters.of_size(size)

    def file(self, listing: Listing, number: int, name: bytes) -> None:
        """Append one file that was named itself, or count why it is left out."""
        folder = listing.entries.folders[number]
        if reason := self.filters.of_file(folder, name):
            listing.skipped[reason] += 1
            return
        if sys.platform == "win32" and not self.cloud_files:
            attributes = os.lstat(folder + name).st_file_attributes
            if windows.is_cloud_placeholder(attributes):
                listing.skipped[SkipReason.CLOUD] += 1
                return
        found = status.of_path(folder + name)
        if found[3:] in self.own or not self.filters.min_size <= found.size <= self.filters.max_size:
            listing.skipped[self._why(found.size, found.device, found.inode)] += 1
        else:
            listing.entries.add(number, name, found)

    def _first_visit(self, path: bytes) -> bool:
        seen = os.stat(path)
        known = (seen.st_dev, seen.st_ino) in self.visited
        self.visited.add((seen.st_dev, seen.st_ino))
        return not known

    def _other(self, listing: Listing, child: os.DirEntry[bytes], device: int) -> bool:
        """Sort in what is no file: a folder, a link or something special; tell whether it will be listed."""
        if not child.is_dir(follow_symlinks=self.follow):
            listing.skipped[SkipReason.SYMLINK if child.is_symlink() else SkipReason.SPECIAL] += 1
        elif reason := self._folder_rule(child, device):
            listing.skipped[reason] += 1
        else:
            if child.path not in self.boundaries:
                listing.waiting.append((child.path, device))
            return True
        return False

    def _folder_rule(self, child: os.DirEntry[bytes], device: int) -> SkipReason | None:
        reason = self.filters.of_folder(child.path)
        if (
            reason is None
            and self.one_file_system
            and os.stat(child.path, follow_symlinks=self.follow).st_dev != device
        ):
            reason = SkipReason.OTHER_FILE_SYSTEM
        return reason

    def _windows_only(self, child: os.DirEntry[bytes]) -> SkipReason | None:
        """Return why Windows' attributes keep an entry out: placeholders are judged without opening them."""
        if sys.platform == "win32":
            seen = child.stat(follow_symlinks=False)
            if windows.is_junction_or_link(seen.st_file_attributes, seen.st_reparse_tag) and not self.follow:
                return SkipReason.SYMLINK
            if windows.is_cloud_placeholder(seen.st_file_attributes) and not self.cloud_files:
                return SkipReason.CLOUD
        return None


def _kept(items: Sequence[T], reasons: Iterable[SkipReason | None], skipped: list[SkipReason]) -> list[T]:
    """Return the items that there is no reason to leave out, and add the reasons that there are."""
    kept = []
    for item, reason in zip(items, reasons, strict=True):
        if reason is None:
            kept.append(item)
        else:
            skipped.append(reason)
    return kept


def walk(
    config: ScanConfig, roots: Sequence[bytes], pool: Pool, own_files: Iterable[AnyPath | int]
) -> Iterator[Listing]:
    """Yield the listing of the whole scan, growing, each time that it grew; the last one is complete.

    `roots` are absolute; `own_files` are those that the scan itself writes: they take no part.
    Problems with roots are listed first.  The order of entries depends on the machine: nothing may rely on it.
    """
    own = {(s.device, s.inode) for p in own_files if (s := _status_or_none(p)) and s.inode}
    rules = Lister(
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
    rules.boundaries = frozenset(path for path, _ in total.waiting)  # of a million roots that are files, none
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
            if folder not in folders:
                folders[folder] = total.entries.enter(folder)
            rules.file(total, folders[folder], name)
        else:
            message = "is neither a file nor a folder: name something that holds data"
            total.problems.append(Problem(root, ProblemKind.NOT_A_FILE, message))
    except OSError as error:
        total.problems.append(problems.of_root(root, error))
