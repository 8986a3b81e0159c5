"""How macOS tells volumes: by the UUID of a volume, or by its server.  Opens no file; other systems get host ids.

Layouts are those of sys/mount.h (struct statfs with 64-bit inode numbers) and of man 2 getattrlist.  It was written by
these, without a Mac to run it on: where a call fails or answers oddly, a volume is known on this machine only.
"""

from __future__ import annotations

import os
import struct
import sys
from functools import cache
from typing import TYPE_CHECKING

from dedupe.storage import file_systems
from dedupe.storage.volume import Mount, Volume, as_base, by_machine, by_share, by_uuid, host

if TYPE_CHECKING:
    import ctypes

_STATFS = struct.Struct("=72x16s1024s1024s32x")  # f_fstypename, f_mntonname, f_mntfromname
_ATTRIBUTES = struct.Struct("=HHIIIII")  # struct attrlist: count, reserved, common, volume, folder, file, fork
_BITMAP_COUNT, _VOLUME_INFO, _VOLUME_UUID = 5, 0x8000_0000, 0x0004_0000  # ATTR_BIT_MAP_COUNT, ATTR_VOL_INFO, _UUID
_NO_WAIT = 2  # MNT_NOWAIT: do not ask servers
_KINDS = {"msdos": "vfat", "cd9660": "iso9660", "macfuse": "fuse", "osxfuse": "fuse"}  # as Linux calls them
_SERVED = frozenset({"afpfs", "nfs", "webdav"})


class MacVolumes:
    """A system with `statfs`, or with nothing but `stat`."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, int], Volume] = {}

    def locate(self, folder: bytes, device: int) -> Mount:
        """Return where an absolute folder lies."""
        real = os.path.realpath(folder, strict=True)
        prefix = os.path.join(folder, b"")
        kind, point, source = _statfs(real) or ("", _point(real, device), b"")
        if (point, device) not in self._known:
            self._known[point, device] = _look(kind, point, source, device)
        volume = self._known[point, device]
        linked = os.path.join(real, b"") != prefix
        # Firmlinks show folders of /System/Volumes/Data at the same place below the root.
        inside = point == b"/" or os.path.join(real, b"").startswith(os.path.join(point, b""))
        return Mount(volume, prefix, as_base(real[len(point) :] if inside else real), linked)

    def points(self) -> frozenset[bytes]:
        """Return the folders where a mount begins."""
        return frozenset(_points())

    def mounted(self, volume_id: str) -> list[Mount]:
        """Return where a volume can be reached now."""
        found = []
        for point in _points():
            try:
                mount = self.locate(point, os.stat(point).st_dev)
            except OSError:
                continue
            if mount.volume.id == volume_id:
                found.append(mount)
        return found

    def forget(self) -> None:
        """Look anew from now on."""
        self._known.clear()


def _look(kind: str, point: bytes, source: bytes, device: int) -> Volume:
    kind = _KINDS.get(kind, kind)
    name, instance = "", f"dev:{device}"
    if kind == "smbfs":
        name = instance = by_share("//" + _text(source).lstrip("/").rpartition("@")[2])  # //user@server/share
    elif kind in _SERVED:
        name = instance = f"export:{kind}:{_text(source)}"
    elif sys.platform == "darwin":
        name = by_uuid(_uuid(point))
    made_up = kind != "smbfs" and file_systems.numbers_made_up(kind)  # Linux's old driver of that name is another
    unkept = kind != "smbfs" and file_systems.change_time_unkept(kind)
    return Volume(
        id=name or by_machine(kind or "unknown", _text(source), _text(point)),
        instance=instance,
        host=host(),
        device=device,
        file_system=kind,
        label=os.path.basename(_text(point)) if point.startswith(b"/Volumes/") else "",
        mount_point=point,
        stable_inodes=bool(kind) and not made_up,
        keeps_change_time=not unkept,
    )


def _point(real: bytes, device: int) -> bytes:
    """Return the folder where a folder's file system begins, found by `stat` alone."""
    while real != b"/" and os.stat(os.path.dirname(real)).st_dev == device:
        real = os.path.dirname(real)
    return real


def _unpacked(answer: bytes) -> tuple[str, bytes, bytes]:
    kind, point, source = (field.partition(b"\0")[0] for field in _STATFS.unpack(answer))
    return _text(kind), point, source


def _text(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")


if sys.platform == "darwin":

    def _statfs(path: bytes) -> tuple[str, bytes, bytes] | None:
        """Return kind, mount point and source of the file system of a path; None if the answer is of no known form."""
        answer = bytearray(_STATFS.size)
        if _call("statfs")(path, _buffer(answer)):
            return None
        found = _unpacked(bytes(answer))
        return found if found[1].startswith(b"/") else None

    def _points() -> list[bytes]:
        room = bytearray(_STATFS.size * 1024)
        count = _call("getfsstat")(_buffer(room), len(room), _NO_WAIT)
        found = (bytes(room[at : at + _STATFS.size]) for at in range(0, max(count, 0) * _STATFS.size, _STATFS.size))
        return [point for _, point, _ in map(_unpacked, found) if point.startswith(b"/")]

    def _uuid(point: bytes) -> bytes:
        asked = bytearray(_ATTRIBUTES.pack(_BITMAP_COUNT, 0, 0, _VOLUME_INFO | _VOLUME_UUID, 0, 0, 0))
        answer = bytearray(4 + 16)  # its length, and the UUID
        import ctypes

        failed = _call("getattrlist")(point, _buffer(asked), _buffer(answer), ctypes.c_size_t(len(answer)), 0)
        return b"" if failed or struct.unpack_from("=I", answer)[0] != len(answer) else bytes(answer[4:])

    def _buffer(room: bytearray) -> ctypes.Array[ctypes.c_char]:
        import ctypes

        return (ctypes.c_char * len(room)).from_buffer(room)

    @cache
    def _call(name: str) -> ctypes._NamedFuncPointer:
        """Return a call of the system; Intel's has an older form under the plain name."""
        import ctypes

        system = ctypes.CDLL(None)
        try:
            return system[f"{name}$INODE64"]
        except AttributeError:
            return system[name]

else:

    def _statfs(path: bytes) -> tuple[str, bytes, bytes] | None:  # noqa: ARG001
        return None

    def _points() -> list[bytes]:
        return []
