"""A file of a set while it is read: its current window, hashed, compared and marked where it lies.  Decides nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupe.compare.divergence import divergence_at
from dedupe.digests.base import Hasher
from dedupe.storage.readers import Reader, Window

if TYPE_CHECKING:
    from dedupe.digests.memory import Pinned


@dataclass(slots=True, eq=False)
class OpenFile:
    """A file that is being read."""

    position: int  # in the set
    descriptor: int
    reader: Reader
    window: Window | None = None
    pinned: Pinned | None = None

    def advance(self, offset: int, length: int) -> None:
        """Move on to the next window."""
        from dedupe.digests.memory import Pinned  # brings ctypes, which small files and remembered ones need not

        self.release()
        self.window = self.reader.window(offset, length)
        if self.window is None:
            raise EOFError
        self.pinned = Pinned(self.window)

    def address(self) -> int:
        """Return where the current window lies."""
        assert self.pinned is not None
        return self.pinned.address

    def feed(self, hasher: Hasher, at: int, length: int) -> None:
        """Hash a part of the current window where it lies."""
        assert self.window is not None
        with memoryview(self.window) as whole, whole[at : at + length] as part:
            hasher.update(part)

    def divergence_at(self, offset: int, at: int, length: int) -> bytes:
        """Return the divergence at a part of the window, which begins at `offset` in the file."""
        assert self.window is not None
        with memoryview(self.window) as whole, whole[at : at + length] as part:
            return divergence_at(offset + at, part)

    def release(self) -> None:
        """Let go of the window, which nothing may refer to when its map is closed."""
        if self.pinned is not None:
            self.pinned.close()
        self.pinned = self.window = None

    def close(self) -> None:
        """Let go of the window and close the file."""
        self.release()
        self.reader.close()
