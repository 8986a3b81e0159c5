"""All backends by name.  Imports a backend only when it is needed, and makes it once per process."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from dedupe.errors import BackendError

if TYPE_CHECKING:
    from dedupe.digests.base import Backend

T = TypeVar("T")

# name: the module and the class that is made without arguments, or raises BackendError with the reason
BACKENDS = {
    "blake3": ("dedupe.digests.blake3_backend", "Blake3Backend"),
    "cng": ("dedupe.digests.cng", "CngBackend"),
    "hashlib": ("dedupe.digests.hashlib_backend", "HashlibBackend"),
    "xxhash": ("dedupe.digests.xxhash_backend", "XxhashBackend"),
    "zlib": ("dedupe.digests.zlib_backend", "ZlibBackend"),
}


def load(name: str) -> Backend:
    """Return the backend of that name; the same object for each call.

    Raises:
        BackendError: there is no such backend, or it is not available here; the text says why.
    """
    if name not in BACKENDS:
        raise BackendError(f"there is no digest backend {name}: choose from {', '.join(BACKENDS)}")
    return _make(*BACKENDS[name])


@functools.cache
def _make(module: str, maker: str) -> Backend:
    backend: Backend = getattr(importlib.import_module(module), maker)()
    return backend


def lookup(makers: Mapping[str, T], algorithm: str, backend: Backend) -> T:
    """Return what `makers` holds for an algorithm of `backend`.

    Raises:
        BackendError: the backend lacks the algorithm; the text names those that it has.
    """
    try:
        return makers[algorithm]
    except KeyError:
        offered = ", ".join(sorted(backend.algorithms))
        raise BackendError(f"the {backend.name} backend has no {algorithm}: it offers {offered}") from None
