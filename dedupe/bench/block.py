"""Makes the bytes that are hashed: the same on every machine for the same seed.  Measures nothing."""

from __future__ import annotations

import os

UNIT = 1 << 20  # bytes after which the block repeats
SEED = 20260804  # 128 MiB of it have a SHA-256 that begins 885a4d877a6979ff
_MASK = 0xFFFFFFFF


def block(size: int, seed: int = SEED) -> bytes:
    """Return `size` bytes: a unit of 1 MiB by Marsaglia's xorshift32, repeated and cut.

    The unit holds the low byte of each state that follows `seed`, with shifts 13, 17 and 5.  Making it
    takes most of the time (0.75 us a byte), so for a small block only a part of the unit is made.

    Raises:
        ValueError: `seed` is not a positive number of 32 bits; xorshift never leaves 0.
    """
    if not 0 < seed <= _MASK:
        raise ValueError(f"the seed must be from 1 to {_MASK}")
    state = seed
    unit = bytearray(min(size, UNIT))
    for place in range(len(unit)):
        state ^= state << 13 & _MASK
        state ^= state >> 17
        state ^= state << 5 & _MASK
        unit[place] = state & 0xFF
    return repeat(bytes(unit), size)


def repeat(unit: bytes, size: int) -> bytes:
    """Return `unit` over and over, cut at `size` bytes."""
    if len(unit) >= size:
        return unit[:size]
    return unit * (size // len(unit)) + unit[: size % len(unit)]


def random_block(size: int) -> bytes:
    """Return `size` random bytes, which differ from run to run."""
    return os.urandom(size)
