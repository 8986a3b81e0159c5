"""Whether files that stand in a group by memory alone are still what they were.  Reads none of their content.

Whatever is read is looked at before and after.  What a remembered digest stands for was last looked at by the walk: it
may have changed since, as it may in a scan without a cache, which tells it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dedupe.compare.tuning import Tuning
from dedupe.files.selection import SelectedPaths, SelectedStats
from dedupe.files.table import FileTable
from dedupe.result import Problem, ProblemKind
from dedupe.scan.list_files import as_listed
from dedupe.scan.session import Session
from dedupe.storage import file_stat, problems
from dedupe.storage.opener import Opener


class _Batch(NamedTuple):
    """Files to look at, in the columns that travel between processes."""

    members: Sequence[int]
    paths: Iterable[bytes]
    stats: Iterable[tuple[int, ...]]  # as the walk saw them


@dataclass(slots=True)
class Seen:
    """Those of a batch that are not what they were."""

    changed: list[int] = field(default_factory=list)  # by their place in the batch
    problems: list[Problem] = field(default_factory=list)  # of each of them


class _Looker(NamedTuple):
    """Looks at batches of files; a picklable task for `Pool`."""

    opener: Opener

    def __call__(self, batch: _Batch) -> Seen:
        """Return which files of a batch have changed."""
        found, stat = Seen(), self.opener.stat
        for place, (path, expected) in enumerate(zip(batch.paths, batch.stats, strict=True)):
            try:
                seen = stat(path)
                if seen == expected or file_stat.is_unchanged(expected, seen):
                    continue
                problem = problems.of_kind(path, ProblemKind.CHANGED)
            except OSError as error:
                problem = problems.of_error(path, error)
            found.changed.append(place)
            found.problems.append(problem)
        return found

    def lost(self, batch: _Batch) -> Seen:
        """Return a problem for each file of a batch whose workers died."""
        paths = list(batch.paths)
        message = "could not be looked at: its reader died"
        return Seen(list(range(len(paths))), [Problem(path, ProblemKind.IO, message) for path in paths])


def look_again(session: Session, table: FileTable, members: Iterable[int]) -> Iterator[tuple[Sequence[int], Seen]]:
    """Yield some files in batches, each with those of them that have changed since the walk.

    The workers are handed many batches with the first one that is asked for, so that they go on while the caller does
    something else.
    """
    listed = as_listed(table, members)
    session.pool.prepare(files=len(listed))
    batches = _batches(table, listed, session.tuning)
    for batch, seen in session.pool.run(_Looker(session.opener), batches, max_in_flight=session.tuning.stat_batches):
        yield batch.members, seen


def _batches(table: FileTable, members: Sequence[int], tuning: Tuning) -> Iterator[_Batch]:
    for first in range(0, len(members), tuning.stat_files):
        part = members[first : first + tuning.stat_files]
        yield _Batch(part, SelectedPaths(table, part), SelectedStats(table, part))
