"""CRC-32 by zlib, which SFV lists hold: it shows accidents, and protects against nobody."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from dedupe.digests.registry import load, lookup

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Crc32:
    """CRC-32 as of ISO 3309, PNG and zip; its digest is in big-endian order, as lists write it."""

    __slots__ = ("_value",)

    def __init__(self, value: int = 0) -> None:
        self._value = value

    def update(self, data: Buffer, /) -> None:
        """Take in a C-contiguous buffer of any size without copying it."""
        self._value = zlib.crc32(data, self._value)

    def copy(self) -> Crc32:
        """Return a second hasher that continues from here on its own."""
        return Crc32(self._value)

    def digest(self) -> bytes:
        """Return the digest of the bytes so far."""
        return self._value.to_bytes(4, "big")


_MAKERS = {"crc32": Crc32}


class ZlibBackend:
    """The zlib that Python brings along."""

    name = "zlib"
    algorithms = frozenset(_MAKERS)

    def hasher(self, algorithm: str, data: Buffer = b"", /, *, size_hint: int | None = None) -> Crc32:  # noqa: ARG002
        """Return a new hasher that has taken in `data`."""
        made = lookup(_MAKERS, algorithm, self)()
        made.update(data)
        return made

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return load, (self.name,)
