"""One folder after the other to a listing: what takes part, what does not and why.  Never opens a file.

Runs in workers too: it knows the rules of a scan, and nothing of the rest of it.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress, islice, starmap
from operator import methodcaller, not_
from typing import TypeVar

from dedupe.result import Problem, ProblemKind, SkipReason
from dedupe.storage import file_stat, placeholders, problems, windows
from dedupe.walk.filters import Filters
from dedupe.walk.listing import Listing, PendingFolder

T = TypeVar("T")

_SHARE = 4000  # files that a worker lists before it hands its remaining folders back: some 15 ms of work
_SLICE = 4096  # entries of a folder that are held as objects at one time


@dataclass(slots=True)
class FolderScanner:
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

    def __call__(self, batch: list[PendingFolder], *, may_mmap: bool) -> Listing:  # noqa: ARG002 - nothing to map
        """List the folders of a batch and those below them, until a fair share of files is reached."""
        listing = Listing(pending=batch)
        while listing.pending and (self.follow or len(listing.table) < _SHARE):
            pending = listing.pending.pop()
            if pending.names:
                self._shared(listing, pending)
            else:
                self.folder(listing, pending.folder, pending.device)
        return listing

    def lost(self, batch: list[PendingFolder]) -> Listing:
        """Return what is known of folders whose worker died."""
        listing = Listing()
        for folder, _, names in batch:
            files = [os.path.join(folder, name) for name in names.split(b"\0") if name]
            listing.unlisted += files or [folder]
            what = f"could not be looked at in {len(files)} of its files" if files else "could not be listed"
            path = folder[:-1] if files and len(folder) > 1 else folder  # of files it ends where a name can follow
            listing.problems.append(Problem(path, ProblemKind.IO, f"{what}: its worker died"))
        return listing

    def folder(self, listing: Listing, path: bytes, device: int) -> None:
        """List one folder: files into the table, folders to those that wait."""
        try:
            if self.follow and not self._first_visit(path):
                listing.skipped[SkipReason.SYMLINK] += 1
                listing.unlisted.append(path)
                return
            with os.scandir(path) as found:
                self._slices(listing, found, listing.table.enter(path), device)
        except OSError as error:
            listing.problems.append(problems.of_listing(path, error))
            listing.unlisted.append(path)

    def _slices(self, listing: Listing, found: Iterator[os.DirEntry[bytes]], number: int, device: int) -> None:
        """List a folder slice by slice: a million entries at once would take a gigabyte."""
        left_out, shared = listing.table.left_out, False
        left_out[number] = 1  # until the end is reached: nobody knows what was not listed
        while children := list(islice(found, _SLICE)):
            files, others = self._kinds(listing, number, children)
            names = [file.name for file in files]
            going_on = len(names)
            if not shared:
                going_on = self._take(listing, number, names, files)
            elif names:
                listing.pending.append(PendingFolder(listing.table.folders[number], device, b"\0".join(names)))
            shared = not self.follow  # where links are followed one process does it all
            for child in others:
                try:
                    going_on += self._other(listing, child, device)
                except OSError as error:
                    listing.problems.append(problems.of_listing(child.path, error))
            left_out[number] += len(children) - going_on
        left_out[number] -= 1

    def _shared(self, listing: Listing, pending: PendingFolder) -> None:
        """Look at some files of a folder that another process listed."""
        number = listing.table.enter(pending.folder)
        folder, names = listing.table.folders[number], pending.names.split(b"\0")
        taken = self._take(listing, number, names, [folder + name for name in names])
        listing.table.left_out[number] = len(names) - taken

    def _kinds(
        self, listing: Listing, number: int, children: Sequence[os.DirEntry[bytes]]
    ) -> tuple[Sequence[os.DirEntry[bytes]], Sequence[os.DirEntry[bytes]]]:
        """Return the regular files that take part by their names, and the entries of other kinds."""
        folder, follow = listing.table.folders[number], self.follow
        if placeholders.EXIST:
            children = _answering(listing, children, self._left_out_unopened)
            children = _kept(children, map(self._left_out_unopened, children), listing.skipped)
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
        try:
            columns = file_stat.columns(files, follow=self.follow)
        except OSError:
            names, columns = self._one_by_one(listing, names, files)
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
        listing.table.add_all(number, names, columns)
        return len(names)

    def _one_by_one(
        self, listing: Listing, names: Sequence[bytes], files: Sequence[os.DirEntry[bytes] | bytes]
    ) -> tuple[list[bytes], Sequence[Sequence[int]]]:
        """Return the names and statuses of the files for which the system answers, and note the others' problems."""
        there: list[bytes] = []
        columns: list[list[int]] = [[] for _ in file_stat.FileStat._fields]
        for name, file in zip(names, files, strict=True):
            try:
                values = file_stat.columns([file], follow=self.follow)
            except OSError as error:
                listing.problems.append(problems.of_listing(os.fspath(file), error))
                continue
            there.append(name)
            for column, (value,) in zip(columns, values, strict=True):
                column.append(value)
        return there, columns

    def _why(self, size: int, device: int, inode: int) -> SkipReason:
        """Return why a file that takes no part for what it is does not."""
        return SkipReason.OWN_OUTPUT if (device, inode) in self.own else self.filters.of_size(size)

    def file(self, listing: Listing, number: int, name: bytes) -> None:
        """Append one file that was named itself, or count why it is left out."""
        folder = listing.table.folders[number]
        if reason := self.filters.of_file(folder, name):
            listing.skipped[reason] += 1
            return
        if placeholders.EXIST and not self.cloud_files and placeholders.would_download(os.lstat(folder + name)):
            listing.skipped[SkipReason.CLOUD] += 1
            return
        found = file_stat.of_path(folder + name)
        if found[3:] in self.own or not self.filters.min_size <= found.size <= self.filters.max_size:
            listing.skipped[self._why(found.size, found.device, found.inode)] += 1
        else:
            listing.table.add(number, name, found)

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
                listing.pending.append(PendingFolder(child.path, device))
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

    def _left_out_unopened(self, child: os.DirEntry[bytes]) -> SkipReason | None:
        """Return why an entry is left out before anything opens it: Windows' links, and placeholders."""
        seen = child.stat(follow_symlinks=False)
        if (
            sys.platform == "win32"
            and not self.follow
            and windows.is_junction_or_link(seen.st_file_attributes, seen.st_reparse_tag)
        ):
            return SkipReason.SYMLINK
        if self.cloud_files:
            return None
        if self.follow and child.is_symlink():
            try:
                seen = child.stat()
            except OSError:
                return None  # a link that leads nowhere: whoever follows it says so
        return SkipReason.CLOUD if placeholders.would_download(seen) else None


def _answering(
    listing: Listing, children: Sequence[os.DirEntry[bytes]], ask: Callable[[os.DirEntry[bytes]], object]
) -> list[os.DirEntry[bytes]]:
    """Return the entries for which the system answers, and note the problems of the others."""
    answering = []
    for child in children:
        try:
            ask(child)
            answering.append(child)
        except OSError as error:
            listing.problems.append(problems.of_listing(child.path, error))
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
