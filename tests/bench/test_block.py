"""The block that is hashed is the published one."""

from __future__ import annotations

import hashlib

import pytest

from dedupe.bench.block import SEED, UNIT, block, random_block

MIB = 1 << 20


@pytest.mark.parametrize(("seed", "start"), [(20260804, "885a4d877a6979ff"), (20260806, "a807ffe621f53323")])
def test_published_digests(seed: int, start: str) -> None:
    """128 MiB of a published seed have the published SHA-256."""
    assert hashlib.sha256(block(128 * MIB, seed)).hexdigest().startswith(start)


def test_repeats_after_one_mib() -> None:
    """The block repeats after 1 MiB, and is cut at the size that was asked for."""
    data = block(2 * UNIT + 5)
    assert len(data) == 2 * UNIT + 5
    assert data[:UNIT] == data[UNIT : 2 * UNIT]
    assert data[2 * UNIT :] == data[:5]


@pytest.mark.parametrize("size", [0, 1, 4096])
def test_small_block_begins_like_a_large_one(size: int) -> None:
    """A block is the beginning of every larger block of the same seed."""
    assert block(size) == block(8192)[:size]


def test_first_bytes_by_hand() -> None:
    """The first bytes are the low bytes of the first states of xorshift32."""
    # from 1: 0x42021 (low byte 0x21), then 0x4080601 (low byte 0x01), both published with the generator
    assert block(2, seed=1) == b"\x21\x01"


@pytest.mark.parametrize("seed", [0, -1, 1 << 32])
def test_refuses_a_seed_that_is_none(seed: int) -> None:
    """A seed of 0 would give nothing but zeros, and one beyond 32 bits is another generator's."""
    with pytest.raises(ValueError, match="seed"):
        block(1, seed)


def test_default_seed() -> None:
    """Who names no seed gets the published one."""
    assert block(64) == block(64, SEED) == block(64, 20260804)


def test_random_block_is_random() -> None:
    """Two random blocks differ, and have the size that was asked for."""
    assert random_block(32) != random_block(32)
    assert len(random_block(33)) == 33
