"""What is known of kinds of file systems."""

from __future__ import annotations

import pytest

from dedupe.storage import file_systems


@pytest.mark.parametrize(
    ("kind", "numbers", "times"),
    [
        *(("ext4", True, True), ("btrfs", True, True), ("tmpfs", True, True), ("nfs4", True, True)),
        *(("NTFS", True, True), ("ntfs3", True, True), ("ReFS", True, True), ("apfs", True, True)),
        *(("vfat", False, False), ("msdos", False, False), ("exfat", False, False), ("FAT32", False, False)),
        *(("exFAT", False, False), ("fuse.sshfs", False, False), ("fuse", False, False), ("fuseblk", False, False)),
        *(("9p", False, False), ("squashfs", True, False), ("iso9660", True, False), ("CDFS", True, False)),
        *(("hfs", True, False), ("bcachefs", False, True), ("cifs", False, True)),
    ],
)
def test_what_numbers_and_times_are_worth(kind: str, numbers: bool, times: bool) -> None:  # noqa: FBT001
    """Inode numbers that are made up and change times that are not kept are known, under each system's name."""
    assert (not file_systems.numbers_made_up(kind), not file_systems.change_time_unkept(kind)) == (numbers, times)


def test_cifs_has_the_servers_numbers_only_if_asked() -> None:
    """The option serverino decides."""
    assert not file_systems.numbers_made_up("cifs", server_numbers=True)
