"""The recipe: how duplicates are found, one call a phase.  Reads nothing itself: each phase does its own work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupe.compare.tuning import MEASURED, Tuning
from dedupe.config import ScanConfig
from dedupe.progress import Progress, Silent
from dedupe.result import ScanResult
from dedupe.scan.accepted import hide_accepted
from dedupe.scan.arrange import arrange
from dedupe.scan.assemble import result
from dedupe.scan.confirm import confirm
from dedupe.scan.fingerprints import group_by_fingerprint
from dedupe.scan.list_files import group_by_size, list_files
from dedupe.scan.offline import join_catalogs, provable, tell_known, tell_offline
from dedupe.scan.recall import recall
from dedupe.scan.rot import tell_rot
from dedupe.scan.scope import ScopeFilter
from dedupe.scan.session import scan_session
from dedupe.scan.unite import unite_equal, unite_hard_links

if TYPE_CHECKING:
    from concurrent.futures import Executor


def find_duplicates(
    config: ScanConfig,
    *,
    progress: Progress | None = None,
    executor: Executor | None = None,
    tuning: Tuning = MEASURED,
) -> ScanResult:
    """Find files of equal content.

    Every group of the result has been proven equal over every byte, or by a full digest where a remembered one that is
    still valid stands for a file.  Samples only ever tell files apart.

    Args:
        config: where to look, and what counts.
        progress: is told how far the scan is.
        executor: does the reading in place of processes on this machine; its workers must see the same files.
        tuning: amounts that change no result, for tests and experiments.

    Raises:
        NothingUsableError: no root can be read.
        BackendError: the digest backend asked for is not available here.
    """
    with scan_session(config, progress or Silent(), executor, tuning) as session:
        listing = list_files(session, config)
        table = listing.table
        offline = join_catalogs(session, config, listing)
        scope = ScopeFilter.of(config, table)
        united = unite_hard_links(table, scope.divide(group_by_size(table), session.opener), session.opener)
        scope.further = united.names
        united.sets = scope.take(united.sets)
        session.pool.share(table)  # it changes no more
        known = recall(session, table, united.sets)
        tell_known(offline, known)
        likely = group_by_fingerprint(session, table, united.sets, known)
        likely.sets = scope.take(provable(offline, likely.sets))
        confirmed = confirm(session, table, likely.sets, known)
        confirmed = tell_rot(session, table, likely.sets, known, confirmed)
        tell_offline(offline, confirmed)
        unite_equal(table, united, confirmed, session.opener)
        hide_accepted(config, listing, confirmed)
        arranged = arrange(session, table, united, confirmed, scope, config.confirm)
        return result(session, config, listing, united, known, (likely, confirmed, arranged))
