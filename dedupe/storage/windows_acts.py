"""Opening, renaming and removing on Windows: by a folder that is held open, or by the very file that was opened.

Only for Windows.  A folder's handle pins the folder: while it is open nobody can rename or remove it or one above it,
so a path below it means the same file all the time.  Follows no junction or link on a path's last part.
"""

from __future__ import annotations

import ctypes
import errno
import msvcrt
import ntpath
import os
import sys
from ctypes import wintypes

from dedupe.storage import windows

assert sys.platform == "win32"

_READ_DATA, _DELETE = 0x8000_0000, 0x1_0000  # GENERIC_READ, DELETE
_SHARE_READ, _SHARE_WRITE, _SHARE_DELETE = 1, 2, 4
_OPEN_EXISTING = 3
_FOLDER = 0x10  # FILE_ATTRIBUTE_DIRECTORY
_BACKUP_SEMANTICS, _OPEN_REPARSE_POINT, _SEQUENTIAL_SCAN = 0x200_0000, 0x20_0000, 0x800_0000
SHARING_VIOLATION = 32
_RENAME, _DISPOSITION = 3, 4  # FileRenameInfo, FileDispositionInfo of FILE_INFO_BY_HANDLE_CLASS

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_Create = _kernel32.CreateFileW
_Create.argtypes = (
    wintypes.LPCWSTR,
    wintypes.DWORD,
    wintypes.DWORD,
    wintypes.LPVOID,
    wintypes.DWORD,
    wintypes.DWORD,
    wintypes.HANDLE,
)
_Create.restype = wintypes.HANDLE
_INVALID = wintypes.HANDLE(-1).value
_Close = _kernel32.CloseHandle
_Close.argtypes = (wintypes.HANDLE,)
_Move = _kernel32.MoveFileExW
_Move.argtypes = (wintypes.LPCWSTR, wintypes.LPCWSTR, wintypes.DWORD)
_FinalPath = _kernel32.GetFinalPathNameByHandleW
_FinalPath.argtypes = (wintypes.HANDLE, wintypes.LPWSTR, wintypes.DWORD, wintypes.DWORD)
_SetInformation = _kernel32.SetFileInformationByHandle
_SetInformation.argtypes = (wintypes.HANDLE, ctypes.c_int, wintypes.LPVOID, wintypes.DWORD)


def at(folder: int | None, name: bytes) -> bytes:
    """Return the path of a name in an open folder; without a folder, of a name that is a path."""
    return name if folder is None else ntpath.join(path_of(folder), name)


def path_of(descriptor: int) -> bytes:
    """Return the extended-length path of an open file or folder, all links followed."""
    handle = msvcrt.get_osfhandle(descriptor)
    size = 512
    while True:
        text = ctypes.create_unicode_buffer(size)
        length = _FinalPath(handle, text, size, 0)
        if not length:
            raise windows.error_of(ctypes.get_last_error(), None)
        if length < size:
            return os.fsencode(text.value)
        size = length + 1


def move(source: bytes, target: bytes) -> None:
    """Rename by name, on one volume only, and over nothing."""
    if not _Move(windows.wide(source), windows.wide(target), 0):
        raise _error(ctypes.get_last_error(), source, target)


def move_open(descriptor: int, target: bytes) -> None:
    """Rename an open file, whatever its name is by now; over nothing, and on its volume only.

    Args:
        descriptor: of `open_denying_writers(..., may_move=True)`.
        target: an extended-length path.

    Raises:
        FileExistsError: something has that name.
        OSError: with `winerror` set.
    """
    name = windows.wide(target)

    class Rename(ctypes.Structure):
        """FILE_RENAME_INFO, for a name of this length."""

        _fields_ = (
            ("replace", wintypes.DWORD),
            ("folder", wintypes.HANDLE),
            ("length", wintypes.DWORD),
            ("name", wintypes.WCHAR * (len(name) + 1)),
        )

    _set(descriptor, _RENAME, Rename(0, None, len(name) * ctypes.sizeof(wintypes.WCHAR), name), target)


def delete_open(descriptor: int) -> None:
    """Remove an open file, whatever its name is by now; the name goes when the descriptor is closed.

    Args:
        descriptor: of `open_denying_writers(..., may_move=True)`.
    """
    _set(descriptor, _DISPOSITION, ctypes.c_byte(1), None)


def open_denying_writers(path: bytes, *, may_move: bool = False) -> int:
    """Open a regular file so that while it is open nobody can open it for writing, rename or remove it.

    Args:
        path: of the file; a junction or link as its last part is refused.
        may_move: ask for the right to rename and remove it by this descriptor.

    Raises:
        OSError: with `winerror` and `filename` set, SHARING_VIOLATION if somebody writes; also for what is no regular
            file.
    """
    access = _READ_DATA | (_DELETE if may_move else 0)
    return _checked(_open(path, access, _SHARE_READ, _OPEN_REPARSE_POINT | _SEQUENTIAL_SCAN), path, folder=False)


def open_file(path: bytes) -> int:
    """Open a regular file for reading, while others may read, write, rename and remove it; no link is followed."""
    descriptor = _open(
        path, _READ_DATA, _SHARE_READ | _SHARE_WRITE | _SHARE_DELETE, _OPEN_REPARSE_POINT | _SEQUENTIAL_SCAN
    )
    return _checked(descriptor, path, folder=False)


def open_folder(path: bytes) -> int:
    """Open a folder so that while it is open nobody can rename or remove it; a junction or link is refused."""
    flags = _BACKUP_SEMANTICS | _OPEN_REPARSE_POINT
    # To ask for its attributes only would pin nothing: share modes hold for those who read, write or delete.
    descriptor = _open(path, _READ_DATA, _SHARE_READ | _SHARE_WRITE, flags)
    return _checked(descriptor, path, folder=True)


def _open(path: bytes, access: int, share: int, flags: int) -> int:
    handle = _Create(windows.wide(path), access, share, None, _OPEN_EXISTING, flags, None)
    if handle == _INVALID:
        raise windows.error_of(ctypes.get_last_error(), path)
    try:
        return msvcrt.open_osfhandle(handle, os.O_RDONLY | os.O_NOINHERIT)
    except OSError:
        _Close(handle)
        raise


def _checked(descriptor: int, path: bytes, *, folder: bool) -> int:
    """Return a descriptor of what was asked for; close that of anything else."""
    try:
        seen = windows.status_of(descriptor)
        if windows.is_junction_or_link(seen.attributes, seen.reparse_tag):
            raise OSError(errno.ELOOP, "it is a junction or a link", path)
        if bool(seen.attributes & _FOLDER) != folder:
            raise OSError(errno.EINVAL, "it is no folder" if folder else "it is no regular file", path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _set(descriptor: int, kind: int, block: ctypes.Structure | ctypes.c_byte, target: bytes | None) -> None:
    if not _SetInformation(msvcrt.get_osfhandle(descriptor), kind, ctypes.byref(block), ctypes.sizeof(block)):
        raise _error(ctypes.get_last_error(), None, target)


def _error(code: int, source: bytes | None, target: bytes | None) -> OSError:
    return OSError(0, ctypes.FormatError(code).strip(), source, code, target)
