"""Volumes on Linux: images, clones, bind mounts, subvolumes, memory and overlays, really mounted."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dedupe.storage import volumes
from dedupe.storage.volume import Mount
from tests.conftest import need
from tests.disks import KINDS, attached, disk, make_image, memory, mounted, run

if sys.platform != "linux":
    pytest.skip("Linux's ways alone", allow_module_level=True)

import pwd

from dedupe.storage import linux_volumes, mountinfo

TWICE = {"ext4": "ro,noload", "xfs": "ro,norecovery,nouuid", "btrfs": "ro"}  # as the second of two equal ones


@pytest.fixture
def top() -> Iterator[Path]:
    """Return a folder in memory that every user may enter."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with memory(Path(folder, "m")) as made:
            volumes.forget()
            yield made
    volumes.forget()


def locate(folder: Path) -> Mount:
    """Return where a folder lies, as a new scan sees it."""
    volumes.forget()
    return volumes.locate(os.fsencode(folder), os.stat(folder).st_dev)


def uuid_of(image: Path) -> str:
    """Return the UUID of an image, as util-linux sees it."""
    need(shutil.which("blkid"), "blkid of util-linux, to compare with")
    return run("blkid", "-p", "-o", "value", "-s", "UUID", image).strip()


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_is_one_volume_wherever_it_is_mounted(top: Path, kind: str) -> None:
    """At another place, on another loop device, the id is its UUID and a folder has the same place in it."""
    image = make_image(top / "image", kind, "-L", "mine")
    found = []
    with attached(image) as one, attached(image) as two:
        for device, point in ((one, top / "one"), (two, top / "two")):
            with mounted(point, "-t", kind, device):
                (point / "a/b").mkdir(parents=True, exist_ok=True)
                found.append(locate(point / "a/b"))
                assert found[-1].volume.mount_point == os.fsencode(point)
                shown = volumes.mounted(found[-1].volume.id)
                assert [(each.prefix, each.base) for each in shown] == [(os.fsencode(point) + b"/", b"")]
    first, second = found
    assert first.volume.id.startswith(f"uuid:{uuid_of(image)}")
    assert (first.volume.id, first.base) == (second.volume.id, second.base)
    assert first.base == b"a/b/"
    assert (first.volume.file_system, first.volume.label) == (kind, "mine")
    assert first.volume.stable_inodes
    assert first.volume.keeps_change_time


@pytest.mark.parametrize("kind", KINDS)
def test_clones_have_one_id_and_are_two(top: Path, kind: str) -> None:
    """Two copies of an image, mounted at once, share their id; on this host each is told from the other."""
    image = make_image(top / "image", kind)
    clone = top / "clone"
    shutil.copy(image, clone)
    with (
        attached(image) as one,
        attached(clone) as two,
        mounted(top / "one", "-t", kind, one),
        mounted(top / "two", "-t", kind, "-o", TWICE[kind], two),
    ):
        first, second = locate(top / "one").volume, locate(top / "two").volume
        assert first.id == second.id
        assert not first.is_same(second)
        assert len(volumes.mounted(first.id)) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_attached_twice_is_one(top: Path, kind: str) -> None:
    """Two loop devices show the same bytes if they have the same file: that is no clone."""
    image = make_image(top / "image", kind)
    with (
        attached(image, "--read-only") as one,
        attached(image, "--read-only") as two,
        mounted(top / "one", "-t", kind, "-o", TWICE[kind], one),
        mounted(top / "two", "-t", kind, "-o", TWICE[kind], two),
    ):
        assert os.stat(top / "one").st_dev != os.stat(top / "two").st_dev
        assert locate(top / "one").volume.is_same(locate(top / "two").volume)


def test_what_begins_elsewhere_in_a_file_is_another(top: Path) -> None:
    """Two copies in one file lie at two places of it: they are clones."""
    image = make_image(top / "image")
    with (top / "both").open("wb") as both:
        for _ in range(2):
            both.write(image.read_bytes())
    size = image.stat().st_size
    with (
        attached(top / "both", "--sizelimit", str(size)) as one,
        attached(top / "both", "--offset", str(size)) as two,
        mounted(top / "one", one),
        mounted(top / "two", two),
    ):
        assert locate(top / "one").volume.id == locate(top / "two").volume.id
        assert not locate(top / "one").volume.is_same(locate(top / "two").volume)


def test_a_bind_mount_shows_a_part_of_the_volume(top: Path) -> None:
    """All mounts of a file system are one volume, and the part that a bind mount shows has its place in the whole."""
    with attached(make_image(top / "image")) as device, mounted(top / "all", device):
        sub = top / "all/a b/\\040\nc"
        (sub / "inner").mkdir(parents=True)
        whole = locate(sub / "inner")
        with mounted(top / "part", "--bind", sub):
            part = locate(top / "part/inner")
            assert part.volume == whole.volume
            assert part.base == whole.base == b"a b/\\040\nc/inner/"
            assert locate(top / "part").base == b"a b/\\040\nc/"
            assert os.fsencode(top / "part") in volumes.points()
            shown = [(each.prefix.rstrip(b"/"), each.base) for each in volumes.mounted(whole.volume.id)]
            assert shown == [(os.fsencode(top / "all"), b""), (os.fsencode(top / "part"), b"a b/\\040\nc/")]
            with mounted(top / "part", "-t", "tmpfs", "over"):
                assert locate(top / "part").volume.file_system == "tmpfs"
                assert len(volumes.mounted(whole.volume.id)) == 1


