"""The recipe: which contents of a card an archive does not hold, one call a phase.  Reads nothing itself.

The phases are those of a scan: sizes, fingerprints, then proof, but only for what both sides share.
"""

from __future__ import annotations

import os
import time
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dedupe.compare.tuning import MEASURED, Tuning
from dedupe.config import AnyPath
from dedupe.errors import NothingUsableError
from dedupe.progress import Progress, Silent
from dedupe.query.answer import MissingResult, MissingTotals
from dedupe.query.ghosts import ghosts
from dedupe.query.held import HELD_BY_MEMORY, HELD_OFFLINE, PROBABLE, Held, hold, hold_probably
from dedupe.query.missing_files import FoundMissing
from dedupe.query.settings import MissingConfig
from dedupe.query.sides import Sides, joined, roots_without_files, tell_sides, unread_problems
from dedupe.query.trash import trash_notes
from dedupe.result import ProblemKind
from dedupe.scan.confirm import Confirmed, confirm
from dedupe.scan.fingerprints import Fingerprinted, group_by_fingerprint
from dedupe.scan.list_files import list_files
from dedupe.scan.offline import add_catalogs, provable, tell_known, tell_offline
from dedupe.scan.recall import Known, recall
from dedupe.scan.rot import tell_rot
from dedupe.scan.scope import file_system_numbers
from dedupe.scan.session import Session, scan_session
from dedupe.storage.paths import absolute, outside
from dedupe.version import __version__
from dedupe.walk.listing import Listing

if TYPE_CHECKING:
    from concurrent.futures import Executor


_STATES = ("held", "probable", "missing", "unknown")


def find_missing(
    config: MissingConfig,
    *,
    progress: Progress | None = None,
    executor: Executor | None = None,
    tuning: Tuning = MEASURED,
) -> MissingResult:
    """Find the files whose content an archive does not hold, whatever their names.

    What counts as held has been proven equal over every byte, by a full digest where a remembered one that is still
    valid stands for a file, or is a further hard link of the very file.

    Args:
        config: what to look for, and where.
        progress: is told how far the work is.
        executor: does the reading in place of processes on this machine; its workers must see the same files.
        tuning: amounts that change no result, for tests and experiments.

    Raises:
        NothingUsableError: a side has no root that can be read, or the card no file, as where it is not mounted.
        BackendError: the digest backend asked for is not available here.
    """
    card_roots, archive_roots = _absolute(config.card), _absolute(config.archive)
    whole = replace(config.archive_scan(), roots=[*card_roots, *archive_roots])
    with scan_session(whole, progress or Silent(), executor, tuning) as session:
        card = list_files(session, config.card_scan(), card_roots)
        card.notes += trash_notes(card.table)
        numbered = dict(enumerate(card_roots))
        offline = add_catalogs(session, config.card_scan(), card.table, numbered, catalogs=card.catalogs)
        card.problems += unread_problems(offline)
        card.skipped.update(offline.skipped)
        if not len(card.table) and not card.problems and not offline.problems:
            raise NothingUsableError(
                f"No file to look for: check that {_shown(card_roots)} is what you mean, and there."
            )
        lost = {problem.path for problem in card.problems}
        card.problems += [p for p in roots_without_files(card.table, card_roots) if p.path not in lost]
        archive = list_files(session, config.archive_scan(), archive_roots)
        sides = joined(card, archive, len(card_roots), len(archive_roots))
        table, sizes = sides.table, set(sides.table.size[: sides.card_names])
        numbered, named = dict(enumerate(archive_roots, len(card_roots))), archive.catalogs
        add_catalogs(session, config.archive_scan(), table, numbered, catalogs=named, sizes=sizes, offline=offline)
        sides.ghosts = ghosts(sides, offline)
        tell_sides(sides, session.opener)
        session.pool.share(table)  # it changes no more
        known = recall(session, table, sides.sets)
        tell_known(offline, known)
        likely = group_by_fingerprint(session, table, sides.sets, known)
        shared = [s for s in likely.sets if sides.are_on_both(s)]
        likely.sets = [s for s in provable(offline, shared) if sides.are_on_both(s)]
        confirmed = confirm(session, table, likely.sets, known)
        confirmed = tell_rot(session, table, likely.sets, known, confirmed)
        tell_offline(offline, confirmed)
        held = hold(session, sides, confirmed)
        hold_probably(held, sides, offline, shared)
        card.problems += offline.problems
        card.notes += [*offline.notes, *_ghost_notes(sides)]
        return _result(session, config, (card, archive), sides, (known, likely, confirmed, held))


