"""Digests by the xxhash package: fast, but no protection against files that were made to collide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import xxhash

from dedupe.digests.blocks import BlockHasher
from dedupe.digests.registry import load, lookup

if TYPE_CHECKING:
    from typing_extensions import Buffer

_MAKERS = {
    "xxh3": xxhash.xxh3_128,
    "xxh32": xxhash.xxh32,
    "xxh3_64": xxhash.xxh3_64,
    "xxh64": xxhash.xxh64,
}


class XxhashBackend:
    """The xxhash package; `xxh3` is the 128-bit one, and digests are in xxHash's canonical (big-endian) order."""

    name = "xxhash"
    algorithms = frozenset(_MAKERS)

    def hasher(self, algorithm: str, data: Buffer = b"", /, *, size_hint: int | None = None) -> BlockHasher:  # noqa: ARG002
        """Return a new hasher that has taken in `data`."""
        made = BlockHasher(lookup(_MAKERS, algorithm, self)())
        made.update(data)
        return made

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return load, (self.name,)
