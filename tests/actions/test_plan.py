"""The plan and its guard: marks refused as a whole, groups without a copy that counts, places that are held back."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from dedupe.actions import held_back
from dedupe.actions.held_back import Kind
from dedupe.actions.marks import MarkedFile, Marks, Rule
from dedupe.actions.plan import Limits, Plan, make
from dedupe.errors import UsageError
from tests.actions.common import content, copies, marked
from tests.cases.common import LINKS, not_on_windows
from tests.conftest import write


def why(plan: Plan) -> list[str]:
    """Return why names were refused."""
    return [refusal.reason for refusal in plan.refused]


def changed(marks: Marks, **changes: object) -> Marks:
    """Return marks whose first group is changed."""
    return replace(marks, groups=(replace(marks.groups[0], **changes), *marks.groups[1:]))  # type: ignore[arg-type]


def test_contradictions_refuse_the_whole_file(tmp_path: Path) -> None:
    """A group that keeps nothing, a name that stays and goes, one that goes twice, one outside the roots."""
    marks = copies(tmp_path, {"one": (["a"], ["b"]), "two": (["c"], ["d"])})
    one, two = marks.groups
    twice = replace(one, redundant=two.redundant)
    for bad, words in (
        (changed(marks, keep=()), "keep no copy of group 1"),
        (changed(marks, redundant=two.keep), "is to stay and is redundant too"),
        (replace(marks, groups=(twice, two)), "is marked redundant twice"),
        (replace(marks, roots=(os.fsencode(tmp_path / "other"),)), "lies outside the folders that were scanned"),
        (
            changed(marks, redundant=(MarkedFile(two.keep[0].path + b"x", links=one.keep[0].real_names),)),
            "redundant too",
        ),
    ):
        with pytest.raises(UsageError, match=f"{words}.*: nothing"):
            make(bad, Limits())


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        (".Trash-1000/files/a", "lies in a trash"),
        (".local/share/Trash/files/a", "lies in a trash"),
        ("$RECYCLE.BIN/a", "lies in a trash"),
        (".snapshots/1/a", "lies in a snapshot"),
        (".zfs/snapshot/a", "lies in a snapshot"),
        ("target/a", "lies in the target folder"),
    ],
)
def test_what_does_not_count_is_no_keeper(tmp_path: Path, place: str, reason: str) -> None:
    """A copy in a trash, a snapshot or the target may be gone tomorrow: the others are not redundant for it."""
    plan = make(copies(tmp_path, {"one": ([place], ["b"])}), Limits(target=os.fsencode(tmp_path / "target")))
    assert not plan.groups
    assert why(plan) == [f"only 0 of 1 copies would stay: {tmp_path / place} {reason}"]


def test_keepers_that_are_gone_or_of_another_size_do_not_count(tmp_path: Path) -> None:
    """With one good keeper the group goes on; with none, nothing of it."""
    marks = copies(tmp_path, {"one": (["a", "b"], ["c"])})
    (tmp_path / "a").unlink()
    assert len(make(marks, Limits()).groups) == 1
    (tmp_path / "b").write_bytes(b"short")
    plan = make(marks, Limits())
    assert not plan.groups
    assert why(plan)[0].startswith("only 0 of 1 copies would stay")


def test_no_inode_is_victim_and_keeper(tmp_path: Path) -> None:
    """A name that has become one of the keeper's is done already; one of another group's keeper is refused."""
    marks = copies(tmp_path, {"one": (["a"], ["b"]), "two": (["c"], ["d"])})
    (tmp_path / "b").unlink()
    os.link(tmp_path / "a", tmp_path / "b")
    (tmp_path / "d").unlink()
    os.link(tmp_path / "a", tmp_path / "d")
    plan = make(marks, Limits())
    assert not plan.groups
    assert [each.reason for each in plan.already] == ["is the same file as a copy that stays"]
    assert why(plan) == ["is to stay elsewhere in the marks"]


def test_protected_folders_are_asked_again(tmp_path: Path) -> None:
    """What the marks say of a file below a protected folder does not matter: it stays."""
    rules = [Rule("protect", os.fsencode(tmp_path / "safe"))]
    plan = make(copies(tmp_path, {"one": (["a"], ["safe/b"])}, rules=rules), Limits())
    assert why(plan) == ["lies in a protected folder"]


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("X.app/Contents/b", Kind.BUNDLES),
        ("x.screenflow/b", Kind.BUNDLES),
        ("x.sparsebundle/bands/b", Kind.BUNDLES),
        ("repo/.git/objects/b", Kind.REPOSITORIES),
        ("Photos.photoslibrary/b", Kind.PHOTO_LIBRARIES),
        (".venv/lib/b", Kind.ENVIRONMENTS),
        ("web/node_modules/x/b", Kind.PACKAGES),
    ],
)
def test_what_belongs_together_is_held_back(tmp_path: Path, place: str, kind: Kind) -> None:
    """Unless its kind is named; keepers may lie there."""
    marks = copies(tmp_path, {"one": (["a"], [place])})
    assert why(make(marks, Limits())) == [f"is held back ({kind}): --also {kind} would take it too"]
    assert len(make(marks, Limits(also=[kind])).groups) == 1
    assert len(make(marked(tmp_path, {"one": ([place], ["a"])}), Limits()).groups) == 1


def test_a_virtual_environment_is_known_by_its_mark(tmp_path: Path) -> None:
    """Whatever its folder is called."""
    write(tmp_path / "env/pyvenv.cfg", b"")
    held_back.forget()
    assert held_back.kind_of(os.fsencode(tmp_path / "env/lib/x.py")) is Kind.ENVIRONMENTS
    assert held_back.kind_of(os.fsencode(tmp_path / "other/x.py")) is None


def test_where_symbolic_links_lead_is_held_back_if_the_name_goes(tmp_path: Path) -> None:
    """They would lead to nothing; a link or shared blocks leave the name as it is."""
    marks = copies(tmp_path, {"one": (["a"], ["b"])})
    (file,) = marks.groups[0].redundant
    marks = changed(marks, redundant=(file._replace(symlinks=(b"/s",)),))
    assert "symlink-targets" in why(make(marks, Limits()))[0]
    assert len(make(marks, Limits(names_go=False)).groups) == 1
    assert len(make(marks, Limits(also=[Kind.SYMLINK_TARGETS])).groups) == 1


@not_on_windows(LINKS)
def test_a_link_that_took_a_files_place_is_no_file(tmp_path: Path) -> None:
    """Neither as keeper nor as victim."""
    marks = copies(tmp_path, {"one": (["a"], ["b", "c"])})
    (tmp_path / "b").unlink()
    (tmp_path / "b").symlink_to(tmp_path / "a")
    plan = make(marks, Limits())
    assert why(plan) == ["is no regular file any more"]
    assert len(plan.groups[0].victims) == 1


def test_victims_that_are_gone_are_done_already(tmp_path: Path) -> None:
    """So a second run of the same marks ends well."""
    marks = copies(tmp_path, {"one": (["a"], ["b"])})
    (tmp_path / "b").unlink()
    assert [each.reason for each in make(marks, Limits()).already] == ["is gone"]


def test_contents_of_the_helper_differ() -> None:
    """Else all of these tests would compare equal files."""
    assert content("one") != content("two")
