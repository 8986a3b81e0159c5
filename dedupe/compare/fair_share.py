"""Whether a set is confirmed by one worker or by several: a forecast of how long each will be busy.  Reads nothing."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

_SLACK = 1.1  # of a worker's fair share: sharing costs one more reading of a file, which must be gained first
_PARTS = 16  # in which the comparing of a shared set is thought to be handed out


def shared_ones(costs: Sequence[tuple[int, int]], total: int, workers: int) -> Iterator[bool]:
    """Yield of each set whether it is to be shared: whole, it would end long after the others have nothing to do.

    The model is list scheduling (R. L. Graham, "Bounds on Multiprocessing Timing Anomalies", 1969): what comes next
    goes to the worker that is free first.  Of a shared set, hashing goes to one, and comparing to all.

    Args:
        costs: of each set, in the order in which they are handed out: all that there is to do, and what of it only one
            worker can do, in one unit.
        total: what all sets cost, with those that are never shared.
        workers: how many there are.
    """
    most = total / workers * _SLACK
    loads = [0.0] * workers
    for whole, alone in costs:
        is_shared = workers > 1 and loads[0] + whole > most
        yield is_shared
        heapq.heapreplace(loads, loads[0] + (alone if is_shared else whole))
        if is_shared:
            for _ in range(_PARTS):
                heapq.heapreplace(loads, loads[0] + (whole - alone) / _PARTS)
