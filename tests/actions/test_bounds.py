"""Folders that decide: protected, target, trash, snapshot, memory; however they are reached."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from dedupe.actions import held_back
from dedupe.actions.apply import ActionName
from dedupe.actions.bounds import Inside
from dedupe.actions.held_back import Kind
from dedupe.actions.marks import MarkedFile, Rule
from dedupe.actions.plan import Limits, make
from dedupe.errors import UsageError
from dedupe.storage import memory
from dedupe.storage.lasting import out_of_the_way
from tests import disks, file_system_kinds
from tests.actions.common import ON_LINUX, act, content, copies, marked, reasons
from tests.actions.test_plan import changed
from tests.conftest import need, write

pytestmark = ON_LINUX


TRASHES = [
    ".recycle",
    ".Recycle.Bin",
    "files_trashbin",
    "files_versions",
    ".dropbox.cache",
    ".dtrash",
    ".stversions",
    ".Trash-1000",
    ".Trashes/501",
    "#recycle",
    "@Recycle",
    ".sync/Archive",
    ".local/share/Trash/files",
    ".recycler",
    ".trashbox",
]
SNAPSHOTS = [
    ".snapshots",
    "snapshots/daily.0",
    "hourly.5",
    "weekly.3",
    "monthly.11",
    "yearly.1",
    "alpha.0",
    "beta.2",
    "gamma.1",
    "_delete.4711",
    "timeshift/snapshots/2026-11-30_20-00-01/localhost",
    "timeshift-btrfs/snapshots/2026/@home",
    "backintime/host/ann/1/20261130-200001-123/backup",
    "Backups.backupdb/mac/Latest",
    ".snap",
    ".zfs/snapshot/x",
    "~snapshot",
    "#snapshot",
    "@Recently-Snapshot",
    "@GMT-2026.11.30-20.00.01",
    ".btrbk_snapshots",
    "com.apple.TimeMachine.localsnapshots/Backups",
]
EMPTIED = ("lost+found", "found.000", "Windows.old/Users", "System Volume Information")


@pytest.mark.parametrize("name", [*TRASHES, *SNAPSHOTS, *EMPTIED])
def test_trashes_and_snapshots_by_name(tmp_path: Path, name: str) -> None:
    """No copy there is one that stays, whatever the case of the name, and nothing there is a victim."""
    for shown in (name, name.upper()):
        assert out_of_the_way(os.fsencode(tmp_path / shown / "deep"))
    plan = make(copies(tmp_path / "top", {"one": ([f"{name}/a"], ["b"])}), Limits())
    assert (plan.groups, len(plan.refused)) == ([], 1)
    plan = make(copies(tmp_path / "top", {"one": (["b"], [f"{name}/a"])}), Limits())
    assert (plan.groups, len(plan.refused)) == ([], 1)


@pytest.mark.parametrize(
    "name", ["daily", "daily.mp4", "daily.0.jpg", "snapshots/b", "Trash", "lost", "recycle", "my.snap"]
)
def test_names_that_only_look_like_them(tmp_path: Path, name: str) -> None:
    """Folders of users count, whatever words are in their names."""
    assert out_of_the_way(os.fsencode(tmp_path / name)) is None


@pytest.mark.parametrize(
    "name", [".trashed-1767225600-IMG_1.jpg", ".nfs000000000012345600000001", ".fuse_hidden0000000100000001"]
)
def test_files_that_were_removed_count_no_more(tmp_path: Path, name: str) -> None:
    """Android, NFS and FUSE keep a removed file under another name for a while."""
    plan = make(copies(tmp_path / "top", {"one": ([name], ["b"])}), Limits())
    assert (plan.groups, len(plan.refused)) == ([], 1)
    assert "was removed already" in plan.refused[0].reason


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (Rule("protect-name", b"*.psd"), "has a protected name"),
        (Rule("only-in", b"{top}/elsewhere"), "lies outside the folders where copies may go"),
        (Rule("protect", b"{top}/sub"), "lies in a protected folder"),
    ],
)
def test_rules_are_asked_again_at_the_act(tmp_path: Path, journal: Path, rule: Rule, told: str) -> None:
    """Marks that were changed after they were made do not pass by the rules that they name."""
    value = rule.value.replace(b"{top}", os.fsencode(tmp_path / "top"))
    marks = copies(tmp_path / "top", {"one": (["a"], ["sub/x.psd"])}, rules=[Rule(rule.name, value)])
    assert reasons(act(marks, ActionName.DELETE, journal)) == [told]


def test_a_rule_that_may_mean_any_folder_is_refused(tmp_path: Path, journal: Path) -> None:
    """A path that is not absolute depends on where somebody stands."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])}, rules=[Rule("protect", b"sub")])
    with pytest.raises(UsageError, match="no absolute path"):
        act(marks, ActionName.DELETE, journal)


