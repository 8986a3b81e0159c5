"""Which backend computes an algorithm, and why.  Computes no digest itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dedupe.digests.base import BackendChoice
from dedupe.digests.registry import load
from dedupe.errors import BackendError

if TYPE_CHECKING:
    from dedupe.digests.base import Backend

_SYSTEMS = {"darwin": "macOS", "linux": "Linux", "win32": "Windows"}
_OWNERS = {"blake3": "blake3", "xxh3": "xxhash", "xxh32": "xxhash", "xxh3_64": "xxhash", "xxh64": "xxhash"}


def choose(algorithm: str, requested: str = "auto", *, measurements: Path | None) -> tuple[Backend, BackendChoice]:
    """Return the backend for `algorithm` and the reason for it.

    `requested` is `auto` or a backend's name.  `measurements` is the file in which measured speeds are kept.

    Raises:
        BackendError: the one requested is not available here or lacks the algorithm, or nobody offers the algorithm.
    """
    if requested != "auto":
        backend, reason = load(requested), "asked for"
    else:
        backend = load(_OWNERS.get(algorithm, "hashlib"))
        reason = f"the only backend for {algorithm} on {_SYSTEMS.get(sys.platform, sys.platform)}"
    if algorithm not in backend.algorithms:
        raise BackendError(f"the {backend.name} backend has no {algorithm}")
    return backend, BackendChoice(backend.name, reason)
