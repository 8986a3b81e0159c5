"""What stays has to lie on its disk, not only in memory, before anything goes for it: on real disks that fail."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dedupe.actions import keepers
from dedupe.actions.apply import ActionName
from tests import disks
from tests.actions.common import ON_LINUX, act, content, marked, reasons
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
