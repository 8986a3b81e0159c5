"""Which names of a group are redundant if one copy is kept.  Reads no file.

Without rules the file that is kept is the first in the order of the report below the first root that has any.  Where
only copies across roots are asked for, all that lies below its root stays with it.  What lies in a trash or snapshot is
neither redundant nor kept in place of another file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dedupe.result import File, Group, Proof, ScanResult
from dedupe.storage.lasting import lasts, misplaced

if TYPE_CHECKING:
    from dedupe.report.base import Staying, Style


@dataclass(frozen=True, slots=True)
class Redundant:
    """What of one group is kept, and what is not: its real names, links of one file after each other."""

    keepers: Sequence[File]
    files: Sequence[tuple[bytes, ...]]


class Keepers:
    """Tells what is redundant, group by group.

    Args:
        roots: of the result, in their order.
        across: whether all copies below the keepers' roots stay.
        staying: returns which files of a group stay, None where all do; without it one of the first root does.
    """

    def __init__(self, roots: Sequence[bytes], *, across: bool, staying: Staying | None = None) -> None:
        self._roots = [root.rstrip(b"/\\") for root in roots]
        self._across = across
        self._staying = staying or _of_the_first_root
        self.files = self.bytes = 0  # redundant so far
        self.whole = 0  # groups so far that stay, as what would be kept lies in a trash or snapshot

    def redundant(self, group: Group) -> Redundant | None:
        """Return what is redundant of a group; of files with a further name below a root that stays, nothing is.

        None where all stay, or are away: what is offline is neither kept nor redundant.
        """
        here = [file for file in group.files if file.proof is not Proof.OFFLINE]
        keepers = self._staying(replace(group, files=here)) if here else None
        if not keepers:
            return None
        kept = {file.path for file in keepers}
        others = [file for file in here if file.path not in kept and not any(map(misplaced, file.real_names))]
        if self._across:
            stay = {self._root_of(file.path) for file in keepers}
            # with a file go its mounted names, and links that would lead nowhere, too
            others = [file for file in others if not stay & {self._root_of(name) for name in file.names}]
        if others and not any(lasts(file.real_names) for file in keepers):
            self.whole += 1
            return None
        self.files += len(others)
        self.bytes += len(others) * group.size
        return Redundant(keepers, [file.real_names for file in others])

    def _root_of(self, path: bytes) -> int:
        """Return the root that a name lies below, the innermost where roots lie in roots; -1 where none is."""
        above = [(len(root), n) for n, root in enumerate(self._roots) if _lies_below(path, root)]
        return max(above)[1] if above else -1


def keepers_of(result: ScanResult, style: Style) -> Keepers:
    """Return what tells what of a result is redundant in a style."""
    return Keepers(result.roots, across=style.across, staying=style.staying)


def _of_the_first_root(group: Group) -> Sequence[File]:
    lasting = [file for file in group.files if lasts(file.real_names)]
    return [min(lasting or group.files, key=lambda file: sys.maxsize if file.root is None else file.root)]


def _lies_below(path: bytes, root: bytes) -> bool:
    return path == root or path.startswith((root + b"/", root + os.sep.encode()))