def _absolute(roots: Sequence[AnyPath]) -> list[bytes]:
    return list(dict.fromkeys(absolute(os.fsencode(root)) for root in roots))


def _shown(roots: Sequence[bytes]) -> str:
    return " and ".join(os.fsdecode(outside(root)) for root in roots)


def _result(
    session: Session,
    config: MissingConfig,
    listings: tuple[Listing, Listing],
    sides: Sides,
    read: tuple[Known, Fingerprinted, Confirmed, Held],
) -> MissingResult:
    """Return the outcome, made of what the phases returned."""
    card, archive = listings
    known, likely, confirmed, held = read
    told = (*card.problems, *archive.problems, *likely.problems, *confirmed.problems, *held.problems)
    unknown = {p.path for p in told if p.kind is not ProblemKind.ROT}
    problems = sorted({p._replace(path=outside(p.path)) for p in told}, key=lambda p: (p.path, p.kind))
    table, size = sides.table, sides.table.size
    missing, totals = array("I"), Counter[str]()
    for i in sides.card_files():
        if held.states[i] == PROBABLE and i not in sides.linked:
            state = "probable"
        elif i in sides.linked or held.states[i]:
            state = "held"
        else:
            state = "unknown" if unknown and table.path(i) in unknown else "missing"
            if state == "missing":
                missing.append(i)
        totals[state] += 1
        totals[f"{state} bytes"] += size[i]
    session.cache.close()
    return MissingResult(
        version=__version__,
        started=session.started,
        seconds=round(time.perf_counter() - session.begun, 3),
        card=[outside(r) for r in _absolute(config.card)],
        archive=[outside(r) for r in _absolute(config.archive)],
        confirm=config.confirm,
        backend=confirmed.backend,
        totals=MissingTotals(
            files=sum(totals[state] for state in _STATES),
            bytes=sum(totals[f"{state} bytes"] for state in _STATES),
            catalogued_files=sides.catalogued_files,
            empty_files=sides.empty_files,
            held_files=totals["held"],
            held_bytes=totals["held bytes"],
            linked_files=len(sides.linked),
            remembered_files=held.states.count(HELD_BY_MEMORY),
            offline_files=held.states.count(HELD_OFFLINE),
            probable_files=totals["probable"],
            missing_files=totals["missing"],
            missing_bytes=totals["missing bytes"],
            unknown_files=totals["unknown"],
            archive_files=len(table) - sides.card_names,
            archive_bytes=sum(size[sides.card_names :]),
            bytes_read=likely.bytes_read + confirmed.bytes_read,
            cache_hits=known.hits,
            problems=len(problems),
        ),
        missing=FoundMissing(sides, missing),
        problems=problems,
        card_skipped=dict(sorted(card.skipped.items())),
        archive_skipped=dict(sorted(archive.skipped.items())),
        notes=(*session.cache.notes, *card.notes, *_volume_notes(sides, len(sides.linked) + totals["held"])),
        phases=session.phases,
    )


def _ghost_notes(sides: Sides) -> Sequence[str]:
    """Return a sentence where a catalog is of what is looked at itself."""
    what = "are on the card themselves, or not where it has them, and hold nothing."
    return (f"{len(sides.ghosts):,} files that a catalog tells of {what}",) if sides.ghosts else ()


def _volume_notes(sides: Sides, held: int) -> Sequence[str]:
    """Return a warning where what is held lies on a volume that what is looked for lies on too."""
    table, names, disk = sides.table, sides.card_names, file_system_numbers(sides.table)
    card, archive = ({disk[volume] for volume in set(part)} for part in (table.volume[:names], table.volume[names:]))
    if not held or card.isdisjoint(archive):
        return ()
    return ("Both sides lie on one volume: what is held survives if files are deleted, but not if it is formatted.",)
