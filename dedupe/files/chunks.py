"""Groups in runs of a thousand files, as plain tuples: what a report writes by the million.  Reads nothing.

A scan has its groups in columns, and an object for each group and file took longer than to write them down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from dedupe.result import Group

LEAST = 1024  # files of a run: 100 KB of paths

FileRow: TypeAlias = tuple[bytes, int, int, int, tuple[bytes, ...]]  # what a File consists of
GroupHeader: TypeAlias = tuple[int, int, str, bytes | None, int]  # id, size, algorithm, digest, count of files


class GroupChunk(NamedTuple):
    """Groups that follow each other, and the files of all of them, group after group."""

    headers: Sequence[GroupHeader]
    rows: Sequence[FileRow]


@runtime_checkable
class InChunks(Protocol):
    """Groups that come in runs without an object for each."""

    def chunks(self) -> Iterator[GroupChunk]:
        """Yield all groups."""

    def folders(self) -> set[bytes]:
        """Return the folders of all names, each with a separator at its end."""


def chunks(groups: Sequence[Group]) -> Iterator[GroupChunk]:
    """Yield any groups in runs."""
    if isinstance(groups, InChunks):
        yield from groups.chunks()
        return
    headers: list[GroupHeader] = []
    rows: list[FileRow] = []
    for group in groups:
        headers.append((group.id, group.size, group.algorithm, group.digest, len(group.files)))
        rows += group.files
        if len(rows) >= LEAST:
            yield GroupChunk(headers, rows)
            headers, rows = [], []
    if headers:
        yield GroupChunk(headers, rows)


def folders(groups: Sequence[Group]) -> set[bytes]:
    """Return the folders of all names, up to the last slash, or backslash where there is none, as on Windows."""
    if isinstance(groups, InChunks):
        return groups.folders()
    paths = (path for group in groups for file in group.files for path in (file.path, *file.links))
    return {path[: path.rfind(b"/") + 1 or path.rfind(b"\\") + 1] for path in paths}
