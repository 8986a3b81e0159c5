r"""Asks Windows about a file by its own calls, and opens one without blocking other programs.

Can be imported on any system; its calls raise NotImplementedError except on Windows.  Reads no content, and takes paths
as `windows_paths.extended` makes them.  Python's own `os.stat` is not enough here: its `st_ctime` is the time of
creation, up to 3.11 its `st_ino` has 64 of the 128 bits and its `st_dev` 32 of the 64, and `os.scandir` gives neither.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn

from dedupe.storage.placeholders import is_cloud_placeholder

if TYPE_CHECKING:
    from collections.abc import Callable

DriveKind = Literal["unknown", "missing", "removable", "fixed", "remote", "cdrom", "ramdisk"]

_REPARSE_POINT = 0x400  # FILE_ATTRIBUTE_REPARSE_POINT
_NAME_SURROGATE = 0x2000_0000  # the bit that IsReparseTagNameSurrogate tests
_UNIX_EPOCH = 116_444_736_000_000_000  # 1970-01-01 as a FILETIME: 100 ns since 1601-01-01


class HandleStat(NamedTuple):
    """One file as one handle showed it.  Compare it with others of this class only, never with `os.stat`.

    Attributes:
        size: bytes.
        modified_ns: last write, nanoseconds since 1970 in UTC; 0 if the file system keeps none.
        changed_ns: last change of content, name, attributes or links (NTFS's ChangeTime); likewise.
        device: serial number of the volume, 64 bits where Windows has them.
        inode: number of the file on its volume, up to 128 bits; 0 if the file system has none.
        attributes: FILE_ATTRIBUTE_... bits.
        reparse_tag: 0 if it is no reparse point.
        nlink: number of names (hard links) of this file.

    """

    size: int
    modified_ns: int
    changed_ns: int
    device: int
    inode: int
    attributes: int
    reparse_tag: int
    nlink: int


def is_junction_or_link(attributes: int, reparse_tag: int) -> bool:
    """Return whether an entry leads to another one: a junction, a mounted volume, a symbolic link, also one of WSL's.

    Other reparse points are ordinary files, such as one that OneDrive has downloaded.
    """
    return attributes & _REPARSE_POINT != 0 and reparse_tag & _NAME_SURROGATE != 0


def unix_ns(filetime: int) -> int:
    """Return a FILETIME as nanoseconds since 1970; 0, which means "not kept", stays 0."""
    return (filetime - _UNIX_EPOCH) * 100 if filetime else 0


def known_inode(number: int, bits: int) -> int:
    """Return a file's number of `bits` bits, or 0 if all bits are set, which means that it has none."""
    return 0 if number == (1 << bits) - 1 else number


if sys.platform == "win32":
    import ctypes
    import msvcrt
    from ctypes import wintypes

    from dedupe.storage.windows_paths import plain

    class _ByHandle(ctypes.Structure):
        """BY_HANDLE_FILE_INFORMATION."""

        _fields_ = (
            ("attributes", wintypes.DWORD),
            ("times", wintypes.FILETIME * 3),
            ("volume", wintypes.DWORD),
            ("size_high", wintypes.DWORD),
            ("size_low", wintypes.DWORD),
            ("links", wintypes.DWORD),
            ("index_high", wintypes.DWORD),
            ("index_low", wintypes.DWORD),
        )

    class _Basic(ctypes.Structure):
        """FILE_BASIC_INFO."""

        _fields_ = (
            ("created", ctypes.c_int64),
            ("accessed", ctypes.c_int64),
            ("written", ctypes.c_int64),
            ("changed", ctypes.c_int64),
            ("attributes", wintypes.DWORD),
        )

    class _Tag(ctypes.Structure):
        """FILE_ATTRIBUTE_TAG_INFO."""

        _fields_ = (("attributes", wintypes.DWORD), ("tag", wintypes.DWORD))

    class _Id(ctypes.Structure):
        """FILE_ID_INFO."""

        _fields_ = (("volume", ctypes.c_uint64), ("number", ctypes.c_ubyte * 16))

    _BASIC, _TAG, _ID = 0, 9, 18  # FILE_INFO_BY_HANDLE_CLASS
    _NOT_OFFERED = frozenset({1, 50, 87, 120, 124})  # invalid function, not supported, parameter, no call, level
    _ACCESS_DENIED, _INVALID_NAME = 5, 123

    _READ_ATTRIBUTES, _GENERIC_READ = 0x80, 0x8000_0000
    _SHARE_ALL = 1 | 2 | 4  # read, write, delete
    _OPEN_EXISTING = 3
    _OPEN_REPARSE_POINT, _BACKUP_SEMANTICS, _SEQUENTIAL_SCAN = 0x20_0000, 0x200_0000, 0x800_0000
    _FILE_TYPE_DISK = 1

    _kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    _CreateFile = _kernel32.CreateFileW
    _CreateFile.argtypes = (
        wintypes.LPCWSTR,
        wintypes.DWORD,
        wintypes.DWORD,
        wintypes.LPVOID,
        wintypes.DWORD,
        wintypes.DWORD,
        wintypes.HANDLE,
    )
    _CreateFile.restype = wintypes.HANDLE
    _INVALID_HANDLE = wintypes.HANDLE(-1).value
    _CloseHandle = _kernel32.CloseHandle
    _CloseHandle.argtypes = (wintypes.HANDLE,)
    _GetFileType = _kernel32.GetFileType
    _GetFileType.argtypes = (wintypes.HANDLE,)
    _GetByHandle = _kernel32.GetFileInformationByHandle
    _GetByHandle.argtypes = (wintypes.HANDLE, ctypes.POINTER(_ByHandle))
    _GetByHandleEx = _kernel32.GetFileInformationByHandleEx
    _GetByHandleEx.argtypes = (wintypes.HANDLE, ctypes.c_int, wintypes.LPVOID, wintypes.DWORD)
    _GetVolumePathName = _kernel32.GetVolumePathNameW
    _GetVolumePathName.argtypes = (wintypes.LPCWSTR, wintypes.LPWSTR, wintypes.DWORD)
    _GetDriveType = _kernel32.GetDriveTypeW
    _GetDriveType.argtypes = (wintypes.LPCWSTR,)
    _DRIVE_KINDS: tuple[DriveKind, ...] = ("unknown", "missing", "removable", "fixed", "remote", "cdrom", "ramdisk")

    def status(path: bytes, *, follow: bool = False) -> HandleStat:
        """Return everything about a file or folder, asked through one handle, which blocks no other program.

        With `follow`, it is that of what a junction or link leads to, not of itself.

        Raises:
            OSError: with `winerror` and `filename` set.

        """
        found = _status_at(path, 0 if follow else _OPEN_REPARSE_POINT)
        if follow or not found.reparse_tag or is_junction_or_link(found.attributes, found.reparse_tag):
            return found
        if is_cloud_placeholder(found.attributes):
            return found  # to ask more could download it
        # For a file that a filter driver provides (OneDrive, deduplicated volumes), ask what programs see that read it.
        return _status_at(path, 0)

    def status_of(fd: int) -> HandleStat:
        """Return the same of an open descriptor; for a file that did not change it equals `status` of its path.

        Raises:
            OSError: with `winerror` set, or `errno` EBADF for a descriptor that is not open.

        """
        return _status(msvcrt.get_osfhandle(fd), None)

    def open_for_reading(path: bytes, *, follow: bool = False) -> int:
        """Open a file to read it from start to end, while others may write, rename and delete it.

        Returns:
            A binary descriptor that child processes do not inherit; the caller closes it with `os.close`.

        Raises:
            OSError: with `filename` set, and `winerror`; also for folders, pipes and devices.  Without `follow` also
                for links, with `errno` ELOOP.

        """
        handle = _open(path, _GENERIC_READ, _SEQUENTIAL_SCAN | (0 if follow else _OPEN_REPARSE_POINT))
        try:
            if _GetFileType(handle) != _FILE_TYPE_DISK:
                raise error_of(_ACCESS_DENIED, path)
            found = _Tag() if follow else _tag(handle, path)
            if is_junction_or_link(found.attributes, found.tag):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            if found.attributes & _REPARSE_POINT:  # a file such as OneDrive's: opened again, to have its content
                opened, handle = handle, _open(path, _GENERIC_READ, _SEQUENTIAL_SCAN)
                _CloseHandle(opened)
            return msvcrt.open_osfhandle(handle, os.O_RDONLY | os.O_NOINHERIT)
        except OSError:
            _CloseHandle(handle)
            raise

    def drive_kind(path: bytes) -> DriveKind:
        """Return the kind of drive that holds `path`, `unknown` if Windows cannot say.  Only `fixed` may be mapped."""
        if plain(path).startswith(b"\\\\") and not path.startswith(b"\\\\?\\Volume{"):
            return "remote"
        root = ctypes.create_unicode_buffer(len(path) + 2)
        if not _GetVolumePathName(wide(path), root, len(root)):
            return "unknown"
        kind: int = _GetDriveType(os.fsdecode(plain(os.fsencode(root.value))))
        return _DRIVE_KINDS[kind]

    def expose_placeholders() -> bool:
        """Have Windows show this process placeholders as what they are, and return whether it does; call it first.

        Before Windows 10 1803 there is no such call, and nothing is disguised.
        """
        try:
            set_mode = ctypes.WinDLL("ntdll").RtlSetProcessPlaceholderCompatibilityMode
        except AttributeError:
            return False
        set_mode.argtypes, set_mode.restype = (ctypes.c_byte,), ctypes.c_byte
        return bool(set_mode(2) >= 0)  # PHCM_EXPOSE_PLACEHOLDERS

    def _status_at(path: bytes, flags: int) -> HandleStat:
        handle = _open(path, _READ_ATTRIBUTES, flags | _BACKUP_SEMANTICS)
        try:
            return _status(handle, path)
        finally:
            _CloseHandle(handle)

    def _open(path: bytes, access: int, flags: int) -> int:
        handle: int = _CreateFile(wide(path), access, _SHARE_ALL, None, _OPEN_EXISTING, flags, None)
        if handle == _INVALID_HANDLE:
            raise error_of(ctypes.get_last_error(), path)
        return handle

    def _status(handle: int, path: bytes | None) -> HandleStat:
        """Return what three or four calls on one handle say together; `path` is only for the error."""
        by_handle, basic = _ByHandle(), _Basic()
        if not _GetByHandle(handle, by_handle) or not _GetByHandleEx(
            handle, _BASIC, ctypes.byref(basic), ctypes.sizeof(basic)
        ):
            raise error_of(ctypes.get_last_error(), path)
        tag = _tag(handle, path).tag if by_handle.attributes & _REPARSE_POINT else 0
        device, inode = _identity(handle, by_handle, path)
        return HandleStat(
            size=by_handle.size_high << 32 | by_handle.size_low,
            modified_ns=unix_ns(basic.written),
            changed_ns=unix_ns(basic.changed),
            device=device,
            inode=inode,
            attributes=by_handle.attributes,
            reparse_tag=tag,
            nlink=by_handle.links,
        )

    def _tag(handle: int, path: bytes | None) -> _Tag:
        found = _Tag()
        if not _GetByHandleEx(handle, _TAG, ctypes.byref(found), ctypes.sizeof(found)):
            raise error_of(ctypes.get_last_error(), path)
        return found

    def _identity(handle: int, by_handle: _ByHandle, path: bytes | None) -> tuple[int, int]:
        """Return volume and number; ReFS needs the 128 bits, FAT and old servers have only the 64."""
        wide = _Id()
        if _GetByHandleEx(handle, _ID, ctypes.byref(wide), ctypes.sizeof(wide)):
            return wide.volume, known_inode(int.from_bytes(wide.number, "little"), 128)
        code = ctypes.get_last_error()
        if code not in _NOT_OFFERED:
            raise error_of(code, path)
        return by_handle.volume, known_inode(by_handle.index_high << 32 | by_handle.index_low, 64)

    def wide(path: bytes) -> str:
        """Return a path as the calls take it."""
        if b"\0" in path:  # ctypes would refuse it as no OSError
            raise error_of(_INVALID_NAME, path)
        return os.fsdecode(path)

    def error_of(code: int, path: bytes | None) -> OSError:
        """Return the exception for an error code of Windows."""
        return OSError(0, ctypes.FormatError(code).strip(), path, code)

else:

    def _elsewhere(*_: object) -> NoReturn:
        raise NotImplementedError("dedupe.storage.windows asks Windows about files, and this system is not Windows")

    status: Callable[..., HandleStat] = _elsewhere
    status_of: Callable[[int], HandleStat] = _elsewhere
    open_for_reading: Callable[..., int] = _elsewhere
    drive_kind: Callable[[bytes], DriveKind] = _elsewhere
    expose_placeholders: Callable[[], bool] = _elsewhere
