"""Having a file system keep equal bytes of two files once, by the kernel's own proof of equality (FIDEDUPERANGE).

Offered by btrfs, XFS made with reflink, and a few more.  Never writes into a file: what differs stays as it is.
Source: https://man7.org/linux/man-pages/man2/ioctl_fideduperange.2.html
"""

from __future__ import annotations

import errno
import os
import struct
import sys
from collections.abc import Callable, Iterable

from dedupe.storage.extents import Extent, extents

_NOT_OFFERED = frozenset({
    errno.ENOTTY, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EBADF
})  # fmt: skip
_PROBE = 256 * 1024  # bytes: whole blocks on every file system, and too many to lie inline


class DiffersError(OSError):
    """The kernel compared two files, and they are not equal; nothing was changed."""


def _ignore(done: int) -> None:
    """Take no notice."""


def shared_bytes(descriptor: int) -> int:
    """Return how many bytes of an open file lie where another file, a snapshot or itself has them too.

    Raises:
        OSError: the file system does not tell; one of `extents.NOT_OFFERED` if it never does.
    """
    return sum(extent.length for extent in extents(descriptor) if extent.is_shared)


def exclusive_bytes(descriptors: Iterable[int]) -> int:
    """Return how many bytes open files have each for itself alone: what giving up their own copies would free.

    A file that is given twice counts once.  Bytes that are shared already are nobody's own, whoever shares them; those
    that lie inline cannot be shared.  Of compressed files it is the length before compression.

    Raises:
        OSError: the file system does not tell; one of `extents.NOT_OFFERED` if it never does.
    """
    files = {}
    for descriptor in descriptors:
        seen = os.fstat(descriptor)
        files[seen.st_dev, seen.st_ino] = descriptor
    return sum(
        extent.length
        for descriptor in files.values()
        for extent in extents(descriptor)
        if extent.is_placed and not extent.is_shared
    )


def common_bytes(a: int, b: int) -> int:
    """Return how many bytes of two open files are the same ones on the same disk, at the same place of both.

    Files of different devices have none: two cloned disks tell equal places.

    Raises:
        OSError: the file system does not tell; one of `extents.NOT_OFFERED` if it never does.
    """
    if os.fstat(a).st_dev != os.fstat(b).st_dev:
        return 0
    return _overlap([e for e in extents(a) if e.is_placed], [e for e in extents(b) if e.is_placed])


def _overlap(left: list[Extent], right: list[Extent]) -> int:
    total = i = j = 0
    while i < len(left) and j < len(right):
        a, b = left[i], right[j]
        if a.physical - a.logical == b.physical - b.logical:
            start = max(a.logical, b.logical)
            total += max(0, min(a.logical + a.length, b.logical + b.length) - start)
        if a.logical + a.length <= b.logical + b.length:
            i += 1
        else:
            j += 1
    return total


