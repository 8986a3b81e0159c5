"""What is known of each kind of file system, by the names that Linux has for them.  Asks nobody.

Where a program behind FUSE or a server on the other side decides, the worse is taken to be true: doubt means reading.
"""

from __future__ import annotations

_PSEUDO = frozenset(
    b"autofs binfmt_misc bpf cgroup cgroup2 configfs debugfs devpts devtmpfs efivarfs fusectl fuse.gvfsd-fuse "
    b"hugetlbfs mqueue nsfs proc pstore rpc_pipefs securityfs selinuxfs smackfs sysfs tracefs".split()
)
# A map over one of these can kill its reader when the server goes away, and may show stale pages.
_NETWORK = frozenset(
    b"9p afs afpfs beegfs ceph cifs coda davfs glusterfs gfs2 lustre ncpfs nfs nfs4 ocfs2 orangefs pvfs2 smb2 smb3 "
    b"smbfs vboxsf virtiofs vmhgfs webdav".split()
)
# kind -> why its inode numbers do not stay with their files
_NUMBERS_MADE_UP = {
    "vfat": "FAT keeps none: the kernel counts up as it meets the files (Documentation/filesystems/vfat.rst)",
    "exfat": "exFAT keeps none either",
    "bcachefs": "its subvolumes share device number and inode numbers, so that a snapshot's files have the originals'",
    "9p": "the server may fold several disks into one tree (QEMU's multidevs), and chooses the numbers",
    "virtiofs": "likewise",
    "vboxsf": "counts up as it meets the files",
    "vmhgfs": "the server has none to give",
    "prl_fs": "the server has none to give",
    "smbfs": "a forerunner of cifs, which counts up as it meets the files",
    "ncpfs": "counts up as it meets the files",
    "fuse": "the program chooses; without use_ino libfuse counts up as it meets the files (man 8 mount.fuse3)",
}
# kind -> why its change times do not move with every change, or can be put back
_CHANGE_TIME_UNKEPT = {
    "vfat": "FAT keeps none",
    "exfat": "exFAT keeps none",
    "hfs": "keeps none; hfsplus does",
    "iso9660": "never changes, but the next disc in the drive may have been made from changed files of equal dates",
    "udf": "likewise",
    "squashfs": "keeps the modification time alone, and an image made anew takes the place of the old one",
    "erofs": "likewise",
    "cramfs": "keeps no times",
    "romfs": "keeps no times",
    "9p": "the older protocols know none",
    "virtiofs": "the program on the host decides",
    "vboxsf": "the host decides, which may be one without",
    "vmhgfs": "likewise",
    "prl_fs": "likewise",
    "smbfs": "the old protocol knows none",
    "ncpfs": "the protocol knows none",
    "fuse": "the program decides; sshfs has none, as SFTP knows none",
}
_SAME = {"msdos": "vfat", "fat": "vfat", "fat32": "vfat", "cdfs": "iso9660"}  # the last ones as Windows names them
# the same volume under another driver, or another system; serial numbers are told apart by this
_FAMILY = {"vfat": "fat", "msdos": "fat", "fat32": "fat", "ntfs3": "ntfs", "ntfs-3g": "ntfs"}

MEMORY = frozenset({"tmpfs", "ramfs"})
# A source is the name of a server and what it exports: the same on every client.
SERVED = frozenset(
    {"afs", "ceph", "cifs", "fuse.glusterfs", "fuse.sshfs", "lustre", "nfs", "nfs4", "orangefs", "smb2", "smb3"}
)

# Their files lie on a disk of their own, or in memory: no other mount of another device shows the same ones.
_OWN_FILES = frozenset({
    *("apfs", "bcachefs", "btrfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "fuseblk", "hfs", "hfsplus"),
    *("iso9660", "jfs", "nilfs2", "ntfs", "ntfs3", "ramfs", "refs", "reiserfs", "squashfs", "tmpfs", "udf", "vfat"),
    *("xfs", "zfs"),
})  # fmt: skip
# Programs behind FUSE that ask for each name that they were never asked for; others may remember a listing.
_ASKS_FOR_NAMES = frozenset({"fuse.bindfs", "fuse.glusterfs", "fuse.mergerfs", "fuse.sshfs"})
# What goes there may lie in a layer below, and is only hidden; what is linked there may be copied up for it.
_LAYERED = frozenset({"aufs", "fuse.fuse-overlayfs", "fuse.unionfs", "overlay", "overlayfs", "unionfs"})
_SHARING = frozenset({"bcachefs", "btrfs", "ocfs2", "xfs", "zfs"})  # files may have blocks in common

# Where SEEK_DATA finds what was just written too, also through a map.  Not ZFS: it took fresh data for a hole (OpenZFS
# issue 15526), and nothing tells whether the module that runs still does.
_TELLING_HOLES = frozenset({b"btrfs", b"ext4", b"tmpfs", b"xfs"})


def tells_holes(kind: bytes) -> bool:
    """Return whether a file system is believed where its files have holes."""
    return kind in _TELLING_HOLES


def is_pseudo(kind: bytes) -> bool:
    """Return whether its files are no data of anybody's."""
    return kind in _PSEUDO


def is_network(kind: bytes) -> bool:
    """Return whether a server, or several machines, stand behind it."""
    return kind in _NETWORK


def numbers_made_up(kind: str, *, server_numbers: bool = False) -> str:
    """Return why inode numbers are not to be believed, or nothing if they are.

    Args:
        kind: of file system.
        server_numbers: the mount has the option `serverino`, by which cifs takes the server's numbers for its own.
    """
    if kind in ("cifs", "smb3", "smb2"):
        return "" if server_numbers else "without serverino the client counts up (man 8 mount.cifs)"
    return _NUMBERS_MADE_UP.get(_class(kind), "")


def change_time_unkept(kind: str) -> str:
    """Return why change times are not to be believed, or nothing if they are."""
    return _CHANGE_TIME_UNKEPT.get(_class(kind), "")


def is_fuse(kind: str) -> bool:
    """Return whether a program serves it that may never answer; that of `fuseblk` has a disk of its own."""
    return kind == "fuse" or kind.startswith("fuse.")


def shows_others(kind: str) -> bool:
    """Return whether its files may be those of another mount, under a device number of its own (overlay, bindfs)."""
    kind = kind.lower()
    return _SAME.get(kind, kind) not in _OWN_FILES


def dates_alike(kind: str) -> bool:
    """Return whether its files may be another mount's, and its times of change do not tell: servers, FUSE programs."""
    return shows_others(kind) and bool(change_time_unkept(kind) or is_network(kind.lower().encode()))


def remembers_names(kind: str) -> bool:
    """Return whether it may say that there is no such name because there was none when it last listed the folder."""
    return is_fuse(kind) and kind not in _ASKS_FOR_NAMES


def may_share(kind: str) -> bool:
    """Return whether its files may share blocks with each other."""
    return kind.lower() in _SHARING


def is_layered(kind: str) -> bool:
    """Return whether its files may lie in a layer below, so that their blocks become free with none of its names."""
    return kind.lower() in _LAYERED


def family(kind: str) -> str:
    """Return one name for the drivers that show the same volumes."""
    kind = kind.lower()
    return _FAMILY.get(kind, kind)


def _class(kind: str) -> str:
    kind = kind.lower()
    return "fuse" if kind.startswith("fuse") else _SAME.get(kind, kind)
