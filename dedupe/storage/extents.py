"""Where on its disk an open file lies.  Reads none of its content.

Source: https://www.kernel.org/doc/Documentation/filesystems/fiemap.rst
"""

from __future__ import annotations

import errno
import os
import struct
import sys
from collections.abc import Iterator
from typing import NamedTuple

NOT_OFFERED = {errno.ENOTTY, errno.EOPNOTSUPP, errno.ENOSYS}  # by this file system, whatever the file


class Extent(NamedTuple):
    """A piece of a file that lies in one piece on its disk; all in bytes."""

    logical: int  # where in the file
    physical: int  # where on the disk, as its file system counts
    length: int
    flags: int

    @property
    def is_shared(self) -> bool:
        """Whether another file, a snapshot or another place of the same file has these bytes too."""
        return self.flags & 0x2000 != 0  # FIEMAP_EXTENT_SHARED

    @property
    def is_placed(self) -> bool:
        """Whether the place is known, final and made of whole blocks: else nothing can be shared there."""
        return self.flags & (0x2 | 0x4 | 0x200 | 0x400) == 0  # _UNKNOWN, _DELALLOC, _DATA_INLINE, _DATA_TAIL


if sys.platform == "linux":
    import fcntl

    _FIEMAP = 0xC020660B  # FS_IOC_FIEMAP of linux/fs.h
    _REQUEST = struct.Struct("=QQIIII")  # struct fiemap: start, length, flags, extents found, room for, reserved
    _EXTENT = struct.Struct("=QQQQQI12x")  # struct fiemap_extent: logical, physical, length, reserved, flags, reserved

    _MANY = 256  # extents a call
    _SYNC = 1  # FIEMAP_FLAG_SYNC
    _LAST = 1  # FIEMAP_EXTENT_LAST

    def first_byte(descriptor: int) -> int:
        """Return where on its disk an open file begins, in bytes; 0 where that is nowhere (holes, not yet written).

        Raises:
            OSError: the file system does not tell; one of `NOT_OFFERED` if it never does.
        """
        answer = bytearray(_REQUEST.pack(0, (1 << 64) - 1, 0, 0, 1, 0) + bytes(_EXTENT.size))
        fcntl.ioctl(descriptor, _FIEMAP, answer)
        place: int = _EXTENT.unpack_from(answer, _REQUEST.size)[1]  # zero as it was, where the file has no extent
        return place

    def extents(descriptor: int) -> Iterator[Extent]:
        """Yield where an open file lies, in the order of its content; holes lie nowhere.  Writes it to the disk first.

        Raises:
            OSError: the file system does not tell; one of `NOT_OFFERED` if it never does.
        """
        start = 0
        while True:
            answer = bytearray(
                _REQUEST.pack(start, (1 << 64) - 1 - start, _SYNC, 0, _MANY, 0) + _MANY * bytes(_EXTENT.size)
            )
            fcntl.ioctl(descriptor, _FIEMAP, answer)
            count = _REQUEST.unpack_from(answer)[3]
            for n in range(count):
                logical, physical, length, _, _, flags = _EXTENT.unpack_from(answer, _REQUEST.size + n * _EXTENT.size)
                yield Extent(logical, physical, length, flags)
                if flags & _LAST:
                    return
            if not count or logical + length <= start:  # nothing beyond, or the file was cut meanwhile
                return
            start = logical + length

else:

    def first_byte(descriptor: int) -> int:  # noqa: ARG001
        """Raise OSError: this system does not tell where a file lies."""
        raise OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))

    def extents(descriptor: int) -> Iterator[Extent]:
        """Raise OSError: this system does not tell where a file lies."""
        first_byte(descriptor)
        yield from ()
