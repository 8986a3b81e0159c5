"""Only tasks that map files are told that they may."""

from __future__ import annotations

from dedupe.cache.queries import QueryTask
from dedupe.compare.confirm import Confirmer
from dedupe.compare.fingerprint import Fingerprinter
from dedupe.compare.method import Method
from dedupe.storage.opener import Opener
from dedupe.workers.task import with_maps


def test_a_task_that_maps_nothing_stays_as_it_is() -> None:
    """Confirming has a form with maps; fingerprints and look-ups have none."""
    confirmer = Confirmer(Method.of("sha256", "hashlib"), Opener())
    assert (confirmer.may_mmap, with_maps(confirmer).may_mmap) == (False, True)
    for task in (Fingerprinter(Opener()), QueryTask("file:none", "sha256")):
        assert with_maps(task) is task
