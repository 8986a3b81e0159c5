"""The recipe: how duplicates are found, one call a phase.  Reads nothing itself: each phase does its own work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupe.config import ScanConfig
from dedupe.progress import Progress, Silent
from dedupe.result import ScanResult
from dedupe.scan.pipeline import Scan

if TYPE_CHECKING:
    from concurrent.futures import Executor


def find_duplicates(
    config: ScanConfig, *, progress: Progress | None = None, executor: Executor | None = None
) -> ScanResult:
    """Find files of equal content.

    Every group of the result has been proven equal over every byte, or by a full digest where a remembered one that is
    still valid stands for a file.  Samples only ever tell files apart.

    Args:
        config: where to look, and what counts.
        progress: is told how far the scan is.
        executor: does the reading in place of processes on this machine; its workers must see the same files.

    Raises:
        NothingUsableError: no root can be read.
        BackendError: the digest backend asked for is not available here.
    """
    with Scan(config, progress or Silent(), executor) as scan:
        scan.walk()
        sets = scan.same_size()
        sets = scan.one_name_each(sets)
        scan.recall(sets)
        sets = scan.same_fingerprint(sets)
        classes = scan.same_content(sets)
        return scan.result(classes)
