"""Comparing a disk with its catalog: every file is read, and each difference has a name.  Changes neither.

No remembered digest counts here: what a disk has lost shows only if it is read.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from dedupe.catalog import database
from dedupe.catalog.head import Head
from dedupe.catalog.rows import CatalogFolders, KnownRow, known_rows, whole_folders
from dedupe.compare import fingerprint
from dedupe.compare.tuning import MEASURED
from dedupe.config import ScanConfig
from dedupe.errors import NothingUsableError
from dedupe.files.columns import Column
from dedupe.progress import Progress, Silent
from dedupe.query.catalog_place import refuse_other, root_of
from dedupe.report.units import counted
from dedupe.result import Problem, ProblemKind
from dedupe.scan.fingerprints import read_fingerprints
from dedupe.scan.hash_whole import hash_whole
from dedupe.scan.list_files import list_files
from dedupe.scan.recall import Known
from dedupe.scan.session import Session, scan_session
from dedupe.storage import display
from dedupe.storage.paths import outside


class Difference(StrEnum):
    """How a file differs from what the catalog says."""

    ROT = "rot"  # same size and time, other content: its disk may fail
    CHANGED = "changed"  # other content, and its size or time tells so
    MISSING = "missing"  # in the catalog only
    EXTRA = "extra"  # on the disk only
    MOVED = "moved"  # on the disk under another name than in the catalog


@dataclass(frozen=True, slots=True)
class Found:
    """One difference."""

    difference: Difference
    path: bytes  # below the root, as the catalog writes it
    now: bytes = b""  # of what was moved: where it is


@dataclass(slots=True)
class Checked:
    """What comparing a disk with its catalog has told."""

    same: int = 0  # files that are as the catalog says
    quick: bool = False  # told by fingerprints only
    differences: list[Found] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def check(path: str, config: ScanConfig, *, progress: Progress | None = None) -> Checked:
    """Compare a folder with its catalog.

    Raises:
        UsageError: the file is no catalog, or one of another folder or disk.
        NothingUsableError: either cannot be read, or the catalog was never finished.
    """
    root = root_of(config)
    with database.closing(database.opened(path), path) as connection:
        head = database.head_of(connection, path)
        database.refuse_unsound(connection, path)
        refuse_other(connection, head, root, path)
        if not head.complete:
            name = display.text(os.fsencode(path))
            raise NothingUsableError(f"The catalog {name} was never finished: `dedupe catalog update` goes on with it.")
        own = (*config.own_files, *database.files_of(path))
        config = replace(config, cache=None, own_files=own)
        with scan_session(config, progress or Silent(), None, MEASURED) as session:
            listing = list_files(session, config)
            session.pool.share(listing.table)  # it changes no more
            folders = CatalogFolders(connection, listing.table, session.roots[0])
            rows = {
                place + name: row
                for at, place in whole_folders(connection)
                for name, row in known_rows(connection, at).items()
            }
            checked = Checked(quick=head.quick, problems=list(listing.problems))
            here = connection.execute("SELECT count(*) FROM files").fetchone()[0]
            if damaged := max(here, head.files) - len(rows):
                told = f"{counted(damaged, 'row')} of the catalog had been damaged: `dedupe catalog update` reads anew"
                checked.problems.append(Problem(os.fsencode(os.path.abspath(path)), ProblemKind.IO, told))
            unlisted = tuple(folders.below_root(each) for each in listing.unlisted)
            _compare(session, folders, head, rows, unlisted, checked)
    checked.problems = sorted((p._replace(path=outside(p.path)) for p in checked.problems), key=lambda p: p.path)
    return checked


def _compare(
    session: Session,
    folders: CatalogFolders,
    head: Head,
    rows: dict[bytes, KnownRow],
    unlisted: Sequence[bytes],
    checked: Checked,
) -> None:
    """Tell each difference; of what could not be read nothing is told but the problem."""
    table = folders.table
    names = [folders.path(table.folder[i]) + folders.name(i) for i in range(len(table))]
    by_print = {i for i, name in enumerate(names) if head.quick or (name in rows and not rows[name].digest)}
    digests, prints, problems = _read(session, folders, by_print, both=head.undigested > 0)
    checked.problems += problems
    extra: dict[tuple[int, bytes], list[int]] = {}  # by size and either value
    left: set[int] = set()
    for i, name in enumerate(names):
        size, row = table.size[i], rows.pop(name, None)
        if not (i in prints if i in by_print else i in digests):
            continue
        if row is None:
            left.add(i)
            for value in (digests.get(i), prints.get(i)):
                extra.setdefault((size, value or b""), []).append(i)
        elif (row.size, row.digest or row.fingerprint) == (size, digests.get(i) or prints.get(i)):
            checked.same += 1
        else:
            is_rot = (row.size, row.modified_ns) == (size, table.times(i)[0])
            checked.differences.append(Found(Difference.ROT if is_rot else Difference.CHANGED, name))
    for name, row in rows.items():
        if any(not place or name == place or name.startswith(place + b"/") for place in unlisted):
            continue
        same = extra.get((row.size, row.digest or row.fingerprint), [])
        while same and same[-1] not in left:
            same.pop()
        if row.size and same:
            left.discard(same[-1])
            checked.differences.append(Found(Difference.MOVED, name, names[same.pop()]))
        else:
            checked.differences.append(Found(Difference.MISSING, name))
    checked.differences += [Found(Difference.EXTRA, names[i]) for i in left]
    order = list(Difference)
    checked.differences.sort(key=lambda each: (order.index(each.difference), each.path))


def _read(
    session: Session, folders: CatalogFolders, by_print: Collection[int], *, both: bool
) -> tuple[Column, Column, list[Problem]]:
    """Return the digests and fingerprints of files, and why some are not known.

    Args:
        session: the means.
        folders: of the files.
        by_print: those that are known by fingerprints only, and are not read whole.
        both: fingerprints of all others are wanted too.
    """
    table = folders.table
    known = Known(Column(fingerprint.WIDTH), Column(session.method.width), recalled=bytearray(len(table)))
    digests, problems = Column(session.method.width), []
    if by_print:
        with session.phase("fingerprint", len(by_print)):
            problems += read_fingerprints(session, table, array("I", sorted(by_print)), known).problems
    whole = array("I", (i for i in range(len(table)) if i not in by_print))
    if whole:
        method, _ = session.chosen_method()
        for each in hash_whole(session, table, whole, method, known, fingerprints=both):
            if each.digest is not None:
                digests.put(each.member, each.digest)
            elif each.problem and each.problem.kind is not ProblemKind.ROT:
                problems.append(each.problem)
    return digests, known.fingerprints, problems
