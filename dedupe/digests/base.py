"""The contract of a digest backend.  Owns no algorithm, and knows nothing of files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing_extensions import Buffer  # typing only; collections.abc has it from 3.12


@dataclass(frozen=True, slots=True)
class BackendChoice:
    """The digest backend that was used, and why it was chosen."""

    name: str
    reason: str


class Hasher(Protocol):
    """Computes a digest of the bytes given to it so far, in order.

    Not safe for two threads at once; two hashers of one backend are.
    """

    def update(self, data: Buffer, /) -> None:
        """Take in any C-contiguous buffer of one dimension, of any size, without copying it.

        Raises:
            BufferError: the buffer is not C-contiguous; nothing was taken in.
            TypeError: `data` is no buffer, such as a str; nothing was taken in.
            DedupeError: the system reported an error; the hasher must not be used again.
        """

    def copy(self) -> Hasher:
        """Return a second hasher that has taken in the same bytes; each continues on its own."""

    def digest(self) -> bytes:
        """Return the digest of the bytes so far.  May be called again, and between updates."""


class Backend(Protocol):
    """Makes hashers: one object per process is enough, and threads may share it.

    It is pickled by its name, so that workers use the backend that was chosen.
    """

    @property
    def name(self) -> str:
        """The name that `--backend` and reports use, such as `hashlib`."""

    @property
    def algorithms(self) -> frozenset[str]:
        """Names of the algorithms offered, as `--confirm` writes them."""

    def hasher(self, algorithm: str, data: Buffer = b"", /, *, size_hint: int | None = None) -> Hasher:
        """Return a new hasher that has taken in `data`.

        `size_hint` is how many bytes there will be in all, where that is known.  It may decide who computes the
        digest, never what it is.

        Raises:
            BackendError: `algorithm` is not among `algorithms`.
        """
