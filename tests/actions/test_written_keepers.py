"""What stays has to lie on its disk, not only in memory, before anything goes for it: on real disks that fail."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dedupe.actions import keepers
from dedupe.actions.apply import ActionName
from dedupe.storage import durable, volumes
from tests import disks, file_system_kinds
from tests.actions.common import ON_LINUX, act, content, marked, reasons
from tests.actions.test_two_mounts import by_program
from tests.conftest import need, write

pytestmark = ON_LINUX
OLD = 1_500_000_000  # seconds: a date that `cp -p` keeps


def written(path: Path, word: str) -> Path:
    """Make a file with an old date."""
    write(path, content(word))
    os.utime(path, (OLD, OLD))
    return path


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """Return a folder on a disk whose file system gives up writing when it meets an error, and what has it do so."""
    with (
        disks.attached(disks.make_image(tmp_path / "image")) as device,
        disks.mounted(tmp_path / "disk", "-o", "errors=remount-ro,commit=600", device) as folder,
    ):
        trigger = Path("/sys/fs/ext4", os.path.basename(device), "trigger_fs_error")
        need(trigger.exists(), "ext4 that can be told to fail")
        yield folder, trigger


@pytest.mark.parametrize("count", [1, 12])
@pytest.mark.parametrize("is_new", [True, False])
def test_what_a_failed_disk_has_in_memory_stays_for_nothing(
    failing: tuple[Path, Path],
    tmp_path: Path,
    journal: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    count: int,
    is_new: bool,
) -> None:
    """It reads well until the disk is unmounted: also one that was copied to it longer ago than the system waits."""
    folder, trigger = failing
    names = [f"f{n}" for n in range(count)]
    for name in names:
        written(folder / name, name)
        written(tmp_path / "other" / name, name)
    if not is_new:
        monkeypatch.setattr(keepers, "_RECENT", -1)
    trigger.write_text("1")
    marks = marked(tmp_path, {name: ([f"disk/{name}"], [f"other/{name}"]) for name in names})
    tally = act(marks, ActionName.DELETE, journal)
    assert tally.done == 0
    assert {"could not be written to its disk" in reason for reason in reasons(tally)} == {True}
    assert len(list((tmp_path / "other").iterdir())) == count


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_a_sound_disk_that_is_read_only_has_what_it_shows(tmp_path: Path, journal: Path, kind: str) -> None:
    """Nothing is to be written there, and nothing is: its files stay for others."""
    with disks.attached(disks.make_image(tmp_path / "image", kind)) as device:
        with disks.mounted(tmp_path / "disk", device):
            written(tmp_path / "disk/f", "f")
        with disks.mounted(tmp_path / "disk", "-o", "ro", device):
            written(tmp_path / "other/f", "f")
            marks = marked(tmp_path, {"f": (["disk/f"], ["other/f"])})
            tally = act(marks, ActionName.DELETE, journal)
            assert (tally.done, reasons(tally)) == (1, [])


@pytest.fixture(params=["exfat", "bindfs", "kernel"])
def undated(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder of a volume that keeps no time of change: by programs, and as the kernel's FAT would have it."""
    folder = tmp_path / "here"
    if request.param == "exfat":
        need(shutil.which("mount.exfat-fuse"), "exfat-fuse")
        with file_system_kinds.mounts(tmp_path) as of:
            yield of("exfat")
    elif request.param == "bindfs":
        folder.mkdir()
        with by_program(tmp_path, "bindfs") as (_, there):
            yield there
    else:
        with disks.disk(tmp_path / "image", folder):
            usual = volumes.locate
            monkeypatch.setattr(keepers.volumes, "locate", lambda *where: _without_dates(usual(*where)))
            monkeypatch.setattr(keepers, "_RECENT", -1)
            yield folder


def _without_dates(mount: volumes.Mount) -> volumes.Mount:
    return mount._replace(volume=mount.volume._replace(keeps_change_time=False))


@pytest.mark.parametrize("count", [3, 12])
def test_where_no_time_of_change_is_kept_every_keeper_is_written(
    undated: Path, tmp_path: Path, journal: Path, synced: list[str], monkeypatch: pytest.MonkeyPatch, *, count: int
) -> None:
    """What `cp -p` put there a moment ago looks years old: each is written, or all of them by one call that can."""
    usual, called = durable.write_volume, list[bool]()
    monkeypatch.setattr(durable, "write_volume", lambda descriptor: called.append(usual(descriptor)) or called[-1])
    names = [f"f{n:02}" for n in range(count)]
    for name in names:
        written(undated / name, name)
        written(tmp_path / "other" / name, name)
    marks = marked(tmp_path, {name: ([str(undated / name)], [f"other/{name}"]) for name in names})
    tally = act(marks, ActionName.DELETE, journal)
    assert (tally.done, reasons(tally)) == (count, [])
    is_kernels = undated.name == "here"
    assert called == ([True] if is_kernels and count > 3 else [])
    assert sorted({name for name in synced if name in names}) == ([] if called else names)