def test_what_is_mounted_after_the_first_look_is_seen(top: Path) -> None:
    """A folder whose device number is not the one that was listed has the list read again."""
    with attached(make_image(top / "image")) as device:
        (top / "disk").mkdir()
        before = locate(top / "disk").volume
        with mounted(top / "disk", device):
            after = volumes.locate(os.fsencode(top / "disk"), os.stat(top / "disk").st_dev).volume
            assert (before.file_system, after.file_system) == ("tmpfs", "ext4")


def test_every_subvolume_is_a_volume(top: Path) -> None:
    """Inode numbers of btrfs begin anew in each subvolume and snapshot, mounted or not: each has an id of its own."""
    with attached(make_image(top / "image", "btrfs")) as device, mounted(top / "all", device):
        for name in ("one", "one/inner", "two"):
            run("btrfs", "subvolume", "create", top / "all" / name)
        for name in ("one/x/y", "one/inner/x/y", "two/x/y", "x/y"):
            (top / "all" / name).mkdir(parents=True)
        run("btrfs", "subvolume", "snapshot", top / "all/two", top / "all/snapshot")
        found = {name: locate(top / "all" / name / "x/y") for name in ("", "one", "one/inner", "two", "snapshot")}
        assert len({each.volume.id for each in found.values()}) == len(found)
        assert {each.base for each in found.values()} == {b"x/y/"}
        with (
            mounted(top / "part", "-o", "subvol=one", device),
            mounted(top / "bound", "--bind", top / "all/one/inner/x"),
        ):
            assert locate(top / "part/x/y").base == b"x/y/"
            assert locate(top / "part/x/y").volume.id == found["one"].volume.id
            assert locate(top / "part/x/y").volume.is_same(found["one"].volume)
            assert locate(top / "part/inner/x").volume.id == found["one/inner"].volume.id
            assert locate(top / "bound/y").volume.id == found["one/inner"].volume.id
            assert locate(top / "bound/y").base == b"x/y/"
            [shown] = volumes.mounted(found["one"].volume.id)
            assert (shown.prefix, shown.base) == (os.fsencode(top / "part") + b"/", b"")
            [shown] = volumes.mounted(found["one/inner"].volume.id)
            assert (shown.prefix, shown.base) == (os.fsencode(top / "bound") + b"/", b"x/")


def test_memory_lasts_for_this_boot(top: Path) -> None:
    """Each file system in memory is one of its own, also where it is bound elsewhere, and none outlives the boot."""
    with (
        mounted(top / "one", "-t", "tmpfs", "x"),
        mounted(top / "two", "-t", "tmpfs", "x"),
        mounted(top / "three", "-t", "ramfs", "x"),
        mounted(top / "bound", "--bind", top / "one"),
    ):
        ids = [locate(top / name).volume.id for name in ("one", "two", "three", "bound")]
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        assert all(each.startswith(f"boot:{boot}:") for each in ids)
        assert len(set(ids)) == 3
        assert locate(top / "one").volume == locate(top / "bound").volume
    with mounted(top / "one", "-t", "tmpfs", "x"):  # mostly under the number that another one had
        assert locate(top / "one").volume.id not in ids


def test_an_overlay_is_its_layers(top: Path) -> None:
    """Mounted again, under another number, an overlay is what it was; with another layer it is another."""
    for name in ("lower", "lower 2", "upper", "work"):
        (top / name).mkdir()
    layers = f"lowerdir={top}/lower,upperdir={top}/upper,workdir={top}/work"
    found = []
    with mounted(top / "between", "-t", "overlay", "-o", layers, "x"):
        found.append(locate(top / "between").volume)
    with mounted(top / "number", "-t", "tmpfs", "x"), mounted(top / "over", "-t", "overlay", "-o", layers, "x"):
        found.append(locate(top / "over").volume)
    for lower in (f"{top}/lower:{top}/lower 2", f"{top}/lower 2:{top}/lower"):
        with mounted(top / "over", "-t", "overlay", "-o", f"ro,lowerdir={lower}", "x"):
            found.append(locate(top / "over").volume)
    assert found[0].id == found[1].id
    assert found[0].id.startswith("host:")
    assert len({each.id for each in found}) == 3


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Be nobody for a while."""
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("kind", KINDS)
def test_ordinary_users_find_the_same_id(top: Path, kind: str) -> None:
    """What tells a volume's UUID, and that clones are two, needs no privilege."""
    image = make_image(top / "image", kind)
    with attached(image) as device, mounted(top / "disk", "-t", kind, device):
        (top / "disk").chmod(0o755)
        found = locate(top / "disk")
        with ordinary_user():
            assert locate(top / "disk") == found


