"""A digest backend that keeps all it is given and digests at the end: slow, plain, and so a check on the others."""

from __future__ import annotations

import hashlib

from dedupe.digests.registry import lookup


class Clock:
    """Time that passes only where a backend of known speed spends it, so that no busy computer blurs a figure."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        """Return the seconds spent so far."""
        return self.now


class MemoryHasher:
    """Keeps a copy of every byte: the one backend that may."""

    def __init__(self, backend, algorithm, kept=b""):
        self._backend, self._algorithm = backend, algorithm
        self._kept = bytearray(kept)

    def update(self, data, /):
        """Append the bytes."""
        with memoryview(data) as view:
            if not view.c_contiguous:
                raise BufferError("not contiguous")
            self._kept += view

    def copy(self):
        """Return a second hasher with a copy of the bytes."""
        return MemoryHasher(self._backend, self._algorithm, self._kept)

    def digest(self):
        """Digest all at once, in the time that the backend is said to take."""
        if self._backend.clock is not None:
            self._backend.clock.now += self._backend.call_seconds + len(self._kept) / self._backend.bytes_per_second
        return hashlib.new(self._algorithm, self._kept).digest()


class MemoryBackend:
    """The in-memory fake; with a name, a clock and a speed it stands for a backend that is as fast as that."""

    algorithms = frozenset({"md5", "sha1", "sha256", "sha384", "sha512"})

    def __init__(self, name="memory", *, clock=None, call_seconds=0.0, bytes_per_second=1e9):
        self.name, self.clock = name, clock
        self.call_seconds, self.bytes_per_second = call_seconds, bytes_per_second

    def hasher(self, algorithm, data=b"", /, *, size_hint=None):  # noqa: ARG002
        """Return a new hasher that has taken in `data`."""
        lookup(dict.fromkeys(self.algorithms), algorithm, self)
        made = MemoryHasher(self, algorithm)
        made.update(data)
        return made