def test_another_mount_of_a_folder_is_that_folder(tmp_path: Path, journal: Path) -> None:
    """A target, or a protected folder, by way of a bind mount: nothing passes."""
    one, two = tmp_path / "one", tmp_path / "two"
    for name in ("dups/x", "in/y"):
        write(one / name, content("one"))
    with disks.mounted(two, "--bind", one):
        marks = marked(tmp_path, {"one": (["one/dups/x"], ["two/in/y"])})
        told = reasons(act(marks, ActionName.MOVE_TO, journal, target=two / "dups"))
        assert "lies in the target folder" in told[0]
        marks = replace(marks, rules=[Rule("protect", os.fsencode(one / "in"))])
        assert reasons(act(marks, ActionName.DELETE, journal)) == ["lies in a protected folder"]
        assert Inside([os.fsencode(one / "in")]).has(os.fsencode(two / "in/deep/er"))
        assert not Inside([os.fsencode(one / "in")]).has(os.fsencode(two / "dups/x"))


def test_a_folder_in_other_letters_is_that_folder(tmp_path: Path, journal: Path) -> None:
    """Where a volume knows no case, and no inode number tells folders apart: what counts is not taken for another."""
    with file_system_kinds.mounted(tmp_path, "exfat") as top:
        marks = copies(top, {"one": (["Downloads/F"], ["old/F"])})
        told = reasons(act(marks, ActionName.MOVE_TO, journal, target=top / "downloads"))
        assert "lies in the target folder" in told[0]
        protected = [Rule("protect", os.fsencode(top / "OLD"))]
        assert reasons(act(replace(marks, rules=protected), ActionName.DELETE, journal)) == [
            "lies in a protected folder"
        ]
        assert act(marks, ActionName.MOVE_TO, journal, target=top / "elsewhere").done == 1


def test_a_copy_in_memory_stands_for_none_on_a_disk(tmp_path: Path, journal: Path) -> None:
    """A restart removes it; among copies in memory one may stay."""
    need(not memory.holds(os.fsencode(tmp_path)), "a disk for temporary files")
    with (
        disks.disk(tmp_path / "image", tmp_path / "disk") as made,
        disks.mounted(tmp_path / "m", "-t", "tmpfs", "t") as m,
    ):
        for path in (m / "a", m / "b", made.folder / "c"):
            write(path, content("one"))
        marks = marked(tmp_path, {"one": (["m/a"], ["disk/c"])})
        assert "lies in memory" in reasons(act(marks, ActionName.DELETE, journal))[0]
        assert (made.folder / "c").exists()
        marks = marked(tmp_path, {"one": (["m/a"], ["m/b"])})
        assert act(marks, ActionName.DELETE, journal).done == 1


def test_a_read_only_snapshot_is_no_copy_that_stays(tmp_path: Path, journal: Path) -> None:
    """Wherever it lies and whatever its name: somebody will remove it."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", "btrfs") as made:
        disks.run("btrfs", "subvolume", "create", made.folder / "live")
        write(made.folder / "live/a", content("one"))
        disks.run("btrfs", "subvolume", "snapshot", "-r", made.folder / "live", made.folder / "monday")
        marks = marked(made.folder, {"one": (["monday/a"], ["live/a"])})
        assert "snapshot" in reasons(act(marks, ActionName.DELETE, journal))[0]
        assert (made.folder / "live/a").exists()


@pytest.mark.parametrize("below", ["", "/deep"])
def test_a_snapshot_that_can_be_written_is_no_copy_that_stays(tmp_path: Path, journal: Path, below: str) -> None:
    """The kernel knows from which subvolume it was made; the subvolume itself, and one of its own, count."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", "btrfs") as made:
        disks.run("btrfs", "subvolume", "create", made.folder / "live")
        write(made.folder / f"live{below}/a", content("one"))
        disks.run("btrfs", "subvolume", "snapshot", made.folder / "live", made.folder / "monday")
        disks.run("btrfs", "subvolume", "create", made.folder / "other")
        write(made.folder / "other/a", content("one"))
        marks = marked(made.folder, {"one": ([f"monday{below}/a"], [f"live{below}/a"])})
        assert "snapshot" in reasons(act(marks, ActionName.DELETE, journal))[0]
        assert (made.folder / f"live{below}/a").exists()
        marks = marked(made.folder, {"one": ([f"live{below}/a"], ["other/a"])})
        assert act(marks, ActionName.DELETE, journal).done == 1


