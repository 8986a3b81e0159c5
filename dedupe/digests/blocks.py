"""Passes data to a library's hasher in blocks, so that no length is too large for the C code of that library."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from dedupe.digests.base import Hasher

BLOCK = 1 << 30  # bytes; some libraries keep lengths in a signed 32-bit integer, others raise beyond it


class BlockHasher:
    """A hasher around another one that is given plain bytes only, at most `BLOCK` of them a call."""

    __slots__ = ("_inner",)

    def __init__(self, inner: Hasher) -> None:
        self._inner = inner

    def update(self, data: Buffer, /) -> None:
        """Take in a C-contiguous buffer of any size without copying it."""
        with memoryview(data) as view:
            if not view.c_contiguous:
                raise BufferError("the buffer is not C-contiguous")
            if view.nbytes == 0:  # memoryview cannot cast some empty shapes
                return
            with view.cast("B") as plain:
                for start in range(0, plain.nbytes, BLOCK):
                    with plain[start : start + BLOCK] as block:
                        self._inner.update(block)

    def copy(self) -> BlockHasher:
        """Return a second hasher that continues from here on its own."""
        return BlockHasher(self._inner.copy())

    def digest(self) -> bytes:
        """Return the digest of the bytes so far."""
        return self._inner.digest()
