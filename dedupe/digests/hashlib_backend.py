"""Digests by Python's own hashlib.  Always available; adds no code between the caller and hashlib."""

from __future__ import annotations

import functools
import hashlib
from typing import TYPE_CHECKING

from dedupe.digests.registry import load, lookup

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from dedupe.digests.base import Hasher

_NAMES = (
    "blake2b",
    "blake2s",
    "md5",
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha3_224",
    "sha3_256",
    "sha3_384",
    "sha3_512",
    "sha512",
)
_OF_OPENSSL = ("sha512_224", "sha512_256")  # hashlib has no functions for these


class HashlibBackend:
    """Python's hashlib, whose objects are hashers as they are; it takes updates beyond 2 GiB in pieces itself.

    Beside `algorithms` it has BLAKE2b of every shorter length, as `blake2b-N` of N bits: 8 to 504 by 8 (RFC 7693).
    """

    name = "hashlib"

    def __init__(self) -> None:
        # a Python built against a restricted OpenSSL may lack some
        self._makers: dict[str, Callable[..., Hasher]] = {
            name: getattr(hashlib, name) for name in _NAMES if hasattr(hashlib, name)
        }
        for name in set(hashlib.algorithms_available).intersection(_OF_OPENSSL):
            self._makers[name] = functools.partial(hashlib.new, name)
        self.algorithms = frozenset(self._makers)
        for size in range(1, 64):
            self._makers[f"blake2b-{8 * size}"] = functools.partial(hashlib.blake2b, digest_size=size)

    def hasher(self, algorithm: str, data: Buffer = b"", /, *, size_hint: int | None = None) -> Hasher:  # noqa: ARG002
        """Return a new hashlib object that has taken in `data`."""
        # not for security: a FIPS build of OpenSSL refuses MD5 otherwise
        return lookup(self._makers, algorithm, self)(data, usedforsecurity=False)

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return load, (self.name,)