def test_a_snapshot_that_can_be_written_to_loses_nothing(tmp_path: Path, journal: Path) -> None:
    """What only its subvolume would keep stays in it too: who made a snapshot wants it whole."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", "btrfs") as made:
        disks.run("btrfs", "subvolume", "create", made.folder / "live")
        write(made.folder / "live/a", content("one"))
        disks.run("btrfs", "subvolume", "snapshot", made.folder / "live", made.folder / "monday")
        marks = marked(made.folder, {"one": (["live/a"], ["monday/a"])})
        for action in (ActionName.DELETE, ActionName.TRASH):
            assert reasons(act(marks, action, journal)) == ["lies in a snapshot"]
        assert (made.folder / "monday/a").exists()


def test_a_snapshot_that_is_mounted_as_the_system_counts(tmp_path: Path, journal: Path) -> None:
    """After a rollback the system runs from what was a snapshot; and within one, copies are as good as one another."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", "btrfs") as made:
        disks.run("btrfs", "subvolume", "create", made.folder / "live")
        for name in ("a", "b"):
            write(made.folder / "live" / name, content("one"))
        disks.run("btrfs", "subvolume", "snapshot", made.folder / "live", made.folder / "monday")
        marks = marked(made.folder, {"one": (["monday/a"], ["monday/b"])})
        assert act(marks, ActionName.DELETE, journal).done == 1
        with disks.mounted(tmp_path / "root", "-o", "subvol=monday", Path(made.device)) as root:
            marks = marked(tmp_path, {"one": (["root/a"], ["disk/live/b"])})
            assert act(marks, ActionName.DELETE, journal).done == 1
            assert (root / "a").exists()


def test_a_deep_tree_is_no_trouble(tmp_path: Path) -> None:
    """Deeper than Python would call itself."""
    deep = os.fsencode(tmp_path) + b"/d" * 1500
    assert held_back.kind_of(deep + b"/f") is None
    assert held_back.kind_of(os.fsencode(tmp_path) + b"/x.app" + b"/d" * 1500 + b"/f") is Kind.BUNDLES


def test_a_bare_repository_is_one(tmp_path: Path, journal: Path) -> None:
    """Whatever its name."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["repo/objects/b"])})
    for name in ("HEAD", "refs/heads/main"):
        write(tmp_path / "top/repo" / name, b"x")
    assert "held back (repositories)" in reasons(act(marks, ActionName.DELETE, journal))[0]


def test_further_names_keep_the_tree_of_their_own_root(tmp_path: Path, journal: Path) -> None:
    """A file with names under several roots: each goes below the folder of its root."""
    marks = copies(tmp_path, {"one": (["k/x"], ["r1/a/x"])})
    for name in ("r2/b/x", "r2/c/x"):
        (tmp_path / name).parent.mkdir(parents=True)
        os.link(tmp_path / "r1/a/x", tmp_path / name)
    (file,) = marks.groups[0].redundant
    linked = file._replace(links=tuple(os.fsencode(tmp_path / name) for name in ("r2/b/x", "r2/c/x")))
    roots = tuple(os.fsencode(tmp_path / name) for name in ("k", "r1", "r2"))
    marks = replace(changed(marks, redundant=(linked,)), roots=roots)
    assert act(marks, ActionName.MOVE_TO, journal, target=tmp_path / "out").done == 3
    found = sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("x"))
    assert found == ["r1/a/x", "r2/b/x", "r2/c/x"]


def test_files_that_were_named_themselves_do_not_collide(tmp_path: Path, journal: Path) -> None:
    """Of equal names the second is refused before anything is done, in a dry run too."""
    marks = copies(tmp_path, {"one": (["a/f"], ["b/f", "c/f"])})
    marks = replace(marks, roots=tuple(os.fsencode(tmp_path / name) for name in ("a/f", "b/f", "c/f")))
    for dry in (True, False):
        tally = act(marks, ActionName.MOVE_TO, journal, target=tmp_path / "out", dry_run=dry)
        assert (tally.done, len(tally.refused), tally.failed) == (1, 1, [])


def test_one_file_in_two_groups_is_acted_on_once(tmp_path: Path, journal: Path) -> None:
    """By whatever names: the second is refused, and says why."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["a"], ["b"])})
    os.link(top / "b", top / "c")
    write(top / "d", content("one"))
    (group,) = marks.groups
    second = replace(
        group, id=2, keep=(MarkedFile(os.fsencode(top / "d")),), redundant=(MarkedFile(os.fsencode(top / "c")),)
    )
    tally = act(replace(marks, groups=[group, second]), ActionName.DELETE, journal)
    assert (tally.done, len(tally.refused)) == (1, 1)
    assert "which is in another group" in reasons(tally)[0]


