"""The physical files that a plan speaks of, each with its names.  Opens nothing, decides nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
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


def merged(copies: Iterable[Copy], are_one: Callable[[Copy, Copy], bool]) -> list[Copy]:
    """Return copies each once: names of one file that were found apart come together.

    Args:
        copies: as they were found.
        are_one: whether two of one number are one file.
    """
    found: list[Copy] = []
    places: dict[tuple[int, int], list[int]] = {}
    for copy in copies:
        known = places.setdefault(copy.identity, [])
        place = next((n for n in known if are_one(found[n], copy)), None)
        if place is None:
            known.append(len(found))
            found.append(copy)
        else:
            first = found[place]
            names = dict.fromkeys(first.names + copy.names)
            symlinks = dict.fromkeys(first.symlinks + copy.symlinks)
            found[place] = first._replace(names=tuple(names), symlinks=tuple(symlinks))
    return found
