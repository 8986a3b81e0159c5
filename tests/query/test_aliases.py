"""What another file system only shows is the same file, and does not hold itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dedupe.config import ScanConfig, Scope
from dedupe.find import find_duplicates
from dedupe.query.answer import MissingReason, MissingResult
from dedupe.query.catalog_fill import create
from dedupe.query.missing import find_missing
from dedupe.query.settings import MissingConfig
from dedupe.report import FORMATS, Style
from dedupe.storage import volumes
from dedupe.storage.volume import Mount
from tests.catalog_helpers import rewrite
from tests.conftest import need, write
from tests.disks import disk, unmount

if sys.platform == "linux":
    from dedupe.storage.linux_volumes import LinuxVolumes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="file systems that show others")


@contextmanager
def mounted(target: Path, *command: str | Path) -> Iterator[Path]:
    """Mount something for a while."""
    need(os.geteuid() == 0, "mounting needs root")
    target.mkdir(exist_ok=True)
    done = subprocess.run([*command, target], check=False, capture_output=True)
    need(done.returncode == 0, f"this machine refuses {command[0]}")
    volumes.forget()
    try:
        yield target
    finally:
        unmount(target)
        volumes.forget()


@contextmanager
def view_of(folder: Path, how: str) -> Iterator[Path]:
    """Show the files of a folder by another file system."""
    beside, target = folder.parent, folder.parent / "view"
    for name in ("up:per", "work", "branch"):
        (beside / name).mkdir()
    if how == "overlay":
        upper = os.fspath(beside / "up:per").replace(":", r"\:")
        options = f"lowerdir={beside}/branch:{folder},upperdir={upper},workdir={beside}/work"
        with mounted(target, "mount", "-t", "overlay", "overlay", "-o", options):
            yield target
        return
    need(shutil.which(how), f"{how} is not installed")
    with mounted(target, how, folder if how == "bindfs" else f"{beside}/branch:{folder}"):
        yield target


def missing_of(card: Path, archive: Path) -> MissingResult:
    """Return what an archive does not hold of a card."""
    return find_missing(MissingConfig(card=[card], archive=[archive], jobs=1))


@pytest.mark.parametrize("how", ["overlay", "bindfs", "mergerfs"])
def test_a_view_of_the_card_does_not_hold(tmp_path: Path, how: str) -> None:
    """Files that the archive only shows go with the card, whichever side the view is; true copies hold."""
    write(tmp_path / "card/in/a", b"a" * 10_000)
    write(tmp_path / "card/b", b"b" * 10_000)
    with view_of(tmp_path / "card", how) as view:
        for card, archive in ((tmp_path / "card", view), (view, tmp_path / "card")):
            found = missing_of(card, archive)
            assert [file.reason for file in found.missing] == [MissingReason.SAME_FILE] * 2
        write(view / "copy", b"b" * 10_000)
        if how == "overlay":
            assert [os.path.basename(file.path) for file in missing_of(tmp_path / "card", view).missing] == [b"a"]


@pytest.mark.parametrize("how", ["overlay", "bindfs", "mergerfs"])
def test_a_view_is_no_duplicate(tmp_path: Path, how: str) -> None:
    """A scan takes what another file system shows for a further name, so that nobody removes the only copy."""
    write(tmp_path / "card/a", b"a" * 10_000)
    with view_of(tmp_path / "card", how) as view:
        assert len(find_duplicates(ScanConfig(roots=[tmp_path / "card", view], jobs=1)).groups) == 0


def test_what_an_overlay_has_taken_up_is_a_copy(tmp_path: Path) -> None:
    """A file that was written to through an overlay lies in its upper folder, and holds what it holds there."""
    write(tmp_path / "card/a", b"a" * 10_000)
    with view_of(tmp_path / "card", "overlay") as view:
        with open(view / "a", "r+b") as file:
            file.write(b"a")
        assert not missing_of(tmp_path / "card", view).missing


def test_a_catalog_of_the_cards_volume_counts_only_what_is_still_there(tmp_path: Path) -> None:
    """What was at another place of the volume, and has another inode on the card now, is no second copy."""
    write(tmp_path / "disk/DCIM/a", b"a" * 10_000)
    write(tmp_path / "disk/MISC/b", b"b" * 20_000)
    write(tmp_path / "disk/kept/c", b"c" * 30_000)
    catalog = tmp_path / "disk.catalog"
    create(str(catalog), ScanConfig(roots=[tmp_path / "disk"]))
    for name in ("MISC/b", "kept/c"):
        shutil.copy(tmp_path / "disk" / name, tmp_path / "disk/DCIM")
    (tmp_path / "disk/MISC/b").unlink()
    for root, held in ((tmp_path / "disk", set()), (tmp_path / "disk/DCIM", {b"c"})):
        found = find_missing(MissingConfig(card=[root], archive=[catalog], jobs=1))
        assert {os.path.basename(file.path) for file in found.missing} == {b"a", b"b", b"c"} - held
    part = find_missing(MissingConfig(card=[tmp_path / "disk"], archive=[catalog], jobs=1, exclude=["kept"]))
    assert part.totals.held_files == 0  # what is left out lies on the card all the same


def test_a_catalog_of_the_card_under_another_id_does_not_hold(tmp_path: Path) -> None:
    """Another system may know the same volume by another kind of id: then place, size and time tell."""
    write(tmp_path / "card/a", b"a" * 10_000)
    write(tmp_path / "card/b", b"b" * 20_000)
    catalog = tmp_path / "card.catalog"
    create(str(catalog), ScanConfig(roots=[tmp_path / "card"]))
    rewrite(
        catalog,
        "UPDATE volumes SET id = 'odd:1'",
        "UPDATE files SET modified_ns = modified_ns + 1000000000 WHERE size = 10000",
        "UPDATE files SET modified_ns = modified_ns + 9000000000 WHERE size = 20000",
    )
    found = find_missing(MissingConfig(card=[tmp_path / "card"], archive=[catalog], jobs=1))
    assert [os.path.basename(file.path) for file in found.missing] == [b"a"]


def test_snapshots_of_one_file_system_are_one_volume(tmp_path: Path) -> None:
    """A snapshot keeps files that are deleted, but goes when its disk is formatted, and spans no volumes."""
    need(shutil.which("btrfs"), "btrfs is not installed")
    with disk(tmp_path / "image", tmp_path / "mnt", "btrfs") as made:
        top = made.folder
        subprocess.run(["btrfs", "subvolume", "create", top / "card"], check=True, capture_output=True)
        write(top / "card/a", b"a" * 10_000)
        subprocess.run(["btrfs", "subvolume", "snapshot", top / "card", top / "old"], check=True, capture_output=True)
        found = missing_of(top / "card", top / "old")
        assert not found.missing
        assert any("not if it is formatted" in note for note in found.notes)
        catalog = tmp_path / "old.catalog"
        create(str(catalog), ScanConfig(roots=[top / "old"]))
        for other in (top / "old", catalog):
            config = ScanConfig(roots=[top / "card", other], across_volumes=True, jobs=1)
            assert len(find_duplicates(config).groups) == 0
        write(tmp_path / "a", b"a" * 10_000)
        config = ScanConfig(roots=[top / "card", tmp_path], across_volumes=True, jobs=1)
        assert len(find_duplicates(config).groups) == 1


def test_within_roots_that_show_each_other_one_copy_stays(tmp_path: Path) -> None:
    """Roots that reach the same files in another order do not each call the other's copy redundant."""
    for name in ("x/f", "y/f"):
        write(tmp_path / "a" / name, b"a" * 10_000)
    for name in ("1", "2"):
        (tmp_path / "b" / name).mkdir(parents=True)
    with (
        mounted(tmp_path / "b/1", "mount", "--bind", tmp_path / "a/y"),
        mounted(tmp_path / "b/2", "mount", "--bind", tmp_path / "a/x"),
    ):
        config = ScanConfig(roots=[tmp_path / "a", tmp_path / "b"], scope=Scope.WITHIN, jobs=1)
        listed = b"".join(FORMATS["paths"].render(find_duplicates(config), Style(redundant=True))).splitlines()
        assert len(listed) == 1
        os.unlink(listed[0])
        assert len(list((tmp_path / "a").rglob("f"))) == 1


