"""Folders that decide: protected, target, trash, snapshot, memory; however they are reached."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from dedupe.actions import held_back
from dedupe.actions.apply import ActionName
from dedupe.actions.bounds import Inside, out_of_the_way
from dedupe.actions.held_back import Kind
from dedupe.actions.marks import MarkedFile, Rule
from dedupe.errors import UsageError
from tests import disks
from tests.actions.common import ON_LINUX, act, content, copies, marked, reasons
from tests.actions.test_plan import changed
from tests.conftest import write

pytestmark = ON_LINUX


@pytest.mark.parametrize("name", [".recycle", "files_trashbin", ".dtrash", ".stversions", ".Trash-1000", ".snapshots"])
def test_trashes_and_snapshots_by_name(tmp_path: Path, journal: Path, name: str) -> None:
    """No copy there is one that stays."""
    marks = copies(tmp_path / "top", {"one": ([f"{name}/a"], ["b"])})
    assert act(marks, ActionName.DELETE, journal).done == 0
    assert out_of_the_way(os.fsencode(tmp_path / name / "deep"))


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


def test_a_copy_in_memory_stands_for_none_on_a_disk(tmp_path: Path, journal: Path) -> None:
    """A restart removes it; among copies in memory one may stay."""
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