def test_without_mountinfo_nothing_is_known_beyond_this_machine(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where /proc is missing, a folder has its place below its mount point, and its numbers are not believed."""
    monkeypatch.setattr(mountinfo, "_PATH", str(top / "no such list"))
    (top / "a").mkdir()
    mount = locate(top / "a")
    assert (mount.volume.mount_point, mount.base) == (os.fsencode(top), b"a/")
    assert mount.volume.id.startswith("host:")
    assert not mount.volume.stable_inodes


def served(top: Path, monkeypatch: pytest.MonkeyPatch, kind: str, source: str, options: str = "rw") -> Mount:
    """Return where a folder lies, if the mount of `top` were of that kind: there is no such server here."""
    number = os.stat(top).st_dev
    line = f"9 1 {os.major(number)}:{os.minor(number)} / {top} rw - {kind} {source} {options}\n"
    listed = top / "list"
    listed.write_text(f"1 0 8:1 / / rw - ext4 /dev/x rw\n{line}", encoding="ascii")
    monkeypatch.setattr(mountinfo, "_PATH", str(listed))
    return locate(top)


@pytest.mark.parametrize(
    ("kind", "source", "name"),
    [
        ("nfs4", "nas:/export/photos", "export:nfs:nas:/export/photos"),
        ("nfs", "nas:/export/photos", "export:nfs:nas:/export/photos"),
        ("cifs", "//NAS/Photos", "export:smb:\\\\nas\\photos"),
        ("fuse.sshfs", "me@nas:/photos", "export:fuse.sshfs:me@nas:/photos"),
        ("ceph", "10.0.0.1,10.0.0.2:/", "export:ceph:10.0.0.1,10.0.0.2:/"),
    ],
)
def test_what_a_server_exports(top: Path, monkeypatch: pytest.MonkeyPatch, kind: str, source: str, name: str) -> None:
    """Server and export name a volume on every client; however often it is mounted, it is one."""
    volume = served(top, monkeypatch, kind, source).volume
    assert volume.id == volume.instance == name


@pytest.mark.parametrize(
    ("kind", "source"), [("9p", "share"), ("virtiofs", "home"), ("fuse.encfs", "encfs"), ("fuse.rclone", "cloud:")]
)
def test_words_that_mean_something_on_one_machine(
    top: Path, monkeypatch: pytest.MonkeyPatch, kind: str, source: str
) -> None:
    """A tag that a virtual machine was given, or that a program made up, names nothing elsewhere."""
    volume = served(top, monkeypatch, kind, source).volume
    assert volume.id.startswith("host:")
    assert not volume.stable_inodes
    assert not volume.keeps_change_time


def test_inode_numbers_of_cifs_are_the_servers_or_none(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mount option `serverino` decides what they are worth."""
    assert served(top, monkeypatch, "cifs", "//nas/a", "rw,vers=3,serverino").volume.stable_inodes
    assert not served(top, monkeypatch, "cifs", "//nas/a", "rw,vers=3").volume.stable_inodes


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("1234-ABCD", "vfat", "serial:000000001234abcd:fat"),
        ("1234-ABCD", "exfat", "serial:000000001234abcd:exfat"),
        ("01D9A1B2C3D4E5F6", "ntfs", "serial:01d9a1b2c3d4e5f6:ntfs"),
        ("ca258f92-9287-4c8b-a363-c2b137868258", "ext4", "uuid:ca258f92-9287-4c8b-a363-c2b137868258"),
        ("2023-01-02-03-04-05-00", "iso9660", "uuid:iso9660:2023-01-02-03-04-05-00"),
        ("", "squashfs", ""),
    ],
)
def test_what_udev_calls_a_uuid(text: str, kind: str, name: str) -> None:
    """Serial numbers have the form that they have on Windows, so that a stick is known there too."""
    assert linux_volumes._by_text(text, kind) == name


def test_serial_numbers_that_the_kernel_tells() -> None:
    """FAT's 4 bytes and NTFS's 8 make the same ids as udev's text."""
    for number, kind, text in ((0x1234ABCD, "vfat", "1234-ABCD"), (0x01D9A1B2C3D4E5F6, "ntfs3", "01D9A1B2C3D4E5F6")):
        raw = number.to_bytes(4 if kind == "vfat" else 8, sys.byteorder)
        assert linux_volumes._by_number(raw, kind) == linux_volumes._by_text(text, kind)


def test_a_mount_that_is_gone_by_now_is_not_taken_for_what_lies_below(tmp_path: Path) -> None:
    """The list of mounts may be older than an unmounting: the folder left behind is no clone of the disk it is on."""
    with disk(tmp_path / "image", tmp_path / "m"):
        volumes.forget()
        below = locate(tmp_path).volume
        assert len(mountinfo.table().points) > 0
    volumes.has_clones.cache_clear()  # but not the list: it still has the mount
    assert not volumes.has_clones(below.id)
    volumes.forget()
