"""Where folders of this machine lie on a worker's.  Asks no file system."""

from __future__ import annotations

import os
from typing import NamedTuple

_SEPARATOR = os.sep.encode()


class OutsideError(LookupError):
    """A path lies below none of the folders that both machines have."""


class Places(NamedTuple):
    """Folders that are the same, by their paths here and there."""

    pairs: tuple[tuple[bytes, bytes], ...]  # (here, there), absolute, neither with a separator at its end but a root's

    def there(self, path: bytes) -> bytes:
        """Return the worker's path of what has a path here.

        Raises:
            OutsideError: it lies below none of the folders.
        """
        return _moved(path, self.pairs)

    def here(self, path: bytes) -> bytes:
        """Return the path here of what has a path on the worker.

        Raises:
            OutsideError: it lies below none of the folders.
        """
        return _moved(path, [(there, here) for here, there in self.pairs])

    def is_clear(self) -> bool:
        """Return whether each path of the worker's stands for one path here, so that none comes back as another."""
        for here, there in self.pairs:
            for _, other in self.pairs:
                if is_below(other, there) and self.here(other) != _moved(other, [(there, here)]):
                    return False
        return len({there for _, there in self.pairs}) == len(self.pairs)


def is_below(path: bytes, folder: bytes) -> bool:
    """Return whether an absolute path is a folder's or lies below it."""
    return path == folder or path.startswith(folder.rstrip(_SEPARATOR) + _SEPARATOR)


def _moved(path: bytes, pairs: tuple[tuple[bytes, bytes], ...] | list[tuple[bytes, bytes]]) -> bytes:
    found = [pair for pair in pairs if is_below(path, pair[0])]
    if not found:
        raise OutsideError(path)
    old, new = max(found, key=lambda pair: len(pair[0]))
    rest = path[len(old.rstrip(_SEPARATOR)) :]
    return new.rstrip(_SEPARATOR) + rest if rest else new
