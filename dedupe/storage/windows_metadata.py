"""Attributes, times, access lists and alternate streams of a file, as Windows gives them.  Elsewhere nobody asks.

Alternate streams are listed, not read: two files that have any count as different.
"""

from __future__ import annotations

import ctypes
import msvcrt
import sys
from ctypes import wintypes

from dedupe.storage import windows, windows_acts

assert sys.platform == "win32"

_OWNER_GROUP_ACCESS = 1 | 2 | 4  # OWNER_, GROUP_, DACL_SECURITY_INFORMATION
_BASIC = 0  # FileBasicInfo
_EPOCH = 116_444_736_000_000_000  # 1970 as a FILETIME
_NO_MORE = 38  # ERROR_HANDLE_EOF
_NO_STREAMS = frozenset({1, 50, 87, 120})  # a file system without them: invalid function, not supported, parameter


class _BasicInfo(ctypes.Structure):
    """FILE_BASIC_INFO; a time of 0 stays as it is."""

    _fields_ = (
        ("created", ctypes.c_int64),
        ("accessed", ctypes.c_int64),
        ("written", ctypes.c_int64),
        ("changed", ctypes.c_int64),
        ("attributes", wintypes.DWORD),
    )


class _Stream(ctypes.Structure):
    """WIN32_FIND_STREAM_DATA."""

    _fields_ = (("size", ctypes.c_int64), ("name", wintypes.WCHAR * 296))


_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_SetInformation = _kernel32.SetFileInformationByHandle
_SetInformation.argtypes = (wintypes.HANDLE, ctypes.c_int, wintypes.LPVOID, wintypes.DWORD)
_GetSecurity = ctypes.WinDLL("advapi32", use_last_error=True).GetFileSecurityW
_GetSecurity.argtypes = (
    wintypes.LPCWSTR,
    wintypes.DWORD,
    wintypes.LPVOID,
    wintypes.DWORD,
    ctypes.POINTER(wintypes.DWORD),
)
_FindFirst = _kernel32.FindFirstStreamW
_FindFirst.argtypes = (wintypes.LPCWSTR, ctypes.c_int, wintypes.LPVOID, wintypes.DWORD)
_FindFirst.restype = wintypes.HANDLE
_FindNext = _kernel32.FindNextStreamW
_FindNext.argtypes = (wintypes.HANDLE, wintypes.LPVOID)
_FindClose = _kernel32.FindClose
_FindClose.argtypes = (wintypes.HANDLE,)
_INVALID = wintypes.HANDLE(-1).value


def attributes(file: int | bytes) -> int:
    """Return the FILE_ATTRIBUTE_... bits."""
    return (windows.status_of(file) if isinstance(file, int) else windows.status(file)).attributes


def descriptor(file: int | bytes) -> bytes:
    """Return owner, group and access list as one self-relative descriptor.

    Raises:
        OSError: with `winerror` set.
    """
    path, needed = _path(file), wintypes.DWORD()
    _GetSecurity(windows.wide(path), _OWNER_GROUP_ACCESS, None, 0, ctypes.byref(needed))
    buffer = ctypes.create_string_buffer(needed.value)
    if not _GetSecurity(windows.wide(path), _OWNER_GROUP_ACCESS, buffer, len(buffer), ctypes.byref(needed)):
        raise windows.error_of(ctypes.get_last_error(), path)
    return buffer.raw


def streams(file: int | bytes) -> tuple[str, ...]:
    """Return the names of a file's alternate streams; none where the file system has none.

    Raises:
        OSError: with `winerror` set.
    """
    path, data = _path(file), _Stream()
    handle = _FindFirst(windows.wide(path), 0, ctypes.byref(data), 0)
    if handle == _INVALID:
        code = ctypes.get_last_error()
        if code == _NO_MORE or code in _NO_STREAMS:
            return ()
        raise windows.error_of(code, path)
    names = [data.name]
    try:
        while _FindNext(handle, ctypes.byref(data)):
            names.append(data.name)
    finally:
        _FindClose(handle)
    return tuple(name for name in names if name != "::$DATA")  # its own content


def set_basic(file: int, accessed_ns: int, modified_ns: int, bits: int) -> None:
    """Give an open file times and attributes.

    Raises:
        OSError: with `winerror` set.
    """
    basic = _BasicInfo(0, accessed_ns // 100 + _EPOCH, modified_ns // 100 + _EPOCH, 0, bits or 0x80)  # _NORMAL
    if not _SetInformation(msvcrt.get_osfhandle(file), _BASIC, ctypes.byref(basic), ctypes.sizeof(basic)):
        raise windows.error_of(ctypes.get_last_error(), None)


def _path(file: int | bytes) -> bytes:
    return windows_acts.path_of(file) if isinstance(file, int) else file
