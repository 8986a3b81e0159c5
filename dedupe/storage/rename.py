"""Giving a file another name in a way that never replaces what has that name already.  Copies no content.

Where the file system knows no such rename (NFS, many FUSE programs, exFAT, older ZFS), it is made of a link and an
unlink; where there are no links either, of a name that is created exclusively and then taken over.  The calls of macOS
follow its manual and were never run there.
"""

from __future__ import annotations

import errno
import functools
import os
import secrets
import stat
import sys

from dedupe.storage.temporary_names import ASIDE

# Answers that mean "this file system does not offer it", whatever the file.
NOT_OFFERED = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOTTY})
# Those of link(2), with EPERM for "no links here" and for files that others own, and EMLINK for too many names.
_NO_LINK = NOT_OFFERED | {errno.EPERM, errno.EMLINK, errno.EACCES}


def temporary_name() -> bytes:
    """Return a name that nothing else has, of 24 bytes, for use within one folder."""
    return ASIDE + secrets.token_hex(8).encode()


if sys.platform == "win32":
    from dedupe.storage import windows_acts

    def rename_no_replace(
        source: bytes,
        target: bytes,
        *,
        source_dir: int | None = None,
        target_dir: int | None = None,
        second: bytes = b"",  # noqa: ARG001 - one step does it
    ) -> None:
        """Give a file another name on its volume; never replaces anything.

        Args:
            source: its path, or its name in `source_dir`.
            target: the new one, likewise.
            source_dir: a folder that `opening.open_folder` opened.
            target_dir: likewise.
            second: of no use here.

        Raises:
            FileExistsError: something has that name, be it the same file.
            OSError: it was not renamed; across volumes with `winerror` 17.
        """
        windows_acts.move(windows_acts.at(source_dir, source), windows_acts.at(target_dir, target))

    def exchange(
        a: bytes,
        b: bytes,
        *,
        a_dir: int | None = None,  # noqa: ARG001
        b_dir: int | None = None,  # noqa: ARG001
    ) -> None:
        """Raise OSError: Windows does not exchange two names."""
        raise OSError(errno.ENOTSUP, "Windows cannot exchange two names in one step", a, None, b)

    def sync_folder(folder: bytes | int) -> bool:  # noqa: ARG001
        """Return False: Windows writes names to the disk by itself, and offers no call for it to ordinary users."""
        return False

