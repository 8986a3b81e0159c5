"""Which equal files a scan is after: all, those that span roots or volumes, or those within one root.  Reads nothing.

Sets that cannot become what is asked for are dropped as early as their sizes tell, so that they are never read.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, compress, pairwise
from operator import and_

from dedupe.config import ScanConfig, Scope
from dedupe.files.classes import Classes
from dedupe.files.columns import gather
from dedupe.files.grouping import group_by_key
from dedupe.files.groups import FurtherNames
from dedupe.files.table import FileTable
from dedupe.result import NameKind
from dedupe.scan.list_files import Sets
from dedupe.scan.same_files import showing_mounts
from dedupe.scan.unite import without_views
from dedupe.storage.opener import Opener


def file_system_numbers(table: FileTable) -> list[int]:
    """Return of each volume the first that goes with it when one is formatted, as subvolumes of one disk do."""
    seen = table.volumes
    return [next(n for n, first in enumerate(seen) if first is each or first.shares_file_system(each)) for each in seen]


@dataclass(slots=True)
class ScopeFilter:
    """Decides by roots and volumes which sets of files take part."""

    table: FileTable
    scope: Scope = Scope.ALL
    across_volumes: bool = False
    further: FurtherNames = field(default_factory=dict)  # names of files, once they are known
    numbers: Sequence[int] = ()  # of the file systems that the volumes are on, once they are asked for

    @classmethod
    def of(cls, config: ScanConfig, table: FileTable) -> ScopeFilter:
        """Return what a configuration asks for."""
        return cls(table, config.scope, config.across_volumes)

    @property
    def restricts(self) -> bool:
        """Return whether anything is to be left out."""
        return self.scope is Scope.ACROSS or self.across_volumes

    def divide(self, sets: Sets, opener: Opener) -> Sets:
        """Return sets of names divided by roots, where each root is looked at by itself."""
        if self.scope is not Scope.WITHIN:
            return sets
        root_of, showing = self.table.root_of, showing_mounts(self.table)
        own = (without_views(self.table, names, opener, showing) for names in sets)
        return [part for names in own for part in group_by_key(names, lambda some: [root_of(i) for i in some])]

    def take(self, sets: Sets) -> Sets:
        """Return the sets of physical files that may hold what is asked for."""
        if not self.restricts:
            return sets
        return list(compress(sets, self._fit(array("I", chain.from_iterable(sets)), map(len, sets))))

    def take_classes(self, classes: Classes) -> None:
        """Take out the classes of equal files that are not what is asked for."""
        if self.restricts:
            fit = self._fit(classes.members(0, len(classes)), classes.counts(0, len(classes)))
            if not all(fit):
                classes.reorder(compress(range(len(fit)), fit))

    def fits(self, members: Sequence[int]) -> bool:
        """Return whether physical files of equal content are what is asked for."""
        return self._fit(members, (len(members),))[0]

    def _fit(self, members: Sequence[int], counts: Iterable[int]) -> list[bool]:
        """Return the same of many sets, given as the members of one after the other and how many each has."""
        bounds = list(pairwise(accumulate(counts, initial=0)))
        fit = [True] * len(bounds)
        if self.across_volumes:
            numbers = self.numbers = self.numbers or file_system_numbers(self.table)
            volumes = list(map(numbers.__getitem__, gather(members)(self.table.volume)))
            fit = [len(set(volumes[i:j])) > 1 for i, j in bounds]
        if self.scope is Scope.ACROSS:
            roots = self.table.roots_of(members)
            spanning = (len(set(roots[i:j])) > 1 or self._spans(members[i:j]) for i, j in bounds)
            fit = list(map(and_, fit, spanning))
        return fit

    def _spans(self, members: Sequence[int]) -> bool:
        """Return whether physical files have names under two roots or more."""
        return bool(self.further) and len(set().union(*map(self._roots_of_links, members))) > 1

    def _roots_of_links(self, i: int) -> set[int]:
        """Return the roots that have a physical file, by its hard links too: each of them keeps it."""
        links = (other for other, kind in self.further.get(i, ()) if kind is NameKind.HARD_LINK)
        return {self.table.root_of(i), *map(self.table.root_of, links)}
