"""How Linux tells volumes: by mountinfo, by what a file system says of itself, by udev.  Opens folders, reads no file.

What a server or a program behind FUSE serves is never asked: one that has died would never answer.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache

from dedupe.storage import block_devices, file_systems, linux_ioctl, mountinfo
from dedupe.storage.volume import Mount, Volume, as_base, boot, by_machine, by_serial, by_share, by_uuid, host

assert sys.platform == "linux"

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_FAT_SERIAL = re.compile(r"[0-9A-F]{4}-[0-9A-F]{4}")
_NTFS_SERIAL = re.compile(r"[0-9A-F]{16}")
_FSID_KEPT = frozenset({"ext2", "ext3", "ext4", "zfs"})  # statvfs tells what the disk has: the UUID folded, a GUID
# An overlay is what its layers are.  One that can has a UUID besides (Documentation/filesystems/overlayfs.rst).
_LAYERS = re.compile(rb"(?:^|(?<!\\),)((?:lowerdir|upperdir|datadir)[^=]*=(?:\\.|[^,\\])*)")


class LinuxVolumes:
    """Linux, asked once for each file system until it is to look anew."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bytes, int], Volume] = {}

    def locate(self, folder: bytes, device: int) -> Mount:
        """Return where an absolute folder lies."""
        real = os.path.realpath(folder, strict=True)
        prefix = os.path.join(folder, b"")
        linked = os.path.join(real, b"") != prefix
        entry = self._entry(real, device)
        if entry is None:
            volume, base = _unlisted(real, device)
            return Mount(volume, prefix, base, linked)
        return Mount(self._volume(entry, device, real), prefix, _base(entry, real), linked)

    def points(self) -> frozenset[bytes]:
        """Return the folders where a mount begins."""
        return mountinfo.table().points

    def mounted(self, volume_id: str) -> list[Mount]:
        """Return where a volume can be reached now."""
        found = []
        for entry in mountinfo.table().visible():
            if file_systems.is_pseudo(entry.kind):
                continue
            try:
                device = os.stat(entry.point).st_dev if entry.kind == b"btrfs" else entry.device
                volume = self._volume(entry, device, entry.point)
                if volume.id == volume_id:
                    found.append(Mount(volume, os.path.join(entry.point, b""), _base(entry, entry.point)))
            except OSError:  # gone meanwhile, or not for this user
                continue
        return found

    def forget(self) -> None:
        """Look anew from now on."""
        mountinfo.forget()
        self._known.clear()

    def _entry(self, real: bytes, device: int) -> mountinfo.Entry | None:
        """Return the mount of a folder; the list is read again where it has another number for it: it may be older."""
        entry = mountinfo.table().find(real)
        if entry is None or (entry.device != device and entry.kind != b"btrfs"):
            self.forget()
            entry = mountinfo.table().find(real)
        return entry

    def _volume(self, entry: mountinfo.Entry, device: int, folder: bytes) -> Volume:
        key = (entry.device, entry.source, device)
        if key not in self._known:
            self._known[key] = _look(entry, device, folder)
        return self._known[key]


def _look(entry: mountinfo.Entry, device: int, folder: bytes) -> Volume:
    """Return the volume of a mount, found by what its kind of file system has to tell."""
    kind = _text(entry.kind)
    point = _main_point(entry)
    name, label, reliable = "", "", True
    if kind in file_systems.MEMORY:
        name = f"boot:{boot()}:{kind}:{os.statvfs(entry.point).f_fsid or entry.device:x}"
    elif kind == "overlay":
        name = _of_layers(entry)
    elif not os.major(entry.device) and (file_systems.is_network(entry.kind) or file_systems.is_fuse(kind)):
        name = _of_server(kind, _text(entry.source))
    else:
        kind, name, label = _of_disk(entry, kind, folder)
    # what a name stands for is one thing, however often it is mounted; but of an image there may be clones
    instance = name if name and not name.startswith(("uuid:", "serial:", "fsid:")) else _instance(entry)
    if not name:
        name, reliable = _of_words(entry, kind, point), False
    if device != entry.device and kind != "btrfs":  # such as a snapshot that ceph shows in its folder .snap
        instance, reliable = f"{instance} {_device(device)}", False
    made_up = file_systems.numbers_made_up(kind, server_numbers=entry.option(b"serverino") is not None)
    return Volume(
        id=name,
        instance=instance,
        host=host(),
        device=device,
        file_system=_text(entry.kind),
        label=label,
        mount_point=point,
        stable_inodes=reliable and not made_up,
        keeps_change_time=not file_systems.change_time_unkept(kind),
    )


def _base(entry: mountinfo.Entry, real: bytes) -> bytes:
    """Return where in its file system a folder lies; in its subvolume, on btrfs.

    A subvolume may have been mounted, or lie in another one that has.  The source of a bind mount that was deleted has
    `//deleted` at its end, which no other folder has.
    """
    rest = real[len(entry.point) :]
    if entry.kind != b"btrfs":
        return as_base(entry.root, rest)
    folder = real
    while not linux_ioctl.is_subvolume_root(folder):
        if folder == entry.point:
            begins = mountinfo.unescaped(entry.options.partition(b",subvol=")[2]).rstrip(b"/")  # always the last one
            inside = entry.root.startswith(begins + b"/")
            return as_base(entry.root[len(begins) :] if inside else entry.root, rest)
        folder = os.path.dirname(folder)
    return as_base(real[len(folder) :])