@contextmanager
def behind(top: Path, by: str) -> Iterator[Path]:
    """Yield a folder that lies in memory by way of another mount; `top` is in memory."""
    for name in ("up", "work", "low", "here", "there"):
        (top / name).mkdir()
    if by == "overlay":
        layers = f"lowerdir={top / 'low'},upperdir={top / 'up'},workdir={top / 'work'}"
        with disks.mounted(top / "there", "-t", "overlay", "-o", layers, "overlay") as there:
            yield there
    elif by in ("bindfs", "mergerfs"):
        need(shutil.which(by), by)
        options = ["-o", "minfreespace=0"] if by == "mergerfs" else []
        disks.run(by, *options, top / "here", top / "there")
        try:
            yield top / "there"
        finally:
            disks.unmount(top / "there")
    elif by == "zram":
        if not os.path.exists("/sys/class/zram-control/hot_add"):
            pytest.skip("this kernel makes no disks of memory")
        number = Path("/sys/class/zram-control/hot_add").read_text().strip()
        try:
            Path(f"/sys/block/zram{number}/disksize").write_text("64M")
            disks.run("mkfs.ext4", "-q", f"/dev/zram{number}")
            with disks.mounted(top / "there", f"/dev/zram{number}") as there:
                yield there
        finally:
            Path("/sys/class/zram-control/hot_remove").write_text(number)
    else:
        with disks.disk(top / "image", top / "there", by) as made:
            yield made.folder


@pytest.mark.parametrize("by", ["overlay", "bindfs", "mergerfs", "ext4", "btrfs", "zram"])
def test_a_copy_in_memory_by_way_of_another_mount_stands_for_none_on_a_disk(
    tmp_path: Path, journal: Path, by: str
) -> None:
    """Whatever lies between: the upper layer of a live system, a program that shows a folder, an image, a disk."""
    need(not memory.holds(os.fsencode(tmp_path)), "a disk for temporary files")
    write(tmp_path / "disk/c", content("one"))
    with disks.memory(tmp_path / "m") as m, behind(m, by) as there:
        for name in "ab":
            write(there / name, content("one"))
        marks = marked(tmp_path, {"one": ([str(there / "a")], ["disk/c"])})
        assert "lies in memory" in reasons(act(marks, ActionName.DELETE, journal))[0]
        assert (tmp_path / "disk/c").exists()
        marks = marked(tmp_path, {"one": ([str(there / "a")], [str(there / "b")])})
        assert act(marks, ActionName.DELETE, journal).done == 1


@pytest.mark.parametrize("by", ["overlay", "bindfs", "mergerfs", "ext4"])
def test_a_copy_on_a_disk_by_way_of_another_mount_stands(tmp_path: Path, journal: Path, by: str) -> None:
    """What is shown once more, or lies in an image, lasts as long as its disk."""
    need(not memory.holds(os.fsencode(tmp_path)), "a disk for temporary files")
    write(tmp_path / "disk/c", content("one"))
    (tmp_path / "shown").mkdir()
    with behind(tmp_path / "shown", by) as there:
        write(there / "a", content("one"))
        marks = marked(tmp_path, {"one": ([str(there / "a")], ["disk/c"])})
        tally = act(marks, ActionName.DELETE, journal)
        assert (tally.done, reasons(tally)) == (1, [])


@pytest.mark.parametrize("is_volatile", [True, False])
def test_an_overlay_that_may_lose_what_it_was_given_is_none_to_rely_on(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch, *, is_volatile: bool
) -> None:
    """A volatile one waits for no disk; one with layers of relative names may have them in memory."""
    write(tmp_path / "disk/c", content("one"))
    for name in ("up", "work", "low"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    top = f"{tmp_path}/" if is_volatile else ""
    layers = f"lowerdir={top}low,upperdir={top}up,workdir={top}work{',volatile' if is_volatile else ''}"
    with disks.mounted(tmp_path / "there", "-t", "overlay", "-o", layers, "overlay") as there:
        write(there / "a", content("one"))
        marks = marked(tmp_path, {"one": (["there/a"], ["disk/c"])})
        assert "lies on an overlay" in reasons(act(marks, ActionName.DELETE, journal))[0]
