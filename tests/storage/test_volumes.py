"""Volumes as every system has them: what is one volume, where a folder lies in it, and making volumes up for tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.storage import file_stat, volumes
from dedupe.storage.macos_volumes import _STATFS, MacVolumes, _unpacked
from dedupe.storage.volume import Mount, as_base, by_serial, by_share, by_uuid
from tests.cases.common import LINKS, not_on_windows
from tests.fake_volumes import FakeVolumes, volume

names = st.text(st.characters(codec="utf-8", exclude_characters="/\\\0"), min_size=1).map(str.encode)


def locate(folder: Path) -> Mount:
    """Return where a folder lies."""
    path = os.fsencode(folder)
    return volumes.locate(path, file_stat.identity(path, follow=True)[0])


def test_one_volume_or_two() -> None:
    """Clones share their id, and on one host they are told apart; another host's numbers say nothing."""
    here, clone, there = volume("uuid:1"), volume("uuid:1", instance="b"), volume("uuid:1", instance="c", host="other")
    assert here.is_same(here._replace(device=9, mount_point=b"/elsewhere", label="new"))
    assert not here.is_same(clone)
    assert here.is_same(there)
    assert there.is_same(clone)
    assert not here.is_same(volume("uuid:2", instance=here.instance))


@given(st.lists(names, max_size=3), st.lists(names, max_size=3))
def test_a_folder_below_a_mount_has_its_path_in_the_volume(base: list[bytes], below: list[bytes]) -> None:
    """What follows the prefix follows the base, with slashes on every system."""
    prefix = os.path.join(b"/top", b"")
    mount = Mount(volume("uuid:1"), prefix, as_base(*base))
    folder = prefix + b"".join(os.path.join(name, b"") for name in below)
    assert mount.relative(folder) == as_base(*base, *below)
    assert b"".join(name + b"/" for name in (*base, *below)) == as_base(*base, *below)


def test_a_real_folder_is_found(tmp_path: Path) -> None:
    """A folder lies in the volume that the folder above lies in, one name further down."""
    inner = tmp_path / "a b é"
    inner.mkdir()
    volumes.forget()
    above, below = locate(tmp_path), locate(inner)
    assert above.volume == below.volume
    assert above.prefix == os.path.join(os.fsencode(tmp_path), b"")
    assert below.base == above.relative(below.prefix)
    assert below.base.endswith("/a b é/".encode())
    assert above.volume.host == volumes.host()
    assert not above.volume.id.startswith("device:")
    assert str(above.volume.device) not in above.volume.id.split(":") or above.volume.device < 9


def test_a_volume_is_found_where_it_is_mounted(tmp_path: Path) -> None:
    """Where a folder's volume is mounted, the folder is found again under its path in the volume."""
    mount = locate(tmp_path)
    shown = [each for each in volumes.mounted(mount.volume.id) if mount.base.startswith(each.base)]
    paths = [each.prefix + mount.base[len(each.base) :].replace(b"/", os.fsencode(os.sep)) for each in shown]
    assert any(os.path.samefile(path, tmp_path) for path in paths if os.path.exists(path))
    assert volumes.mounted("uuid:of no volume") == []


def test_what_is_gone_is_an_error(tmp_path: Path) -> None:
    """A folder that is not there any more lies nowhere."""
    with pytest.raises(OSError, match=r"."):
        volumes.locate(os.fsencode(tmp_path / "gone"), 1)


@not_on_windows(LINKS)
def test_a_linked_folder_says_so(tmp_path: Path) -> None:
    """A folder reached through a symbolic link, its own or one above it, has the place of the real one, and says so."""
    real = tmp_path.resolve() / "real"
    (real / "sub").mkdir(parents=True)
    link = real.parent / "link"
    link.symlink_to(real)
    assert not locate(real / "sub").linked
    assert locate(link).linked
    assert locate(link).base == locate(real).base
    assert locate(link / "sub").linked
    assert locate(link / "sub").prefix == os.path.join(os.fsencode(link / "sub"), b"")
    assert locate(link / "sub").base == locate(real / "sub").base


def test_made_up_volumes(tmp_path: Path) -> None:
    """A test may say which volumes there are; afterwards the system answers again."""
    (tmp_path / "disk/sub").mkdir(parents=True)
    fat = volume("serial:1:fat", stable_inodes=False, host="other")
    real = locate(tmp_path)
    fake = FakeVolumes({tmp_path / "disk": fat})
    with volumes.use(fake):
        found = locate(tmp_path / "disk/sub")
        assert (found.volume.id, found.volume.host, found.base) == ("serial:1:fat", "other", b"sub/")
        assert locate(tmp_path) == real
        assert os.fsencode(tmp_path / "disk") in volumes.points()
        assert [each.prefix for each in volumes.mounted(fat.id)] == [os.path.join(os.fsencode(tmp_path / "disk"), b"")]
        volumes.forget()
    assert locate(tmp_path / "disk").volume == locate(tmp_path).volume
    assert fake.asked == [os.fsencode(tmp_path / "disk/sub"), os.fsencode(tmp_path)]


def test_ids_are_the_same_however_they_are_found() -> None:
    """An id has one form; numbers of zeros, which mean that there is none, make no id."""
    assert by_uuid(bytes(range(16))) == "uuid:00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert by_uuid(bytes(16)) == by_serial(0, "fat") == ""
    assert by_serial(0x1234ABCD, "FAT") == "serial:000000001234abcd:fat"
    assert by_share("//NAS/Photos") == by_share("\\\\nas\\photos\\") == "export:smb:\\\\nas\\photos"


@not_on_windows("it has its own way")
def test_with_stat_alone(tmp_path: Path) -> None:
    """Where a system tells nothing but `stat`, a volume is known on this machine, and its numbers are not believed."""
    if sys.platform == "darwin":
        pytest.skip("it tells more")
    mount = MacVolumes().locate(os.fsencode(tmp_path), os.stat(tmp_path).st_dev)
    assert mount.volume.id.startswith("host:")
    assert not mount.volume.stable_inodes
    assert os.path.ismount(mount.volume.mount_point)
    assert os.path.join(mount.volume.mount_point, mount.base).rstrip(b"/") == os.path.realpath(os.fsencode(tmp_path))


def test_the_layout_of_statfs() -> None:
    """The fields lie where sys/mount.h of macOS has them: 2168 bytes, names after 72."""
    answer = bytearray(2168)
    answer[72:76], answer[88:103], answer[1112:1123] = b"apfs", b"/Volumes/Photos", b"/dev/disk3s5"[:11]
    assert _STATFS.size == len(answer)
    assert _unpacked(bytes(answer)) == ("apfs", b"/Volumes/Photos", b"/dev/disk3s")


@pytest.mark.skipif(sys.platform != "win32", reason="drives are Windows' own")
def test_a_drive_of_windows() -> None:
    """The root of a drive is the root of its volume, known by its serial number and not by its letter."""
    mount = locate(Path("C:\\"))
    assert mount.base == b""
    assert mount.volume.mount_point == b"C:\\"
    assert not mount.volume.id.startswith("drive:")
    assert any(each.base == b"" for each in volumes.mounted(mount.volume.id))
