"""Reading a file again, from the disk where the system allows that, to see whether it has a digest."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from dedupe.digests.base import Hasher
from dedupe.digests.choose import choose
from dedupe.storage.opening import open_nofollow

_BLOCK = 1 << 20


def digest_of(descriptor: int, algorithm: str, *, from_disk: bool = False) -> bytes:
    """Return the digest of all of an open file.

    Raises:
        OSError: it cannot be read.
    """
    if from_disk and sys.platform == "linux":
        with suppress(OSError):
            os.fdatasync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    hasher = hasher_of(algorithm)
    os.lseek(descriptor, 0, os.SEEK_SET)
    while block := os.read(descriptor, _BLOCK):
        hasher.update(block)
    return hasher.digest()


def reads_as(spot: tuple[int, bytes], algorithm: str, digest: bytes) -> bool:
    """Return whether a name in an open folder leads to a file that has a digest, read from the disk.

    Raises:
        OSError: it cannot be read.
    """
    descriptor = open_nofollow(*spot)
    try:
        return digest_of(descriptor, algorithm, from_disk=True) == digest
    finally:
        os.close(descriptor)


def hasher_of(algorithm: str) -> Hasher:
    """Return a new hasher.

    Raises:
        BackendError: nobody here offers the algorithm.
    """
    backend, _ = choose(algorithm, measurements=None)
    return backend.hasher(algorithm)
