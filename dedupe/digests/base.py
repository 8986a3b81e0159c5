"""The contract of a digest backend.  Owns no algorithm, and knows nothing of files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing_extensions import Buffer  # typing only; collections.abc has it from 3.12


class Hasher(Protocol):
    """A running digest over the bytes that it was given, in order.

    Not safe for two threads at once; two hashers of one backend are.
    """

    def update(self, data: Buffer, /) -> None:
        """Take in any C-contiguous buffer, of any size, without copying it.

        Raises:
            DedupeError: the system refused; the hasher must not be used again.
        """

    def copy(self) -> Hasher:
        """Return a second hasher with the same bytes taken in; the two go on apart."""

    def digest(self) -> bytes:
        """Return the digest of the bytes so far.  May be called again, and between updates."""


class Backend(Protocol):
    """A supplier of hashers: one a process is enough, and it may be shared by threads."""

    @property
    def name(self) -> str:
        """The name that `--backend` and reports use, such as `hashlib`."""

    @property
    def algorithms(self) -> frozenset[str]:
        """Names of the algorithms offered, as `--confirm` writes them."""

    def hasher(self, algorithm: str, data: Buffer = b"", /) -> Hasher:
        """Return a new hasher that has taken in `data`.

        Raises:
            BackendError: `algorithm` is not among `algorithms`.
        """