if sys.platform == "linux":
    import fcntl

    from dedupe.storage import linux_flags, opening
    from dedupe.storage.rename import temporary_name

    _DEDUPE = 0xC018_9436  # FIDEDUPERANGE: as it is on every processor
    _CLONE = linux_flags.request(0x94, 9, 4, reads=False, machine=os.uname().machine)  # FICLONE
    # struct file_dedupe_range, and one struct file_dedupe_range_info behind it
    _RANGE = struct.Struct("=QQHHIqQQiI")
    _STEP = 128 << 20  # bytes a call: smaller ones split the extents of btrfs
    _DIFFERS = 1  # FILE_DEDUPE_RANGE_DIFFERS

    def share(source: int, target: int, size: int, *, progress: Callable[[int], object] = _ignore) -> int:
        """Have a file's bytes kept once with another's; return how many the kernel says that are.

        Fewer than asked for means that it went no further; the rest stays as it was.  Times, rights and content of
        the target stay.  No descriptor needs to be open for writing if the user owns the target.

        Args:
            source: of the file whose copy stays.
            target: of the file whose own copy is given up.
            size: of both, bytes.
            progress: called with the bytes of each step.

        Raises:
            DiffersError: the contents differ; up to there they are shared.
            OSError: not offered, not allowed, not on one file system.
        """
        done = 0
        while done < size:
            step = min(_step(source, target, done, min(_STEP, size - done)), size - done)
            if not step:
                break
            done += step
            progress(step)
        return done

    def _step(source: int, target: int, offset: int, length: int) -> int:
        """Share one range; once more after writing both to the disk, if the file system asks for that."""
        try:
            return _ask(source, target, offset, length)
        except BlockingIOError:
            os.fsync(source)
            os.fsync(target)
            return _ask(source, target, offset, length)

    def _ask(source: int, target: int, offset: int, length: int) -> int:
        request = bytearray(_RANGE.pack(offset, length, 1, 0, 0, target, offset, 0, 0, 0))
        while True:
            try:
                fcntl.ioctl(source, _DEDUPE, request)
                break
            except InterruptedError:
                continue
        *_, done, status, _ = _RANGE.unpack(request)
        if status == _DIFFERS:
            raise DiffersError(errno.EILSEQ, f"the contents differ between bytes {offset} and {offset + length}")
        if status < 0:
            raise OSError(-status, os.strerror(-status))
        return int(done)

    def clone_into_new(source: int, folder: int, name: bytes) -> bool:
        """Make a new file whose content is another's, kept once with it; return whether that is offered.

        Never touches a file that is there.  The new one has mode 600 and is on the disk.

        Args:
            source: of the file to copy.
            folder: an open one.
            name: of the new file.

        Raises:
            FileExistsError: something has that name.
            OSError: it could not be made; nothing stays of it.
        """
        made = opening.create_new(folder, name)
        try:
            fcntl.ioctl(made, _CLONE, source)
            os.fsync(made)
        except OSError as error:
            _remove(made, folder, name)
            if error.errno in _NOT_OFFERED:
                return False
            raise
        finally:
            os.close(made)
        return True

    def can_share(folder: bytes) -> str | None:
        """Return why files of a folder cannot share blocks, or None where they can: tried with two unnamed files.

        The trial has real content: some file systems refuse only that.
        """
        try:
            opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            return f"the folder cannot be opened ({error.strerror})"
        made = []
        try:
            data = os.urandom(_PROBE)
            for _ in range(2):
                made.append(_unnamed(folder, opened))
                if os.write(made[-1], data) < len(data):
                    return "a trial failed: the file system is full"
                os.fsync(made[-1])
            done = share(made[0], made[1], len(data))
        except OSError as error:
            if error.errno in _NOT_OFFERED:
                return f"its file system does not share blocks between files ({error.strerror})"
            return f"a trial failed ({error.strerror})"
        finally:
            for each in (opened, *made):
                os.close(each)
        return None if done == len(data) else "its file system shared less than it was asked to in a trial"

    def _unnamed(folder: bytes, opened: int) -> int:
        """Return a new file without a name, which vanishes with its descriptor."""
        try:
            return os.open(folder, os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if error.errno not in {errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL}:
                raise
        name = temporary_name()
        made = opening.create_new(opened, name)
        _remove(made, opened, name)
        return made

    def _remove(made: int, folder: int, name: bytes) -> None:
        """Remove a file's name, if it still is that of the file."""
        if os.path.samestat(os.fstat(made), opening.stat_at(folder, name)):
            opening.unlink_at(folder, name)

else:
    _NOWHERE = "sharing blocks between files is offered on Linux only, on btrfs and XFS"

    def share(source: int, target: int, size: int, *, progress: Callable[[int], object] = _ignore) -> int:  # noqa: ARG001
        """Raise OSError: offered on Linux only."""
        raise OSError(errno.ENOTSUP, _NOWHERE)

    def clone_into_new(source: int, folder: int, name: bytes) -> bool:  # noqa: ARG001
        """Return False: offered on Linux only."""
        return False

    def can_share(folder: bytes) -> str | None:  # noqa: ARG001
        """Return why files of a folder cannot share blocks: it is offered on Linux only."""
        return _NOWHERE
