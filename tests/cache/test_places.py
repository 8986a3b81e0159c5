"""Where paths of a volume lie now, and under which paths a folder is remembered."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dedupe.cache import places
from dedupe.storage import file_stat, volumes
from dedupe.storage.volume import Mount, Volume


@dataclass
class Disks:
    """Made-up disks whose files lie in real folders."""

    mounts: list[Mount] = field(default_factory=list)

    def mount(self, point: Path, volume_id: str = "uuid:a", base: bytes = b"", device: int | None = None) -> Mount:
        """Have a folder be where a disk is mounted."""
        point.mkdir(exist_ok=True, parents=True)
        own = file_stat.identity(os.fsencode(point), follow=True)[0]
        volume = Volume(volume_id, volume_id, "here", own if device is None else device)
        self.mounts.append(Mount(volume, os.path.join(os.fsencode(point), b""), base))
        return self.mounts[-1]

    def mounted(self, volume_id: str) -> list[Mount]:
        """Return where a volume is mounted."""
        return [mount for mount in self.mounts if mount.volume.id == volume_id]

    def locate(self, folder: bytes, device: int) -> Mount:  # noqa: ARG002
        """Return the mount that a folder lies on."""
        below = [m for m in self.mounts if os.path.join(folder, b"").startswith(m.prefix)]
        if not below:
            raise FileNotFoundError(folder)
        return max(below, key=lambda m: len(m.prefix))


@pytest.fixture
def disks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disks]:
    """Have made-up disks answer where volumes are."""
    made = Disks()
    monkeypatch.setattr(volumes, "mounted", made.mounted)
    monkeypatch.setattr(volumes, "locate", made.locate)
    return made


def test_a_mount_point_that_another_disk_has_taken_is_none(disks: Disks, tmp_path: Path) -> None:
    """What its number says counts: there the other disk is seen."""
    good = disks.mount(tmp_path / "a")
    disks.mount(tmp_path / "b", device=12345)
    assert places.mounts_of("uuid:a") == [good]
    assert places.mounts_of("uuid:gone") == []


def test_a_root_is_the_folder_that_it_was(disks: Disks, tmp_path: Path) -> None:
    """Wherever it is mounted; another folder of its name is not it, nor is one that cannot be listed."""
    mounts = [disks.mount(tmp_path / "m")]
    (tmp_path / "m" / "photos").mkdir()
    inode = os.stat(tmp_path / "m" / "photos").st_ino
    assert places.is_readable(mounts, b"photos/", str(inode))
    assert places.is_readable(mounts, b"photos/", "0")
    assert not places.is_readable(mounts, b"photos/", str(inode + 1))
    assert not places.is_readable(mounts, b"other/", "0")
    assert not places.is_readable([disks.mount(tmp_path / "n", base=b"music/")], b"photos/", "0")


def test_a_file_is_gone_where_no_place_has_it(disks: Disks, tmp_path: Path) -> None:
    """One of several places is enough to keep it, and where none shows its folder nothing is known."""
    first, second = disks.mount(tmp_path / "m"), disks.mount(tmp_path / "n", base=b"photos/")
    (tmp_path / "n" / "f").touch()
    assert places.is_gone([first], b"photos/f")
    assert not places.is_gone([first, second], b"photos/f")
    assert not places.is_gone([second], b"music/f")
    assert not places.is_gone([], b"photos/f")
    assert places.is_gone([first, second], b"photos/g")
    assert not places.is_gone([disks.mount(tmp_path / "m", device=12345)], b"photos/g")


def test_where_a_folder_is_remembered(disks: Disks, tmp_path: Path) -> None:
    """Below what is there of it now, and as a root of the name that it had then."""
    disks.mount(tmp_path)
    here = os.fsencode(tmp_path)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE volumes (number, id)")
    connection.execute("CREATE TABLE roots (volume, path, reached)")
    connection.execute("INSERT INTO volumes VALUES (7, 'uuid:a')")
    connection.execute("INSERT INTO roots VALUES (8, ?, ?)", (b"photos/", here + os.fsencode(f"{os.sep}usb")))
    connection.execute("INSERT INTO roots VALUES (9, 'no path', 5)")
    slash = os.fsencode(os.sep)
    assert places.remembered_below(connection, slash.join((here, b"old", b"sub"))) == [(7, b"old/sub/")]
    assert places.remembered_below(connection, slash.join((here, b"usb"))) == [(7, b"usb/"), (8, b"photos/")]
    assert places.remembered_below(connection, slash.join((here, b"usb", b"x"))) == [(7, b"usb/x/"), (8, b"photos/x/")]
    assert places.remembered_below(connection, here) == [(7, b""), (8, b"photos/")]
    connection.close()


def test_below_means_below() -> None:
    """Not a folder whose name merely begins the same way, whatever bytes follow."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE files (path)")
    paths = [b"a", b"a/", b"a/b", b"a/\xff\xff", b"a0", b"a.b", b"ab/c", b"b"]
    connection.executemany("INSERT INTO files VALUES (?)", [(bytearray(p),) for p in paths])
    for folder, want in ((b"a/", {b"a/", b"a/b", b"a/\xff\xff"}), (b"", set(paths))):
        condition, values = places.below(folder)
        found = connection.execute(f"SELECT path FROM files WHERE {condition}", values)
        assert {row[0] for row in found} == want
    connection.close()