def _main_point(entry: mountinfo.Entry) -> bytes:
    """Return where the most of a file system is mounted: the same for all mounts of one."""
    table = mountinfo.table()
    same = [e for e in table.entries if (e.device, e.source) == (entry.device, entry.source)]
    if entry.kind == b"btrfs":
        same = [e for e in same if e.options == entry.options]  # which name the subvolume
    shown = [e for e in same if table.find(e.point) is e]
    return min(shown, key=lambda e: len(e.root), default=entry).point


def _of_disk(entry: mountinfo.Entry, kind: str, folder: bytes) -> tuple[str, str, str]:
    """Return the true kind, the id and the label of a file system that lies on a device; empty what is unknown."""
    number, label, part = b"", "", 0
    for path in (entry.point, folder):
        try:
            descriptor = linux_ioctl.open_folder(path if kind != "btrfs" else folder)
        except OSError:  # not for this user
            continue
        try:
            if kind != "btrfs" and os.fstat(descriptor).st_dev != entry.device:  # unmounted since the list was read
                continue
            number, label = linux_ioctl.uuid(descriptor, kind), linux_ioctl.label(descriptor)
            part = linux_ioctl.subvolume(descriptor) if kind == "btrfs" else 0
            break
        finally:
            os.close(descriptor)
    told = block_devices.udev_properties(entry.device)
    if kind == "fuseblk":  # ntfs-3g, or the exFAT of older systems
        kind = told.get("ID_FS_TYPE", kind)
    label = label or told.get("ID_FS_LABEL", "") or block_devices.linked_name("by-label", entry.device)
    name = _by_number(number, kind)
    if kind == "btrfs":  # without its subvolume, the number names nothing: files of several have the same inodes
        return kind, f"{name}:{part}" if name and part else "", label
    text = "" if name else told.get("ID_FS_UUID") or block_devices.linked_name("by-uuid", entry.device)
    name = name or _by_text(text, kind)
    if not name and kind in _FSID_KEPT:
        fsid = os.statvfs(entry.point).f_fsid
        name = f"fsid:{kind}:{fsid:016x}" if fsid else ""
    return kind, name, label


def _by_number(number: bytes, kind: str) -> str:
    if len(number) == 16:
        return by_uuid(number)
    return by_serial(int.from_bytes(number, sys.byteorder), file_systems.family(kind)) if number else ""


def _by_text(text: str, kind: str) -> str:
    """Return the id for what udev calls a UUID: serial numbers, and the dates of discs, among others."""
    if _FAT_SERIAL.fullmatch(text) or _NTFS_SERIAL.fullmatch(text):
        return by_serial(int(text.replace("-", ""), 16), file_systems.family(kind))
    if _UUID.fullmatch(text.lower()):
        return by_uuid(bytes.fromhex(text.replace("-", "")))
    return f"uuid:{kind}:{text}" if text else ""


def _of_layers(entry: mountinfo.Entry) -> str:
    import hashlib

    try:
        descriptor = linux_ioctl.open_folder(entry.point)
    except OSError:
        number = b""
    else:
        number = linux_ioctl.uuid(descriptor, "overlay")
        os.close(descriptor)
    layers = b"\0".join(_LAYERS.findall(entry.options))
    absolute = all(re.search(rb"=/", layer) for layer in _LAYERS.findall(entry.options))
    if not number and not (layers and absolute):  # relative ones may lie anywhere
        return ""
    return by_machine("overlay", hashlib.blake2b(layers + b"\0" + number, digest_size=16).hexdigest())


def _of_server(kind: str, source: str) -> str:
    """Return the id for what a server exports; nothing where the source is a word that any mount may have."""
    if kind in ("cifs", "smb2", "smb3") and source.startswith("//"):
        return by_share(source)
    if not any(mark in source for mark in ":/@#"):
        return ""
    if kind in file_systems.SERVED:
        return f"export:{'nfs' if kind == 'nfs4' else kind}:{source}"
    return by_machine(kind, source)


def _of_words(entry: mountinfo.Entry, kind: str, point: bytes) -> str:
    """Return the id of last resort: what is mounted, and where unless that names something."""
    number = block_devices.number_of(entry.source)
    file = block_devices.backing_file(number) if number is not None else None
    if file:
        return by_machine(kind, *map(str, file))
    source = _text(entry.source)
    return by_machine(kind, source) if source.startswith("/") else by_machine(kind, source, _text(point))


def _instance(entry: mountinfo.Entry) -> str:
    """Return what tells clones apart: the device; the file of a loop device, as one file may have several of them."""
    number = entry.device if os.major(entry.device) else block_devices.number_of(entry.source)
    file = block_devices.backing_file(number) if number is not None else None
    if file:
        try:
            seen = os.stat(file[0])
        except OSError:  # deleted, or in another name space
            pass
        else:
            return f"file:{seen.st_dev}:{seen.st_ino}:{file[1]}"
    return _device(entry.device if number is None else number)


def _device(number: int) -> str:
    return f"dev:{os.major(number)}:{os.minor(number)}"


def _unlisted(real: bytes, device: int) -> tuple[Volume, bytes]:
    """Return volume and base without mountinfo: nothing tells a bind mount, so nothing is known beyond this machine."""
    point = real
    while point != b"/" and os.stat(os.path.dirname(point)).st_dev == device:
        point = os.path.dirname(point)
    name = by_machine("unknown", _text(point))
    volume = Volume(name, _device(device), host(), device, mount_point=point, stable_inodes=False)
    return volume, as_base(real[len(point) :])


@cache
def _text(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")
