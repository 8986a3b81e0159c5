"""Digests by the blake3 package, an optional one that is imported only when the backend is made."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from dedupe.digests.blocks import BlockHasher
from dedupe.digests.registry import load, lookup
from dedupe.errors import BackendError

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Blake3Backend:
    """The blake3 package, with one thread per hasher, since the workers use all cores already.

    Raises:
        BackendError: the package is not installed.
    """

    name = "blake3"
    algorithms = frozenset({"blake3"})

    def __init__(self) -> None:
        try:
            blake3 = importlib.import_module("blake3").blake3
        except ImportError as error:
            raise BackendError(
                "blake3 needs a package that is not installed: pip install dedupe-files[blake3]"
            ) from error
        self._makers = {"blake3": blake3}

    def hasher(self, algorithm: str, data: Buffer = b"", /, *, size_hint: int | None = None) -> BlockHasher:  # noqa: ARG002
        """Return a new hasher that has taken in `data`."""
        made = BlockHasher(lookup(self._makers, algorithm, self)())
        made.update(data)
        return made

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return load, (self.name,)
