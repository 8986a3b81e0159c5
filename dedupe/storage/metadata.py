"""What a file has beside its content: rights, owner, times, extended attributes, flags.  Compares, keeps and restores.

A hard link gives a name all of the keeper's, and an undone link must give it back.  What a system does not let Python
read counts as different: who cannot look must not merge.
"""

from __future__ import annotations

import base64
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

if sys.platform == "linux":
    from dedupe.storage import linux_flags
if sys.platform == "win32":
    from dedupe.storage import windows_metadata

# Linux's inode flags of linux/fs.h that a user or the system gives a file, and that a link would merge.
_FLAGS = {
    0x1: "secure deletion",
    0x2: "undeletable",
    0x4: "compressed",
    0x8: "synchronous",
    0x10: "immutable",
    0x20: "append only",
    0x40: "no dump",
    0x80: "no access time",
    0x400: "not compressed",
    0x800: "encrypted",
    0x4000: "journalled data",
    0x8000: "no tail merging",
    0x10_0000: "verity",
    0x80_0000: "no copy on write",
    0x200_0000: "direct access",
    0x2000_0000: "inherits its project",
}
# Windows' FILE_ATTRIBUTE_... bits; the archive bit is no property of the file, but a note of backup programs.
_ATTRIBUTES = {
    0x1: "read-only",
    0x2: "hidden",
    0x4: "system",
    0x100: "temporary",
    0x200: "sparse",
    0x800: "compressed",
    0x1000: "offline",
    0x2000: "not indexed",
    0x4000: "encrypted",
    0x8000: "integrity",
    0x2_0000: "no scrub",
    0x8_0000: "pinned",
    0x10_0000: "unpinned",
}
_WORDS = _ATTRIBUTES if sys.platform == "win32" else _FLAGS
_SETTABLE = 0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x20 | 0x40 | 0x80 | 0x400 | 0x4000 | 0x8000 | 0x80_0000
_RUN_AS = stat.S_ISUID | stat.S_ISGID
_ACCESS_LISTS = ("system.posix_acl_", "system.nfs4_acl", "system.richacl")


@dataclass(frozen=True)
class Metadata:
    """All that one file has beside its content.

    Attributes:
        mode: permission bits, with setuid, setgid and sticky.
        uid: owner; -1 where the system has no such numbers.
        gid: group; likewise.
        accessed_ns: last read.
        modified_ns: last write.
        flags: Linux's inode flags, Windows' attributes, BSD's flags.
        xattrs: extended attributes by name, access lists (system.posix_acl_...) among them.
        security: Windows' descriptor of owner, group and access list.
        unread: what the file has, or may have, that is not read here.

    """

    mode: int
    uid: int
    gid: int
    accessed_ns: int
    modified_ns: int
    flags: int = 0
    xattrs: dict[str, bytes] = field(default_factory=dict)
    security: bytes = b""
    unread: tuple[str, ...] = ()


if sys.platform == "win32":

    def of(file: int | bytes) -> Metadata:
        """Return the metadata of a file, open or by its path; no link is followed.

        Raises:
            OSError: it is not there, or Windows does not tell.
        """
        seen = os.fstat(file) if isinstance(file, int) else os.lstat(file)
        return Metadata(
            mode=stat.S_IMODE(seen.st_mode),
            uid=-1,
            gid=-1,
            accessed_ns=seen.st_atime_ns,
            modified_ns=seen.st_mtime_ns,
            flags=windows_metadata.attributes(file),
            security=windows_metadata.descriptor(file),
            unread=tuple(f"alternate stream {name}" for name in windows_metadata.streams(file)),
        )

    def restore(descriptor: int, metadata: Metadata) -> list[str]:
        """Give an open file the metadata that another had; return in words what could not be restored.

        Args:
            descriptor: open for reading and writing.
            metadata: of the other.
        """
        with suppress(OSError):
            windows_metadata.set_basic(
                descriptor, metadata.accessed_ns, metadata.modified_ns, metadata.flags & sum(_ATTRIBUTES)
            )
        return differences(metadata, of(descriptor), times=True)

