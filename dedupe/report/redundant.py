"""Which names of a group are redundant if one copy is kept, by the order of the roots.  Reads no file.

The file that is kept is the first in the order of the report below the first root that has any.  Where only copies
across roots are asked for, all that lies below its root stays with it: that is the root which is to be kept.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from dedupe.result import File, Group, Proof


@dataclass(frozen=True, slots=True)
class Redundant:
    """What of one group is kept, and what is not: its real names, links of one file after each other."""

    keeper: File
    files: Sequence[tuple[bytes, ...]]


class Keepers:
    """Tells what is redundant, group by group.

    Args:
        roots: of the result, in their order.
        across: whether all copies below the keeper's root stay.
    """

    def __init__(self, roots: Sequence[bytes], *, across: bool) -> None:
        self._roots = [root.rstrip(b"/\\") for root in roots]
        self._across = across

    def redundant(self, group: Group) -> Redundant | None:
        """Return what is redundant of a group; of files with a further name below a root that stays, nothing is.

        None for files that are all away: what is offline is neither kept nor redundant.
        """
        here = [file for file in group.files if file.proof is not Proof.OFFLINE]
        if not here:
            return None
        keeper = min(here, key=lambda file: len(self._roots) if file.root is None else file.root)
        others = [file for file in here if file is not keeper and file.path != keeper.path]
        if self._across:
            stays = self._root_of(keeper.path)
            others = [file for file in others if all(self._root_of(name) != stays for name in _all_names(file))]
        return Redundant(keeper, [(file.path, *file.links) for file in others])

    def _root_of(self, path: bytes) -> int:
        """Return the root that a name lies below, the innermost where roots lie in roots; -1 where none is."""
        above = [(len(root), n) for n, root in enumerate(self._roots) if _lies_below(path, root)]
        return max(above)[1] if above else -1


def _all_names(file: File) -> tuple[bytes, ...]:
    """Return all names that are gone with a file: mounted ones, and links that would lead nowhere, too."""
    return (file.path, *file.links, *file.symlinks, *file.mounted)


def _lies_below(path: bytes, root: bytes) -> bool:
    return path == root or path.startswith((root + b"/", root + os.sep.encode()))
