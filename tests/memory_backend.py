"""A digest backend that keeps all it is given and digests at the end: slow, plain, and so a check on the others."""

from __future__ import annotations

import hashlib
import time

from dedupe.digests.registry import lookup


class MemoryHasher:
    """Keeps a copy of every byte: the one backend that may."""

    def __init__(self, algorithm, kept=b"", seconds_per_byte=0.0, seconds_per_digest=0.0):
        self._made_with = (algorithm, kept, seconds_per_byte, seconds_per_digest)
        self._kept = bytearray(kept)

    def update(self, data, /):
        """Append the bytes, at the pace that was asked for."""
        with memoryview(data) as view:
            if not view.c_contiguous:
                raise BufferError("not contiguous")
            self._kept += view
            _wait(view.nbytes * self._made_with[2])

    def copy(self):
        """Return a second hasher with a copy of the bytes."""
        algorithm, _, *pace = self._made_with
        return MemoryHasher(algorithm, bytes(self._kept), *pace)

    def digest(self):
        """Digest all at once."""
        _wait(self._made_with[3])
        return hashlib.new(self._made_with[0], self._kept).digest()


class MemoryBackend:
    """The in-memory fake; with a name and a pace of its own it stands for a backend of known speed."""

    algorithms = frozenset({"md5", "sha1", "sha256", "sha384", "sha512"})

    def __init__(self, name="memory", *, seconds_per_byte=0.0, seconds_per_digest=0.0):
        self.name = name
        self._pace = (seconds_per_byte, seconds_per_digest)

    def hasher(self, algorithm, data=b"", /, *, size_hint=None):  # noqa: ARG002
        """Return a new hasher that has taken in `data`."""
        lookup(dict.fromkeys(self.algorithms), algorithm, self)
        made = MemoryHasher(algorithm, b"", *self._pace)
        made.update(data)
        return made


def _wait(seconds):
    """Let time pass without sleeping: sleep is too coarse for microseconds."""
    until = time.perf_counter() + seconds
    while seconds and time.perf_counter() < until:
        pass