else:

    def of(file: int | bytes) -> Metadata:
        """Return the metadata of a file, open or by its path; no symbolic link is followed.

        Raises:
            OSError: it is not there, or may not be read.
        """
        with _opened(file) as descriptor:
            seen = os.fstat(descriptor)
            flags, xattrs, unread = _further(descriptor, seen)
        return Metadata(
            mode=stat.S_IMODE(seen.st_mode),
            uid=seen.st_uid,
            gid=seen.st_gid,
            accessed_ns=seen.st_atime_ns,
            modified_ns=seen.st_mtime_ns,
            flags=flags,
            xattrs=xattrs,
            unread=unread,
        )

    def restore(descriptor: int, metadata: Metadata) -> list[str]:
        """Give an open file the metadata that another had; return in words what could not be restored.

        Whether a step failed is not asked, but what the file has afterwards.

        Args:
            descriptor: of a regular file.
            metadata: of the other.
        """
        with suppress(OSError):  # first: it takes setuid and the capabilities away
            os.fchown(descriptor, metadata.uid, metadata.gid)
        if sys.platform == "linux":
            _restore_xattrs(descriptor, metadata.xattrs)
        now = os.fstat(descriptor)
        is_theirs = (now.st_uid, now.st_gid) == (metadata.uid, metadata.gid)
        with suppress(OSError):  # a program that runs as its owner must not come to run as another
            os.fchmod(descriptor, metadata.mode if is_theirs else metadata.mode & ~_RUN_AS)
        with suppress(OSError):
            os.utime(descriptor, ns=(metadata.accessed_ns, metadata.modified_ns))
        if sys.platform == "linux":  # last: one that is immutable takes nothing more
            linux_flags.put(descriptor, metadata.flags, _SETTABLE)
        return differences(metadata, of(descriptor), times=True)

    @contextmanager
    def _opened(file: int | bytes) -> Iterator[int]:
        if isinstance(file, int):
            yield file
            return
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    if sys.platform == "linux":

        def _further(descriptor: int, _: os.stat_result) -> tuple[int, dict[str, bytes], tuple[str, ...]]:
            return linux_flags.of_open(descriptor), linux_flags.xattrs(descriptor), ()

        def _restore_xattrs(descriptor: int, wanted: dict[str, bytes]) -> None:
            now = linux_flags.xattrs(descriptor)
            for name in now.keys() - wanted.keys():  # such as an access list that its folder gave it
                with suppress(OSError):
                    os.removexattr(descriptor, name)
            for name, value in wanted.items():
                if now.get(name) != value:
                    with suppress(OSError):
                        os.setxattr(descriptor, name, value)

    else:

        def _further(_: int, seen: os.stat_result) -> tuple[int, dict[str, bytes], tuple[str, ...]]:
            return getattr(seen, "st_flags", 0), {}, ("extended attributes", "access list")


def differences(a: Metadata, b: Metadata, *, times: bool = False) -> list[str]:
    """Return in words in what two files differ beside their content; empty if a link would lose nothing.

    Args:
        a: of one file.
        b: of the other.
        times: whether the time of the last write counts.
    """
    found = [f"{kind} (not read here)" for kind in dict.fromkeys(a.unread + b.unread)]
    if a.uid != b.uid:
        found.append(f"owner ({a.uid}, {b.uid})")
    if a.gid != b.gid:
        found.append(f"group ({a.gid}, {b.gid})")
    if a.mode != b.mode:
        found.append(f"mode ({a.mode:o}, {b.mode:o})")
    if times and a.modified_ns != b.modified_ns:
        found.append("time of the last write")
    if a.security != b.security:
        found.append("owner or access list")
    different = [name for name in sorted(a.xattrs.keys() | b.xattrs.keys()) if a.xattrs.get(name) != b.xattrs.get(name)]
    if any(name.startswith(_ACCESS_LISTS) for name in different):
        found.append("access list")
    found += [f"extended attribute {_shown(name)}" for name in different if not name.startswith(_ACCESS_LISTS)]
    found += [f"flag {word}" for bit, word in _WORDS.items() if (a.flags ^ b.flags) & bit]
    return found


def flag_words(flags: int) -> list[str]:
    """Return in words what flags a file has, as `differences` names them."""
    return [word for bit, word in _WORDS.items() if flags & bit]


def to_json(metadata: Metadata) -> dict[str, Any]:
    """Return metadata as values that JSON knows, exactly: bytes in base64, names also readable."""
    return {
        "mode": metadata.mode,
        "uid": metadata.uid,
        "gid": metadata.gid,
        "accessed_ns": metadata.accessed_ns,
        "modified_ns": metadata.modified_ns,
        "flags": metadata.flags,
        "xattrs": [
            {"name": _shown(name), "name_base64": _base64(os.fsencode(name)), "value_base64": _base64(value)}
            for name, value in sorted(metadata.xattrs.items())
        ],
        "security_base64": _base64(metadata.security),
        "unread": list(metadata.unread),
    }


def from_json(record: dict[str, Any]) -> Metadata:
    """Return the metadata that `to_json` wrote.

    Raises:
        KeyError: a field is missing.
        ValueError: what should be base64 is not.
    """
    return Metadata(
        **{name: int(record[name]) for name in ("mode", "uid", "gid", "accessed_ns", "modified_ns", "flags")},
        xattrs={
            os.fsdecode(base64.b64decode(each["name_base64"], validate=True)): base64.b64decode(
                each["value_base64"], validate=True
            )
            for each in record["xattrs"]
        },
        security=base64.b64decode(record["security_base64"], validate=True),
        unread=tuple(map(str, record["unread"])),
    )


def _shown(name: str) -> str:
    return os.fsencode(name).decode(errors="backslashreplace")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
