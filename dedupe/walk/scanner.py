"""One folder after the other to a listing: what takes part, what does not and why.  Never opens a file.

Runs in workers too: it knows the rules of a scan, and nothing of the rest of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress, islice, repeat
from operator import methodcaller, not_

from dedupe.result import Problem, ProblemKind, SkipReason
from dedupe.storage import file_stat, file_systems, placeholders, problems, volumes, windows
from dedupe.storage.temporary_names import ASIDE, is_temporary
from dedupe.storage.volume import Volume
from dedupe.walk.filters import Filters
from dedupe.walk.listing import Listing, PendingFiles, PendingFolder
from dedupe.walk.mount_points import begins_a_mount, located, volumes_of
from dedupe.walk.own_files import OwnFile

_SHARE = 4000  # files that a worker lists before it hands its remaining folders back: some 15 ms of work
_SLICE = 4096  # entries of a folder that are held as objects at one time


@dataclass(slots=True)
class FolderScanner:
    """Lists folders by the rules of one scan; a picklable task for `Pool`."""

    filters: Filters
    boundaries: frozenset[bytes]  # other roots: they are listed on their own
    own: tuple[OwnFile, ...]  # that this very scan writes
    one_file_system: bool
    follow: bool
    cloud_files: bool
    visited: set[tuple[int, int] | bytes] = field(default_factory=set)  # folders, where links are followed
    _own_inodes: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        self._own_inodes = frozenset(file.inode for file in self.own)

    def __call__(self, batch: list[PendingFolder | PendingFiles]) -> Listing:
        """List the folders of a batch and those below them, until a fair share of files is reached."""
        listing = Listing(pending=batch)
        while listing.pending and (self.follow or len(listing.table) < _SHARE):
            pending = listing.pending.pop()
            try:
                if pending.mount.volume.host != volumes.host():  # its device number means nothing here
                    pending = pending._replace(mount=located(pending.folder))
                if isinstance(pending, PendingFiles):
                    self._shared(listing, pending)
                else:
                    self.folder(listing, pending)
            except OSError as error:
                listing.problems.append(problems.of_listing(pending.folder, error))
                listing.unlisted.append(pending.folder)
        return listing

    def lost(self, batch: list[PendingFolder | PendingFiles]) -> Listing:
        """Return what is known of folders whose worker died."""
        listing = Listing()
        for pending in batch:
            folder = pending.folder
            named = pending.names.split(b"\0") if isinstance(pending, PendingFiles) else []
            files = [os.path.join(folder, name) for name in named]
            listing.unlisted += files or [folder]
            what = f"could not be looked at in {len(files)} of its files" if files else "could not be listed"
            path = folder[:-1] if files and len(folder) > 1 else folder  # of files it ends where a name can follow
            listing.problems.append(Problem(path, ProblemKind.IO, f"{what}: its worker died"))
        return listing

    def folder(self, listing: Listing, pending: PendingFolder) -> None:
        """List one folder: files into the table, folders to those that are pending.

        Raises:
            OSError: it cannot be listed.
        """
        path = pending.folder
        if self.follow and not self._first_visit(path, pending.mount.volume):
            listing.skipped[SkipReason.SYMLINK] += 1
            listing.unlisted.append(path)
            return
        with os.scandir(path) as found:
            self._slices(listing, found, listing.table.enter(path, pending.mount, pending.root), pending)

    def _slices(
        self, listing: Listing, found: Iterator[os.DirEntry[bytes]], number: int, pending: PendingFolder
    ) -> None:
        """List a folder slice by slice: a million entries at once would take a gigabyte."""
        table, shared = listing.table, False
        table.left_out[number] = 1  # until the end is reached: nobody knows what was not listed
        while children := list(islice(found, _SLICE)):
            files, others = self._kinds(listing, number, children)
            names = [file.name for file in files]
            going_on = len(names)
            if not shared:
                going_on = self._take(listing, number, names, files)
            elif names:
                files_left = PendingFiles(
                    table.folders[number], table.mount_of(number), pending.root, b"\0".join(names)
                )
                listing.pending.append(files_left)
            shared = not self.follow  # where links are followed one process does it all
            within = pending._replace(mount=table.mount_of(number))
            for child in others:
                try:
                    going_on += self._other(listing, child, within)
                except OSError as error:
                    listing.problems.append(problems.of_listing(child.path, error))
            table.left_out[number] += len(children) - going_on
        table.left_out[number] -= 1

    def _shared(self, listing: Listing, pending: PendingFiles) -> None:
        """Look at some files of a folder that another process listed."""
        number = listing.table.enter(pending.folder, pending.mount, pending.root)
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
            children = listing.kept(children, map(self._left_out_unopened, children))
        is_file = methodcaller("is_file", follow_symlinks=follow)
        try:
            files = list(filter(is_file, children))
        except OSError:
            children = _answering(listing, children, is_file)
            files = list(filter(is_file, children))
        others = [] if len(files) == len(children) else [c for c in children if not c.is_file(follow_symlinks=follow)]
        if any(file.name.startswith(ASIDE) for file in files):
            files = _without_temporary(listing, files)
        if self.filters.any_names:
            files = listing.kept(files, [self.filters.of_file(folder, file.name) for file in files])
        return files, others

    def _take(
        self, listing: Listing, number: int, names: list[bytes], files: Sequence[os.DirEntry[bytes] | bytes]
    ) -> int:
        """Append the files of a folder that take part by what they are, in few calls for all; return how many do."""
        try:
            *stats, device = file_stat.columns(files, follow=self.follow)
        except OSError:
            names, files, (*stats, device) = self._one_by_one(listing, names, files)
        table, size, inode = listing.table, stats[0], stats[-1]
        volume: Sequence[int] | None = None
        if device and (device.count(device[0]) < len(device) or device[0] != table.mount_of(number).volume.device):
            volume = volumes_of(table, number, names, device)
        least, most = self.filters.min_size, self.filters.max_size
        keep = [least <= n <= most for n in size]
        own: Sequence[bool] = ()
        if not self._own_inodes.isdisjoint(inode):
            each = map(table.volumes.__getitem__, volume or [table.volume_of(number)] * len(names))
            paths = (table.folders[number] + name for name in names)
            own = list(map(self._is_own, each, inode, paths))
            keep = [k and not o for k, o in zip(keep, own, strict=True)]
        if not all(keep):
            reasons = [SkipReason.OWN_OUTPUT if o else None for o in own] or repeat(None, len(names))
            left_out = compress(zip(reasons, size, strict=True), map(not_, keep))
            listing.skipped.update(reason or self.filters.of_size(n) for reason, n in left_out)
            stats = [list(compress(column, keep)) for column in stats]
            names, files = list(compress(names, keep)), list(compress(files, keep))
            volume = list(compress(volume, keep)) if volume else None
        first = len(table)
        table.add_all(number, names, stats, volume)
        if self.follow:
            self._targets(listing, number, first, files)
        return len(names)

    def _targets(self, listing: Listing, number: int, first: int, files: Sequence[os.DirEntry[bytes] | bytes]) -> None:
        """Note which of the files just taken are symbolic links, and take the real names that they lead to."""
        table, root = listing.table, listing.table.folder_root[number]
        for i, file in enumerate(files, first):
            if isinstance(file, bytes) or not file.is_symlink():
                continue
            table.symlinks.add(i)
            folder, name = os.path.split(os.path.realpath(file.path))
            target = table.enter(folder, located(folder), root)
            told = (table.size[i], *table.times(i), table.inode_of(i))
            table.add(target, name, told, table.volume[i])

    def _one_by_one(
        self, listing: Listing, names: Sequence[bytes], files: Sequence[os.DirEntry[bytes] | bytes]
    ) -> tuple[list[bytes], list[os.DirEntry[bytes] | bytes], Sequence[Sequence[int]]]:
        """Return the files for which the system answers, with their stats, and note the others' problems."""
        there: list[bytes] = []
        answering: list[os.DirEntry[bytes] | bytes] = []
        columns: list[list[int]] = [[] for _ in (*file_stat.FileStat._fields, "device")]
        for name, file in zip(names, files, strict=True):
            try:
                values = file_stat.columns([file], follow=self.follow)
            except OSError as error:
                listing.problems.append(problems.of_listing(os.fspath(file), error))
                continue
            there.append(name)
            answering.append(file)
            for column, (value,) in zip(columns, values, strict=True):
                column.append(value)
        return there, answering, columns

    def _is_own(self, volume: Volume, inode: int, path: bytes) -> bool:
        return any(own.is_at(path, volume, inode) for own in self.own)

    def file(self, listing: Listing, number: int, name: bytes) -> None:
        """Append one file that was named itself, or count why it is left out."""
        table = listing.table
        path = table.folders[number] + name
        if reason := self.filters.of_file(table.folders[number], name):
            listing.skipped[reason] += 1
            return
        if placeholders.EXIST and not self.cloud_files and placeholders.would_download(os.lstat(path)):
            listing.skipped[SkipReason.CLOUD] += 1
            return
        self._take(listing, number, [name], [path])

    def _first_visit(self, path: bytes, volume: Volume) -> bool:
        """Return whether a folder was not seen before: by its number where no other folder can have that."""
        seen = file_stat.identity(path, follow=True) if volume.stable_inodes else os.path.realpath(path)
        known = seen in self.visited
        self.visited.add(seen)
        return not known

    def _other(self, listing: Listing, child: os.DirEntry[bytes], within: PendingFolder) -> bool:
        """Sort in what is no file: a folder, a link or something special; return whether it will be listed."""
        if not child.is_dir(follow_symlinks=self.follow):
            listing.skipped[SkipReason.SYMLINK if child.is_symlink() else SkipReason.SPECIAL] += 1
            return False
        if reason := self.filters.of_folder(child.path):
            listing.skipped[reason] += 1
            return False
        mount = within.mount
        if begins_a_mount(child, mount, follow=self.follow, ask=self.one_file_system):
            mount = located(child.path)
            if self.filters.pseudo and file_systems.is_pseudo(os.fsencode(mount.volume.file_system)):
                listing.skipped[SkipReason.PSEUDO_FILE_SYSTEM] += 1  # reached by a link, so that its path told nothing
                return False
        if self.one_file_system and not mount.volume.is_same(within.top):
            listing.skipped[SkipReason.OTHER_FILE_SYSTEM] += 1
            return False
        if child.path not in self.boundaries:
            listing.pending.append(PendingFolder(child.path, mount, within.root, within.top))
        return True

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


def _without_temporary(listing: Listing, files: Sequence[os.DirEntry[bytes]]) -> list[os.DirEntry[bytes]]:
    """Return the files but for those that an act of dedupe's own was cut off with, which are told as problems."""
    left = [file for file in files if is_temporary(file.name)]
    listing.problems += [problems.of_kind(file.path, ProblemKind.SET_ASIDE) for file in left]
    return [file for file in files if not is_temporary(file.name)]
