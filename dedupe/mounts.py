"""What kind of file system lies under a path: pseudo, network or local, rotating or not.  Opens no user's file."""

from __future__ import annotations

import functools
import os
import sys

from dedupe import windows

_PSEUDO_PATHS = frozenset() if sys.platform == "win32" else frozenset({b"/proc", b"/sys", b"/dev"})
_PSEUDO_KINDS = frozenset(
    b"autofs binfmt_misc bpf cgroup cgroup2 configfs debugfs devpts devtmpfs efivarfs fusectl fuse.gvfsd-fuse "
    b"hugetlbfs mqueue nsfs proc pstore rpc_pipefs securityfs selinuxfs smackfs sysfs tracefs".split()
)
# A map over one of these can kill its reader when the server goes away, and may show stale pages.
_DISTANT_KINDS = frozenset(
    b"9p afs afpfs beegfs ceph cifs coda davfs glusterfs gfs2 lustre ncpfs nfs nfs4 ocfs2 orangefs pvfs2 smb2 smb3 "
    b"smbfs vboxsf virtiofs vmhgfs webdav".split()
)


@functools.cache
def _table() -> dict[bytes, bytes]:
    """Return mount points and their kinds of file system, from Linux's mountinfo (man 5 proc); elsewhere empty."""
    try:
        with open("/proc/self/mountinfo", "rb") as lines:
            rows = [line.split(b" ") for line in lines]
    except OSError:
        return {}
    table = {}
    for row in rows:
        point = row[4]
        for escape, plain in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
            point = point.replace(escape, plain)
        table[point] = row[row.index(b"-") + 1]
    return table


def pseudo() -> frozenset[bytes]:
    """Return the folders where a pseudo file system begins: their files are not data."""
    return _PSEUDO_PATHS | {point for point, kind in _table().items() if kind in _PSEUDO_KINDS}


def kind_of(path: bytes) -> bytes | None:
    """Return the kind of file system that an absolute path lies on, or None where the system does not say."""
    table, point = _table(), os.path.realpath(path)
    while point not in table:
        above = os.path.dirname(point)
        if above == point:
            return None
        point = above
    return table[point]


if sys.platform == "win32":

    @functools.cache
    def may_map(folder: bytes) -> bool:
        """Tell whether files of a folder may be memory-mapped: on fixed local drives only."""
        return windows.drive_kind(folder) == "fixed"

    def rotates(device: int) -> bool:  # noqa: ARG001 - Windows tells this of drives, not of what a file knows
        """Tell whether a device is one rotating disk; here nobody knows."""
        return False

else:

    @functools.cache
    def may_map(folder: bytes) -> bool:
        """Tell whether files of a folder may be memory-mapped: local file systems only, never network or FUSE."""
        kind = kind_of(folder)
        if kind is None:
            return sys.platform == "darwin" and not folder.startswith((b"/Volumes/", b"/Network/"))
        return kind not in _DISTANT_KINDS and not kind.startswith(b"fuse")

    @functools.cache
    def rotates(device: int) -> bool:
        """Tell whether a device is one rotating disk, where two readers at once only make the head travel.

        Virtual disks say that they rotate whatever lies below them (virtio's default), so they are not asked.
        """
        base = os.path.realpath(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
        for folder in (base, os.path.dirname(base)):  # a partition's queue is its disk's
            try:
                with open(f"{folder}/queue/rotational", encoding="ascii") as answer:
                    return answer.read().strip() == "1" and not os.path.basename(folder).startswith(
                        ("vd", "xvd", "loop")
                    )
            except OSError:
                continue
        return False
