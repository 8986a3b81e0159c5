"""Files of catalogs in the table of a scan: which they are, and what is known of them.  Reads no catalog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from dedupe.files.columns import Column
from dedupe.result import Problem, SkipReason

_AT_ONCE = 1 << 14  # files whose values are handed over together


@dataclass(slots=True)
class Offline:
    """The files of catalogs in a table, and what is known of them."""

    parts: list[range] = field(default_factory=list)  # files in the table, catalog after catalog
    fingerprints: bytearray = field(default_factory=bytearray)
    digests: bytearray = field(default_factory=bytearray)  # zeros where there is none
    alone_files: int = 0  # beside these: names that share their content with nothing, and are in no table
    alone_bytes: int = 0  # their sizes
    undigested: set[int] = field(default_factory=set)  # files without a digest
    volume_ids: dict[int, str] = field(default_factory=dict)  # by volume in the table: the id that it has where it is
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)  # what of catalogs is damaged
    unread: dict[bytes, int] = field(default_factory=dict)  # by catalog: entries not read when it was finished
    skipped: Counter[SkipReason] = field(default_factory=Counter)  # what was left out of catalogs

    def __bool__(self) -> bool:
        return any(self.parts)

    def has(self, i: int) -> bool:
        """Return whether a file is of a catalog."""
        return any(i in part for part in self.parts)

    def tell(self, fingerprints: Column, digests: Column) -> None:
        """Hand over what is known of the files, and keep none of it."""
        self._hand_over(self.fingerprints, fingerprints)
        self._hand_over(self.digests, digests, self.undigested)

    def _hand_over(self, values: bytearray, column: Column, without: Collection[int] = ()) -> None:
        width, at = column.width, 0
        for part in self.parts:
            for first in range(part.start, part.stop, _AT_ONCE):
                members = range(first, min(first + _AT_ONCE, part.stop))
                if not without:
                    column.put_joined(members, bytes(values[at * width : (at + len(members)) * width]))
                    at += len(members)
                    continue
                known = [
                    None if i in without else bytes(values[(k := at + i - first) * width : (k + 1) * width])
                    for i in members
                ]
                column.put_all(members, known)
                at += len(members)
        values.clear()