else:
    if sys.platform == "darwin":
        _CALL, _NO_REPLACE, _EXCHANGE = "renameatx_np", 4, 2  # RENAME_EXCL, RENAME_SWAP of sys/stdio.h
        _HERE = -2  # AT_FDCWD of sys/fcntl.h
    else:
        _CALL, _NO_REPLACE, _EXCHANGE = "renameat2", 1, 2  # RENAME_NOREPLACE, RENAME_EXCHANGE of linux/fs.h
        _HERE = -100  # AT_FDCWD of linux/fcntl.h

    _CLAIM = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

    def rename_no_replace(
        source: bytes,
        target: bytes,
        *,
        source_dir: int | None = None,
        target_dir: int | None = None,
        second: bytes = b"",
    ) -> None:
        """Give a file another name on its file system; never replaces anything.

        A kill can leave both names, and in the ways round a missing call the name `second` or an empty target; the
        content is always under at least one of them.  An empty target is ours only while an empty file of the name
        `second` says so, which is made a moment before it.

        Args:
            source: its path, or its name in `source_dir`.
            target: the new one, likewise.
            source_dir: an open folder.
            target_dir: likewise.
            second: a name in the source's folder that is the caller's, for a moment; drawn if none is given.

        Raises:
            FileExistsError: something has that name, be it the same file.
            OSError: it was not renamed; EXDEV across file systems and mounts.
        """
        try:
            _rename_with(_NO_REPLACE, source, target, source_dir, target_dir)
        except OSError as error:
            if error.errno not in NOT_OFFERED:
                raise
        else:
            return
        try:
            aside = os.path.join(os.path.dirname(source), second or temporary_name())
            _rename_by_link(source, target, aside, source_dir, target_dir)
        except OSError as error:
            if error.errno not in _NO_LINK or isinstance(error, _Swapped):
                raise
        else:
            return
        _rename_by_claim(source, target, second, source_dir, target_dir)

    def exchange(a: bytes, b: bytes, *, a_dir: int | None = None, b_dir: int | None = None) -> None:
        """Give two files each other's names in one step.

        Raises:
            OSError: nothing was done; one of `NOT_OFFERED` where the file system never does it.
        """
        _rename_with(_EXCHANGE, a, b, a_dir, b_dir)

    def sync_folder(folder: bytes | int) -> bool:
        """Have the names of a folder written to the disk; return whether its file system offers that.

        Raises:
            OSError: the folder cannot be opened, or writing failed.
        """
        if isinstance(folder, bytes):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                return sync_folder(descriptor)
            finally:
                os.close(descriptor)
        try:
            os.fsync(folder)
        except OSError as error:
            if error.errno not in NOT_OFFERED:
                raise
            return False
        return True

    class _Swapped(OSError):  # noqa: N818 - what happened, not a kind of failure of ours
        """Another file took the source's name meanwhile: no other way may be tried."""

    @functools.cache
    def _rename() -> object:
        """Return the C library's call, which Python's `os` does not offer; None where the library is too old."""
        import ctypes

        call = getattr(ctypes.CDLL(None, use_errno=True), _CALL, None)
        if call is not None:
            call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
            call.restype = ctypes.c_int
        return call

    def _rename_with(flag: int, a: bytes, b: bytes, a_dir: int | None, b_dir: int | None) -> None:
        import ctypes

        call = _rename()
        if b"\0" in a or b"\0" in b:  # C would see only what stands before it
            raise OSError(errno.ENOENT, "no name has a zero byte in it", a, None, b)
        code = errno.ENOSYS
        if callable(call):
            if call(_HERE if a_dir is None else a_dir, a, _HERE if b_dir is None else b_dir, b, flag) == 0:
                return
            code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), a, None, b)

    def _rename_by_link(
        source: bytes, target: bytes, aside: bytes, source_dir: int | None, target_dir: int | None
    ) -> None:
        """Rename by a second name, which a file system refuses to put over another.

        The first name is not unlinked where it stands: a file that took it a moment ago would be lost.
        """
        os.link(source, target, src_dir_fd=source_dir, dst_dir_fd=target_dir, follow_symlinks=False)
        linked = os.stat(target, dir_fd=target_dir, follow_symlinks=False)
        if not os.path.samestat(linked, os.stat(source, dir_fd=source_dir, follow_symlinks=False)):
            os.unlink(target, dir_fd=target_dir)  # numbers by name (sshfs): links cannot be told there
            raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), source, None, target)
        try:
            os.rename(source, aside, src_dir_fd=source_dir, dst_dir_fd=source_dir)
        except OSError:
            if os.stat(target, dir_fd=target_dir, follow_symlinks=False).st_nlink > 1:  # the name that we gave it
                os.unlink(target, dir_fd=target_dir)
            raise
        if os.path.samestat(linked, os.stat(aside, dir_fd=source_dir, follow_symlinks=False)):
            os.unlink(aside, dir_fd=source_dir)
            return
        os.link(aside, source, src_dir_fd=source_dir, dst_dir_fd=source_dir, follow_symlinks=False)
        os.unlink(aside, dir_fd=source_dir)
        raise _Swapped(errno.EAGAIN, "another file took its name while it was being renamed", source, None, target)

    def _rename_by_claim(
        source: bytes, target: bytes, second: bytes, source_dir: int | None, target_dir: int | None
    ) -> None:
        """Rename over an empty file that this very call created under the new name."""
        os.stat(source, dir_fd=source_dir, follow_symlinks=False)  # else a name would be made for nothing
        note = os.path.join(os.path.dirname(source), second) if second else b""
        if note:
            os.close(os.open(note, _CLAIM, 0o600, dir_fd=source_dir))
        try:
            _claim(source, target, source_dir, target_dir)
        except OSError:
            if note:
                os.unlink(note, dir_fd=source_dir)
            raise
        if note:
            os.unlink(note, dir_fd=source_dir)

    def _claim(source: bytes, target: bytes, source_dir: int | None, target_dir: int | None) -> None:
        claim = os.open(target, _CLAIM, 0o600, dir_fd=target_dir)
        try:
            if _is_still_empty(claim, target, target_dir):
                try:
                    os.rename(source, target, src_dir_fd=source_dir, dst_dir_fd=target_dir)
                except OSError:
                    if _is_still_empty(claim, target, target_dir):
                        os.unlink(target, dir_fd=target_dir)
                    raise
                return
        finally:
            os.close(claim)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), source, None, target)

    def _is_still_empty(claim: int, target: bytes, target_dir: int | None) -> bool:
        ours, there = os.fstat(claim), os.stat(target, dir_fd=target_dir, follow_symlinks=False)
        return os.path.samestat(ours, there) and stat.S_ISREG(there.st_mode) and there.st_size == 0
