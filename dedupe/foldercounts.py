"""What lies below each folder that a walk listed, added up when it is asked for.  Reads no disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from dedupe.entries import Entries
from dedupe.paths import outside
from dedupe.result import FolderCount

_SEPARATOR = os.fsencode(os.sep)


class FolderCounts(Mapping[bytes, FolderCount]):
    """Counts by folder, each with all that lies below it.

    Args:
        entries: what the walk found.
        unread: paths that could not be read, or changed; their folders' contents are not wholly known.
    """

    def __init__(self, entries: Entries, unread: Iterable[bytes]) -> None:
        self._entries = entries
        self._unread = unread
        self._sums: dict[bytes, list[int]] = {}

    def __len__(self) -> int:
        return len(self._added_up())

    def __bool__(self) -> bool:
        return bool(self._entries.folders)

    def __iter__(self) -> Iterator[bytes]:
        return map(outside, self._added_up())

    def __getitem__(self, folder: bytes) -> FolderCount:
        return FolderCount(*self._added_up()[folder])

    def __contains__(self, folder: object) -> bool:
        return folder in self._added_up()

    def _added_up(self) -> dict[bytes, list[int]]:
        """Return files, bytes and what was left out, by folder as users write it."""
        if self._sums or not self._entries.folders:
            return self._sums
        entries, sums = self._entries, self._sums
        for folder, files, size, left_out in zip(
            entries.folders, entries.files_in, entries.bytes_in, entries.left_out, strict=True
        ):
            own = sums.setdefault(outside(_plain(folder)), [0, 0, 0])
            own[0] += files
            own[1] += size
            own[2] += left_out
        for path in self._unread:
            above = os.path.dirname(path)
            while above not in sums and above != os.path.dirname(above):
                above = os.path.dirname(above)
            if above in sums:
                sums[above][2] += 1
        for folder in sorted(sums, key=len, reverse=True):  # what lies below has a longer name
            above = os.path.dirname(folder)
            while above not in sums and above != os.path.dirname(above):
                above = os.path.dirname(above)
            if above in sums and above != folder:
                for i, count in enumerate(sums[folder]):
                    sums[above][i] += count
        return sums


def _plain(folder: bytes) -> bytes:
    """Return a folder without the separator at its end, unless that is all of it."""
    stripped = folder.rstrip(_SEPARATOR)
    return folder if not stripped or stripped.endswith(b":") else stripped
