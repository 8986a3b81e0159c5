"""From what a user asks for to workers of a cluster: which folders they should see, and under which paths."""

from __future__ import annotations

import os
from collections.abc import Sequence

from dedupe.cluster.link import Link
from dedupe.cluster.places import is_below
from dedupe.cluster.workers import ClusterWorkers
from dedupe.storage.paths import absolute
from dedupe.workers.tuning import WorkerTuning

Roots = Sequence[tuple[bytes, tuple[bytes, ...]]]


def connect(
    address: str,
    roots: Sequence[bytes],
    worker_roots: Sequence[tuple[bytes, bytes]],
    jobs: int,
    tuning: WorkerTuning | None = None,
) -> ClusterWorkers:
    """Return the workers of a cluster, once those that are there have shown what they see.

    Args:
        address: of the scheduler.
        roots: absolute paths that are scanned.
        worker_roots: folders by their paths on workers and here.
        jobs: threads that do here what is not done elsewhere.
        tuning: how workers are kept busy; None for what was measured.

    Raises:
        UsageError: dask is not there, or nothing can be made of the address.
        NothingUsableError: no scheduler answers.
    """
    return ClusterWorkers(Link(address), shared(roots, worker_roots), jobs, tuning or WorkerTuning.default)


def shared(roots: Sequence[bytes], worker_roots: Sequence[tuple[bytes, bytes]]) -> Roots:
    """Return the folders that workers should see, each with the paths that it may have there.

    These are the folders that are told to lie elsewhere there, and the roots that lie in none of them.  A file that is
    a root itself and lies in none of them is read here.
    """
    found: dict[bytes, list[bytes]] = {}
    for there, here in worker_roots:
        found.setdefault(absolute(here), []).append(there)
    told = list(found)
    for root in roots:
        if os.path.isdir(root) and not any(is_below(root, here) for here in told):
            found.setdefault(root, [])
    return [(here, tuple(dict.fromkeys([*candidates, here]))) for here, candidates in found.items()]