class Misplacing:
    """The system, but one folder is told to lie elsewhere in its volume, as where its mounts cannot be seen."""

    def __init__(self, folder: Path) -> None:
        self._system, self._folder = LinuxVolumes(), os.fsencode(folder)
        self.points, self.mounted, self.forget = frozenset, self._system.mounted, self._system.forget

    def locate(self, folder: bytes, device: int) -> Mount:
        """Return where a folder lies, or does not."""
        found = self._system.locate(folder, device)
        return found._replace(base=b"elsewhere/") if folder.startswith(self._folder) else found


@pytest.mark.parametrize("links", [0, 1])
def test_a_mount_that_cannot_be_seen_does_not_hold(tmp_path: Path, links: int) -> None:
    """Where places are told wrong, the count of links and the folders' own numbers still tell one name from two."""
    write(tmp_path / "card/a", b"a")
    for n in range(links):
        os.link(tmp_path / "card/a", tmp_path / f"further{n}")
    with (
        mounted(tmp_path / "archive", "mount", "--bind", tmp_path / "card"),
        volumes.use(Misplacing(tmp_path / "archive")),
    ):
        assert [f.reason for f in missing_of(tmp_path / "card", tmp_path / "archive").missing] == [
            MissingReason.SAME_FILE
        ]


def test_a_file_that_is_mounted_alone_where_mounts_cannot_be_seen_does_not_hold(tmp_path: Path) -> None:
    """A file of a single link has no further name that could keep it."""
    name, target = write(tmp_path / "card/a", b"a"), write(tmp_path / "archive/other", b"")
    done = subprocess.run(["mount", "--bind", name, target], check=False)
    need(done.returncode == 0, "this machine refuses mounts")
    try:
        with volumes.use(Misplacing(tmp_path / "archive")):
            assert len(missing_of(tmp_path / "card", tmp_path / "archive").missing) == 1
    finally:
        unmount(target)


