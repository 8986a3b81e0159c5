"""The physical files that a plan speaks of, each with its names.  Opens nothing, decides nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from dedupe.actions.aliases import Seen
from dedupe.actions.looks import Look


class Name(NamedTuple):
    """One name of a file: as the marks say it, and where its folder really lies."""

    path: bytes
    folder: bytes  # without symbolic links
    name: bytes
    root: bytes = b""  # as the report has it

    @property
    def real(self) -> bytes:
        """Return the path through the real folder."""
        return os.path.join(self.folder, self.name)


class Copy(NamedTuple):
    """One physical file of a group."""

    names: tuple[Name, ...]  # all real names that are known
    seen: Look
    symlinks: tuple[bytes, ...]

    @property
    def path(self) -> bytes:
        """Return the first name, as the marks say it."""
        return self.names[0].path

    @property
    def identity(self) -> tuple[int, int]:
        """Return what tells one file from another while both are there."""
        return self.seen.identity

    @property
    def as_seen(self) -> Seen:
        """Return it with its folder."""
        return Seen(self.seen, self.names[0].folder)


def merged(copies: Iterable[Copy]) -> list[Copy]:
    """Return copies each once: names of one file that were found apart come together."""
    found: dict[tuple[int, int], Copy] = {}
    for copy in copies:
        first = found.get(copy.identity)
        if first is None:
            found[copy.identity] = copy
        else:
            names = dict.fromkeys(first.names + copy.names)
            symlinks = dict.fromkeys(first.symlinks + copy.symlinks)
            found[copy.identity] = first._replace(names=tuple(names), symlinks=tuple(symlinks))
    return list(found.values())
