"""What tells files of one size and fingerprint apart: xxh3-128 of places where they were seen to differ.

Without it, near-equal files (images of one virtual machine, say) would be read again in every scan: they have no
digest, since a file that is alone is not read to its end.  Like samples, divergences only ever exclude.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import xxhash

if TYPE_CHECKING:
    from typing_extensions import Buffer

Place: TypeAlias = tuple[int, int]  # offset and length in bytes
_DIVERGENCE = struct.Struct(">QI16s")  # offset, length, xxh3-128


def divergence_at(offset: int, data: Buffer) -> bytes:
    """Return the divergence of a file whose bytes at `offset` differ from others'; those of one file may be joined."""
    return _DIVERGENCE.pack(offset, memoryview(data).nbytes, xxhash.xxh3_128_digest(data))


def _places(divergences: bytes) -> dict[Place, bytes]:
    usable = len(divergences) // _DIVERGENCE.size * _DIVERGENCE.size
    return {(offset, length): value for offset, length, value in _DIVERGENCE.iter_unpack(divergences[:usable])}


def split_by_divergence(members: Sequence[int], divergences_of: Callable[[int], bytes]) -> list[Sequence[int]]:
    """Return the members in sets whose divergences leave open whether they are equal.

    A file without a divergence at a place may be equal to any other there, so such a place tells nobody apart.
    """
    divergences = {i: _places(divergences_of(i)) for i in members}
    return _split(members, divergences) if all(divergences.values()) else [members]


def _split(members: Sequence[int], divergences: dict[int, dict[Place, bytes]]) -> list[Sequence[int]]:
    shared = set.intersection(*(set(divergences[i]) for i in members))
    for place in sorted(shared):
        parts: dict[bytes, list[int]] = {}
        for i in members:
            parts.setdefault(divergences[i][place], []).append(i)
        if len(parts) > 1:
            return [rest for part in parts.values() for rest in _split(part, divergences)]
    return [members]
