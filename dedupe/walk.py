"""From directories to entries.  Never opens a file, and knows no cache.

Folders are listed in batches that may go to workers; each listing is a table of its own that is put together here.
"""

from __future__ import annotations

import os
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress, islice, starmap
from operator import methodcaller, not_
from typing import Any, TypeVar

from dedupe import problems, status, windows
from dedupe.config import AnyPath, ScanConfig
from dedupe.filters import Filters
from dedupe.listing import Listing, Waiting
from dedupe.pool import Pool
from dedupe.result import Problem, ProblemKind, SkipReason

T = TypeVar("T")

_SHARE = 4000  # files that a worker lists before it hands its remaining folders back: some 15 ms of work
_SLICE = 4096  # entries of a folder that are held as objects at one time
_WIDTH = 64  # folders waiting before workers are asked to help


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

    def __call__(self, batch: list[Waiting], *, mapped: bool) -> Listing:  # noqa: ARG002 - nothing to map
        """List the folders of a batch and those below them, until a fair share of files is reached."""
        listing = Listing(waiting=batch)
        while listing.waiting and (self.follow or len(listing.entries) < _SHARE):
            waiting = listing.waiting.pop()
            if waiting.names:
                self._shared(listing, waiting)
            else:
                self.folder(listing, waiting.folder, waiting.device)
        return listing

    def lost(self, batch: list[Waiting]) -> Listing:
        """Return what is known of folders whose worker died."""
        folders = [waiting.folder for waiting in batch]
        lost = [Problem(f, ProblemKind.IO, "could not be listed: its worker died") for f in folders]
        return Listing(problems=lost, unlisted=folders)

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
        left_out, shared = 0, False
        while children := list(islice(found, _SLICE)):
            files, others = self._kinds(listing, number, children)
            names = [file.name for file in files]
            going_on = len(names)
            if not shared:
                going_on = self._take(listing, number, names, files)
            elif names:
                listing.waiting.append(Waiting(listing.entries.folders[number], device, b"\0".join(names)))
            shared = not self.follow  # where links are followed one process does it all
            for child in others:
                try:
                    going_on += self._other(listing, child, device)
                except OSError as error:
                    listing.problems.append(problems.of_listing(child.path, error))
            left_out += len(children) - going_on
        listing.entries.left_out[number] = left_out

    def _shared(self, listing: Listing, waiting: Waiting) -> None:
        """Look at some files of a folder that another process listed."""
        number = listing.entries.enter(waiting.folder)
        folder, names = listing.entries.folders[number], waiting.names.split(b"\0")
        taken = self._take(listing, number, names, [folder + name for name in names])
        listing.entries.left_out[number] = len(names) - taken

    def _kinds(
        self, listing: Listing, number: int, children: Sequence[os.DirEntry[bytes]]
    ) -> tuple[Sequence[os.DirEntry[bytes]], Sequence[os.DirEntry[bytes]]]:
        """Return the regular files that take part by their names, and the entries of other kinds."""
        folder, follow = listing.entries.folders[number], self.follow
        if sys.platform == "win32":
            children = _answering(listing, children, self._windows_only)
            children = _kept(children, map(self._windows_only, children), listing.skipped)
        is_file = methodcaller("is_file", follow_symlinks=follow)
        try:
            files = list(filter(is_file, children))
        except OSError:
            children = _answering(listing, children, is_file)
            files = list(filter(is_file, children))
        others = [] if len(files) == len(children) else [c for c in children if not c.is_file(follow_symlinks=follow)]
        if self.filters.any_names:
            files = _kept(files, [self.filters.of_file(folder, file.name) for file in files], listing.skipped)
        return files, others

    def _take(
        self, listing: Listing, number: int, names: list[bytes], files: Sequence[os.DirEntry[bytes] | bytes]
    ) -> int:
        """Append the files of a folder that take part by what they are, in few calls for all; return how many do."""
        while True:
            try:
                columns = status.columns(files, follow=self.follow)
                break
            except OSError:
                files = _answering(listing, files, lambda file: status.columns([file], follow=self.follow))
                names = [os.path.basename(os.fspath(file)) for file in files]
        size, _, _, device, inode = columns
        least, most = self.filters.min_size, self.filters.max_size
        keep = [least <= n <= most for n in size]
        if not self._own_inodes.isdisjoint(inode):
            keep = [k and both not in self.own for k, both in zip(keep, zip(device, inode, strict=True), strict=True)]
        if not all(keep):
            left_out = compress(zip(size, device, inode, strict=True), map(not_, keep))
            listing.skipped.update(starmap(self._why, left_out))
            columns = [list(compress(column, keep)) for column in columns]
            names = list(compress(names, keep))
        listing.entries.add_all(number, names, columns)
        return len(names)

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
                listing.waiting.append(Waiting(child.path, device))
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


def _answering(
    listing: Listing, files: Sequence[os.DirEntry[bytes] | bytes], ask: Callable[[Any], object]
) -> list[Any]:
    """Return the entries for which the system answers, and note the problems of the others."""
    answering = []
    for file in files:
        try:
            ask(file)
            answering.append(file)
        except OSError as error:
            listing.problems.append(problems.of_listing(os.fspath(file), error))
    return answering


def _kept(items: Sequence[T], reasons: Iterable[SkipReason | None], skipped: Counter[SkipReason]) -> list[T]:
    """Return the items that there is no reason to leave out, and count the reasons that there are."""
    kept = []
    for item, reason in zip(items, reasons, strict=True):
        if reason is None:
            kept.append(item)
        else:
            skipped[reason] += 1
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
    rules.boundaries = frozenset(waiting.folder for waiting in total.waiting)  # of a million roots that are files, none
    yield total
    while total.waiting:
        many = len(total.waiting) >= _WIDTH or any(waiting.names for waiting in total.waiting)
        if config.follow_symlinks or not many or not pool.is_warm(len(total.entries)):
            batch, total.waiting = total.waiting, []
            total.take(rules(batch, mapped=False))
        else:
            for _, listing in pool.run(rules, _hand_out(total)):
                total.take(listing)
                yield total
        yield total


def _hand_out(total: Listing) -> Iterable[list[Waiting]]:
    """Yield folders in small batches as long as any wait; workers bring back those that they did not reach."""
    while total.waiting:
        size = 1 if total.waiting[-1].names else max(1, min(32, len(total.waiting) // 8))
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
            total.waiting.append(Waiting(root, seen.st_dev))
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
