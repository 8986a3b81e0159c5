r"""How Windows tells volumes: by serial number, by share, and by the GUID of this installation.  Reads no file.

https://learn.microsoft.com/windows/win32/fileio/volume-management-functions.  Only imported on Windows.  Wine answers
less than Windows does: what it leaves open is filled by the next best answer.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from ctypes import wintypes

from dedupe.storage import file_systems, windows
from dedupe.storage.volume import Mount, Volume, as_base, by_machine, by_serial, by_share, host
from dedupe.storage.windows_paths import extended, plain

assert sys.platform == "win32"

_ROOM = 1 << 15  # characters that a path of Windows can have at most
_GUID_ROOM = 64  # characters, where 50 are needed
_INVALID_HANDLE = wintypes.HANDLE(-1).value
_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_VolumePath = _kernel32.GetVolumePathNameW
_VolumePath.argtypes = (wintypes.LPCWSTR, wintypes.LPWSTR, wintypes.DWORD)
_VolumeName = _kernel32.GetVolumeNameForVolumeMountPointW
_VolumeName.argtypes = (wintypes.LPCWSTR, wintypes.LPWSTR, wintypes.DWORD)
_VolumeInformation = _kernel32.GetVolumeInformationW
_VolumeInformation.argtypes = (
    wintypes.LPCWSTR,
    wintypes.LPWSTR,
    wintypes.DWORD,
    *(ctypes.POINTER(wintypes.DWORD),) * 3,  # serial number, length of names, flags
    wintypes.LPWSTR,
    wintypes.DWORD,
)
_FirstVolume = _kernel32.FindFirstVolumeW
_FirstVolume.argtypes = (wintypes.LPWSTR, wintypes.DWORD)
_FirstVolume.restype = wintypes.HANDLE
_NextVolume = _kernel32.FindNextVolumeW
_NextVolume.argtypes = (wintypes.HANDLE, wintypes.LPWSTR, wintypes.DWORD)
_Close = _kernel32.FindVolumeClose
_Close.argtypes = (wintypes.HANDLE,)
_PathNames = _kernel32.GetVolumePathNamesForVolumeNameW
_PathNames.argtypes = (wintypes.LPCWSTR, ctypes.c_void_p, wintypes.DWORD, ctypes.POINTER(wintypes.DWORD))


class WindowsVolumes:
    """Windows, asked once for each volume until it is to look anew."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, int], Volume] = {}

    def locate(self, folder: bytes, device: int) -> Mount:
        """Return where an absolute folder lies; drives made by SUBST and mounted folders are seen through."""
        windows.status(folder, follow=True)  # raises where it is not there any more
        real = os.path.realpath(folder)
        prefix = os.path.join(folder, b"")
        linked = os.path.normcase(plain(os.path.join(real, b""))) != os.path.normcase(plain(prefix))
        top = _top(real)
        if not os.path.join(real, b"").startswith(top):  # a name that Windows spells otherwise
            top = os.path.join(os.path.splitdrive(real)[0], b"")
        return Mount(self._volume(top, device), prefix, _base(real, top), linked)

    def points(self) -> frozenset[bytes]:
        """Return none: what is mounted in a folder is a reparse point, which the walk meets as such."""
        return frozenset()

    def mounted(self, volume_id: str) -> list[Mount]:
        """Return where a volume can be reached now."""
        found = []
        for point in _shares(volume_id) or _local_points():
            top = extended(point)
            try:
                volume = self._volume(top, windows.status(top, follow=True).device)
            except OSError:  # an empty drive, a server that is away
                continue
            if volume.id == volume_id:
                found.append(Mount(volume, top, b""))
        return found

    def forget(self) -> None:
        """Look anew from now on."""
        self._known.clear()

    def _volume(self, top: bytes, device: int) -> Volume:
        if (top, device) not in self._known:
            self._known[top, device] = _look(top, device)
        return self._known[top, device]


def _look(top: bytes, device: int) -> Volume:
    """Return the volume that begins at a folder, whose name ends in a backslash."""
    point = plain(top)
    label, file_system = _information(point)
    if point.startswith(b"\\\\") and not point.startswith((b"\\\\?\\", b"\\\\.\\")):
        name = instance = by_share(_text(point))
    else:
        name = by_serial(_serial(top) or device, file_systems.family(file_system))
        instance = _volume_name(point) or f"drive:{_text(point).lower()}"
        name = name or by_machine(file_system, instance)
    return Volume(
        id=name,
        instance=instance,
        host=host(),
        device=device,
        file_system=file_system,
        label=label,
        mount_point=point,
        stable_inodes=not file_systems.numbers_made_up(file_system),
        keeps_change_time=not file_systems.change_time_unkept(file_system),
    )


def _base(real: bytes, top: bytes) -> bytes:
    return as_base(os.path.join(real, b"")[len(top) :].replace(b"\\", b"/"))


def _top(real: bytes) -> bytes:
    r"""Return the folder where a path's volume begins, with a backslash at its end."""
    found = ctypes.create_unicode_buffer(_ROOM)
    if not _VolumePath(os.fsdecode(real), found, _ROOM):
        return os.path.join(os.path.splitdrive(real)[0], b"")
    top = os.fsencode(found.value)
    return extended(top) if real.startswith(b"\\\\?\\") else plain(top)


def _serial(top: bytes) -> int:
    try:
        return windows.status(top, follow=True).device
    except OSError:
        return 0


def _volume_name(point: bytes) -> str:
    r"""Return the name `\\?\Volume{GUID}\` by which this installation alone knows a volume, nothing if it has none."""
    name = ctypes.create_unicode_buffer(_GUID_ROOM)
    return name.value.lower() if _VolumeName(os.fsdecode(point), name, _GUID_ROOM) else ""


def _information(point: bytes) -> tuple[str, str]:
    """Return label and kind of file system; empty what Windows does not tell."""
    label, kind = ctypes.create_unicode_buffer(261), ctypes.create_unicode_buffer(261)
    if not _VolumeInformation(os.fsdecode(point), label, 261, None, None, None, kind, 261):
        return "", ""
    return label.value, kind.value


def _shares(volume_id: str) -> list[bytes]:
    """Return the share that an id names, which needs no drive letter."""
    server = by_share("")
    return [os.fsencode(volume_id[len(server) :] + "\\")] if volume_id.startswith(server) else []


def _local_points() -> Iterator[bytes]:
    """Yield the drives and folders where this machine's volumes are mounted."""
    name = ctypes.create_unicode_buffer(_GUID_ROOM)
    search = _FirstVolume(name, _GUID_ROOM)
    if search == _INVALID_HANDLE:
        return
    try:
        more = True
        while more:
            names = (ctypes.c_wchar * _ROOM)()
            if _PathNames(name.value, names, _ROOM, ctypes.byref(wintypes.DWORD())):
                yield from map(os.fsencode, filter(None, "".join(names).split("\0")))
            more = bool(_NextVolume(search, name, _GUID_ROOM))
    finally:
        _Close(search)


def _text(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")
