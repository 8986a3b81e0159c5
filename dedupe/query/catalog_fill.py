"""Filling a catalog with what a disk holds, or once more: reads only what neither it nor the cache knows.

A run that is killed is gone on with by the next one.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from dedupe.catalog import database
from dedupe.catalog.head import CatalogVolume, Head
from dedupe.catalog.mend import mend
from dedupe.catalog.recognise import is_catalog
from dedupe.compare import fingerprint
from dedupe.compare.tuning import MEASURED, Tuning
from dedupe.config import ScanConfig
from dedupe.errors import DedupeError, NothingUsableError, UsageError
from dedupe.progress import Progress, Silent
from dedupe.query.catalog_filling import Filled, Filling
from dedupe.query.catalog_others import OtherCatalogs
from dedupe.query.catalog_place import refuse_other, root_of
from dedupe.query.catalog_rules import counts_of, other_rules, rules_of
from dedupe.report.units import counted
from dedupe.scan.list_files import list_files
from dedupe.scan.session import scan_session
from dedupe.storage import display, volumes
from dedupe.storage.paths import outside
from dedupe.version import __version__
from dedupe.walk.mount_points import located


def create(
    path: str,
    config: ScanConfig,
    *,
    quick: bool = False,
    shared_with: Sequence[str] = (),
    progress: Progress | None = None,
) -> Filled:
    """Make a catalog of one folder; one that was never finished is gone on with.

    Args:
        path: of the catalog.
        config: the folder, as its only root, and what takes part.
        quick: leave the digests out.
        shared_with: other catalogs: leave the digests of files out that none of them may hold too.
        progress: is told how far the work is.

    Raises:
        UsageError: there is another file, or the root is no folder.
        NothingUsableError: the catalog cannot be made, or the folder not be read.
    """
    others = OtherCatalogs(shared_with, path)
    if os.path.lexists(path) and is_catalog(os.fsencode(path)) and not database.was_never_made(path):
        with database.closing(database.opened(path, change=True), path) as connection:
            head = database.head_of(connection, path)
        if head.complete or head.quick != quick:
            raise UsageError(f"{_shown(path)} is a catalog already: `dedupe catalog update` brings it up to date.")
        return update(path, config, shared_with=shared_with, progress=progress)
    root = root_of(config)
    now, place = datetime.now(UTC).isoformat(timespec="seconds"), located(root)
    head = Head(
        id=secrets.token_hex(8),
        version=__version__,
        made=now,
        updated=now,
        host=volumes.host(),
        root=outside(root),
        inside=place.relative(os.path.join(root, b"")),
        capacity=shutil.disk_usage(root).total,
        layout=fingerprint.LAYOUT,
        algorithm="sha256",
        quick=quick,
        complete=False,
        rules=rules_of(config),
    )
    volume = CatalogVolume(1, place.volume.id, place.volume.label, place.volume.file_system)
    made = database.make(path, head, volume)
    try:
        with database.closing(made, path) as connection:
            return _fill(connection, head, config, others, path, progress or Silent(), MEASURED)
    except DedupeError:
        if not database.has_files(path):
            database.discard(path)
        raise


def update(
    path: str,
    config: ScanConfig,
    *,
    shared_with: Sequence[str] = (),
    progress: Progress | None = None,
    tuning: Tuning = MEASURED,
) -> Filled:
    """Bring a catalog up to date with its folder, wherever that is mounted now.

    Args:
        path: of the catalog.
        config: the folder, as its only root, and what takes part.
        shared_with: as of `create`; without it every file gets a digest, unless the catalog is a quick one.
        progress: is told how far the work is.
        tuning: amounts that change no result.

    Raises:
        UsageError: the file is no catalog, or one of another folder or disk.
        NothingUsableError: either cannot be read.
    """
    root, others = root_of(config), OtherCatalogs(shared_with, path)
    with database.closing(database.opened(path, change=True), path) as connection:
        head = database.head_of(connection, path)
        database.refuse_unsound(connection, path)
        refuse_other(connection, head, root, path)
        rules = rules_of(config)
        notes = [] if head.rules in ("", rules) else [other_rules(_shown(path), head, rules)]
        if dropped := mend(connection, head):
            notes.append(f"{counted(dropped, 'row')} of the catalog {_shown(path)} had been damaged: read anew.")
        head = replace(head, root=outside(root), rules=rules)
        filled = _fill(connection, head, config, others, path, progress or Silent(), tuning)
        filled.notes = (*notes, *filled.notes)
        return filled


def _shown(path: str) -> str:
    return display.text(os.fsencode(path))


def _fill(  # noqa: PLR0913, PLR0917 - what both callers have
    connection: sqlite3.Connection,
    head: Head,
    config: ScanConfig,
    others: OtherCatalogs,
    path: str,
    progress: Progress,
    tuning: Tuning,
) -> Filled:
    """Fill a catalog, and note that it is complete."""
    connection.execute("PRAGMA synchronous = NORMAL")
    read_ns = time.time_ns()
    config = replace(config, own_files=(*config.own_files, *database.files_of(path)))
    with scan_session(config, progress, None, tuning) as session:
        listing = list_files(session, config)
        if not len(listing.table) and listing.problems:
            raise NothingUsableError(f"{display.text(head.root)} cannot be read: {listing.problems[0].message}.")
        session.pool.share(listing.table)  # it changes no more
        with connection:  # from here on it is neither what it was nor what it will be
            database.write_head(connection, replace(head, complete=False))
        filling = Filling(connection, session, listing, (head, others), read_ns)
        filling.run()
        session.cache.close()
        filled = filling.filled
        filled.problems = sorted(
            (p._replace(path=outside(p.path)) for p in (*listing.problems, *filled.problems)), key=lambda p: p.path
        )
        filled.notes = session.cache.notes
    sums = "SELECT count(*), ifnull(sum(size), 0), count(*) - count(digest) FROM files"
    filled.files, filled.bytes, filled.undigested = connection.execute(sums).fetchone()
    head = replace(head, files=filled.files, size=filled.bytes, undigested=filled.undigested)
    head = replace(head, unread=len(filled.problems), left_out=counts_of(listing.skipped))
    with connection:
        connection.execute("DELETE FROM problems")
        rows = [(problem.path, str(problem.kind), problem.message) for problem in filled.problems]
        connection.executemany("INSERT INTO problems VALUES (?, ?, ?)", rows)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        database.write_head(connection, replace(head, updated=now, version=__version__, complete=True))
    return filled
