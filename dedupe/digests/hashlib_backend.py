"""Digests by Python's own hashlib.  Always available; adds no code between the caller and hashlib."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from dedupe.digests.registry import load, lookup

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from dedupe.digests.base import Hasher

_NAMES = ("blake2b", "blake2s", "md5", "sha1", "sha256", "sha384", "sha3_256", "sha512")


class HashlibBackend:
    """Python's hashlib, whose objects are hashers as they are; it takes updates beyond 2 GiB in pieces itself."""

    name = "hashlib"

    def __init__(self) -> None:
        # a Python built against a restricted OpenSSL may lack some
        self._makers = {name: getattr(hashlib, name) for name in _NAMES if hasattr(hashlib, name)}
        self.algorithms = frozenset(self._makers)

    def hasher(self, algorithm: str, data: Buffer = b"", /, *, size_hint: int | None = None) -> Hasher:  # noqa: ARG002
        """Return a new hashlib object that has taken in `data`."""
        # not for security: a FIPS build of OpenSSL refuses MD5 otherwise
        made: Hasher = lookup(self._makers, algorithm, self)(data, usedforsecurity=False)
        return made

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return load, (self.name,)
