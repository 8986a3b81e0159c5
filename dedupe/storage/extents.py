"""Where on its disk an open file begins.  Reads none of its content.

Source: https://www.kernel.org/doc/Documentation/filesystems/fiemap.rst
"""

from __future__ import annotations

import errno
import os
import struct
import sys

NOT_OFFERED = {errno.ENOTTY, errno.EOPNOTSUPP, errno.ENOSYS}  # by this file system, whatever the file

if sys.platform == "linux":
    import fcntl

    _FIEMAP = 0xC020660B  # FS_IOC_FIEMAP of linux/fs.h
    _REQUEST = struct.Struct("=QQIIII")  # struct fiemap: start, length, flags, extents found, room for, reserved
    _EXTENT = struct.Struct("=QQQQQI12x")  # struct fiemap_extent: logical, physical, length, reserved, flags, reserved

    def first_byte(descriptor: int) -> int:
        """Return where on its disk an open file begins, in bytes; 0 where that is nowhere (holes, not yet written).

        Raises:
            OSError: the file system does not tell; one of `NOT_OFFERED` if it never does.
        """
        answer = bytearray(_REQUEST.pack(0, (1 << 64) - 1, 0, 0, 1, 0) + bytes(_EXTENT.size))
        fcntl.ioctl(descriptor, _FIEMAP, answer)
        place: int = _EXTENT.unpack_from(answer, _REQUEST.size)[1]  # zero as it was, where the file has no extent
        return place

else:

    def first_byte(descriptor: int) -> int:  # noqa: ARG001
        """Raise OSError: this system does not tell where a file lies."""
        raise OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))