def test_copies_of_one_root_do_not_span_the_roots_that_show_it(tmp_path: Path) -> None:
    """A second mount of a root, and a link to it, have no copy of their own."""
    for name in ("1", "2"):
        write(tmp_path / "a" / name, b"a" * 1000)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with mounted(tmp_path / "b", "mount", "--bind", tmp_path / "a") as view:
        roots = [tmp_path / "a", view, tmp_path / "link"]
        assert len(find_duplicates(ScanConfig(roots=roots, scope=Scope.ACROSS, jobs=1)).groups) == 0
        assert len(find_duplicates(ScanConfig(roots=roots, jobs=1)).groups) == 1


def test_another_file_system_on_the_card_is_left_out_where_asked(tmp_path: Path) -> None:
    """With one file system asked for, what is mounted below the card is not looked for, and the answer says so."""
    write(tmp_path / "card/a", b"a")
    write(tmp_path / "archive/a", b"a")
    with mounted(tmp_path / "card/in", "mount", "-t", "tmpfs", "tmpfs") as below:
        write(below / "b", b"b")
        assert missing_of(tmp_path / "card", tmp_path / "archive").totals.missing_files == 1
        one = MissingConfig(card=[tmp_path / "card"], archive=[tmp_path / "archive"], jobs=1, one_file_system=True)
        found = find_missing(one)
        assert (found.totals.missing_files, found.left_out) == (0, 1)
