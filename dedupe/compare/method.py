"""What proves that files are equal, and which digest equal files then carry.  Reads no file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from dedupe.config import Confirm
from dedupe.digests.base import Backend, BackendChoice, Hasher
from dedupe.digests.choose import any_of, choose

_COMPARED = BackendChoice("none", "bytes are compared, so no digest is needed")
_WITNESS = "sha256"  # where bytes are compared: remembered digests prove nothing then, but show what a disk has lost


class Method(NamedTuple):
    """How equality is proven: by comparing all bytes, and, unless that is all, by a full digest as well.

    Every class of files that were compared with each other is equal by its bytes.  Only where `has_digest` is true may
    a digest join classes that were not compared, or stand for a file that is not read.
    """

    algorithm: str  # of the digests
    backend: Backend | None  # computes them; None where bytes alone prove

    @classmethod
    def of(cls, confirm: str, backend: str = "auto") -> Method:
        """Return the method by its name, with any backend that can do it; `chosen` finds the fastest.

        Raises:
            BackendError: nobody here can do it.
        """
        return cls(_WITNESS, None) if confirm == Confirm.BYTES else cls(str(confirm), any_of(confirm, backend))

    def chosen(self, backend: str, measurements: Path | None) -> tuple[Method, BackendChoice]:
        """Return the method with the backend that is the fastest here, and why it is taken.

        May take a measurement: not to be called before a digest is wanted.

        Raises:
            BackendError: the one asked for is not available here.
        """
        if self.backend is None:
            return self, _COMPARED
        found, choice = choose(self.algorithm, backend, measurements=measurements)
        return self._replace(backend=found), choice

    @property
    def has_digest(self) -> bool:
        """Return whether equal digests prove equality, so that classes carry one and remembered ones count."""
        return self.backend is not None

    @property
    def width(self) -> int:
        """Return how many bytes its digests have."""
        hasher = self.hasher(None, needs_digest=True)
        assert hasher is not None
        return len(hasher.digest())

    def hasher(self, size: int | None, data: bytes = b"", *, needs_digest: bool) -> Hasher | None:
        """Return a hasher for so many bytes that has taken in `data`, or None where nobody wants their digest.

        Args:
            size: bytes in all, None where that is not known.
            data: its first bytes.
            needs_digest: whether classes are told apart by it that were not compared with each other.
        """
        if self.backend is not None:
            return self.backend.hasher(self.algorithm, data, size_hint=size)
        # Only to say which classes should be compared with each other; not by xxh3, whose collisions can be made: they
        # would be compared without end.
        return hashlib.new(_WITNESS, data) if needs_digest else None
