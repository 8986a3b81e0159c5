"""More of the kinds that public reports tell of: what strangers do to files between a scan and an act."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from dedupe.actions import apply as applying
from dedupe.actions.apply import ActionName, Order
from dedupe.actions.journal import Journal
from dedupe.actions.marks import MarkedFile
from dedupe.actions.records import Intent
from dedupe.storage import rename
from tests import disks
from tests.actions.common import ON_LINUX, act, content, copies, marked, reasons, snapshot, take_back
from tests.actions.test_plan import changed
from tests.cases.common import need_root
from tests.conftest import write

pytestmark = ON_LINUX
ACTIONS = [ActionName.MOVE_TO, ActionName.DELETE, ActionName.HARDLINK, ActionName.TRASH]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Return where the journals of a test lie."""
    return tmp_path / "journal"


@pytest.mark.parametrize("action", ACTIONS)
def test_a79_a_victim_that_two_mounts_show_is_one_victim(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """Listed by both paths it goes once, and comes back once."""
    need_root()
    top = tmp_path / "top"
    marks = copies(top, {"one": (["keep/a"], ["go/b"])})
    before = snapshot(top)
    (top / "alias").mkdir()
    with disks.mounted(top / "alias", "--bind", top / "go"):
        twice = (*marks.groups[0].redundant, MarkedFile(os.fsencode(top / "alias/b")))
        tally = act(changed(marks, redundant=twice), action, journal, target=tmp_path / "target")
        assert (tally.failed, tally.unknown) == ([], [])
        assert tally.done == 1
        assert take_back(journal).done == 1
    (top / "alias").rmdir()
    assert snapshot(top) == before


@pytest.mark.parametrize("action", ACTIONS)
def test_a79_a_listed_name_that_is_another_file_by_now_is_no_other_way(
    tmp_path: Path, journal: Path, action: ActionName
) -> None:
    """Names of one file that the marks list and the disk denies: nothing is said to be done about them."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["keep/a"], ["go/b"])})
    write(top / "go/c", content("other"))
    (file,) = marks.groups[0].redundant
    marks = changed(marks, redundant=(file._replace(links=(os.fsencode(top / "go/c"),)),))
    tally = act(marks, action, journal, target=tmp_path / "target")
    assert tally.already == []
    assert "is another file by now" in reasons(tally)[0]
    assert (top / "go/c").read_bytes() == content("other")


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("which", ["keep/a", "go/b"])
def test_a01_either_side_replaced_under_its_size_and_date(
    tmp_path: Path, journal: Path, action: ActionName, which: str
) -> None:
    """By another file with a rename, or by writing into it: the bytes decide, for the copy that stays too."""
    for number, way in enumerate(("in place", "another file")):
        top = tmp_path / f"top{number}"
        marks = copies(top, {"one": (["keep/a"], ["go/b"])})
        path, kept = top / which, (top / which).stat()
        if way == "another file":
            os.replace(write(top / "new", content("other")), path)
        else:
            path.write_bytes(content("other"))
        os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))
        before = snapshot(top)
        assert act(marks, action, journal, target=tmp_path / f"target{number}").done == 0
        assert snapshot(top) == before


@pytest.mark.parametrize("action", ACTIONS)
def test_a06_a_name_that_came_since_stays(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """A further hard link to a victim that nobody weighed keeps its content."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["keep/a"], ["go/b"])})
    os.link(top / "go/b", top / "new")
    assert act(marks, action, journal, target=tmp_path / "target").done == 1
    assert (top / "new").read_bytes() == content("one")


@pytest.mark.parametrize(
    "name", ["a b", "q'uote", 'd"q', "a&b;rm -rf x", "$(x)", "-rf", "new\nline", "\x1b[2Jx", "%41"]
)
def test_a80_odd_names_go_to_the_trash_and_back(tmp_path: Path, journal: Path, name: str) -> None:
    """Names are never a shell's, nor an info file's: as a folder's name too."""
    marks = copies(tmp_path / "top", {"one": (["k"], [name, f"dir{name}/{name}"])})
    before = snapshot(tmp_path / "top")
    assert act(marks, ActionName.TRASH, journal).done == 2
    assert take_back(journal).done == 2
    assert snapshot(tmp_path / "top") == before


@pytest.mark.parametrize("action", ACTIONS)
def test_a36_a47_every_mode_comes_back(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """Setuid, sticky, no rights at all: whatever a file has, undo gives back."""
    need_root()
    modes = [0o000, 0o400, 0o444, 0o4755, 0o2755, 0o1644]
    marks = copies(tmp_path / "top", {f"{mode:o}": ([f"keep/{mode:o}"], [f"go/{mode:o}"]) for mode in modes})
    for mode in modes:
        for folder in ("keep", "go"):
            (tmp_path / f"top/{folder}/{mode:o}").chmod(mode)
    before = snapshot(tmp_path / "top")
    assert act(marks, action, journal, target=tmp_path / "target").done == len(modes)
    take_back(journal)
    assert snapshot(tmp_path / "top") == before


def test_a54_a63_a_shared_file_can_be_shared_again(tmp_path: Path, journal: Path) -> None:
    """Sparse, empty-ended and odd-sized files of one content: bytes, holes and dates stay, twice over."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", "btrfs") as made:
        top = made.folder / "top"
        marks = copies(top, {"one": (["a"], ["b"]), "two": (["c"], ["d"])}, size=(1 << 20) + 13)
        for name in "ab":
            kept = (top / name).stat()
            with (top / name).open("r+b") as file:
                file.truncate(4096)
                file.truncate((1 << 20) + 13)
            os.utime(top / name, ns=(kept.st_atime_ns, kept.st_mtime_ns))
        marks = marked(top, {"one": (["a"], ["b"]), "two": (["c"], ["d"])})
        before = snapshot(top)
        assert reasons(act(marks, ActionName.REFLINK, journal, verify=True)) == []
        assert act(marks, ActionName.REFLINK, journal, verify=True).freed == 0
        assert snapshot(top) == before


@pytest.mark.parametrize("action", [*ACTIONS, ActionName.REFLINK])
def test_a82_a_dry_run_leaves_no_trace(tmp_path: Path, journal: Path, action: ActionName) -> None:
    """No folder, no journal, no trash, no time of access that is later than the comparing makes it."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", "btrfs") as made:
        marks = copies(made.folder / "top", {"one": (["a"], ["b"])}, size=1 << 20)
        before = sorted(made.folder.rglob("*"))
        tally = act(marks, action, journal, target=made.folder / "target", dry_run=True)
        assert (tally.done, tally.run) == (1, "")
        assert sorted(made.folder.rglob("*")) == before
        assert not journal.exists()


@pytest.mark.parametrize("flags", [True, False])
@pytest.mark.parametrize("action", ACTIONS)
def test_a85_nothing_is_replaced_whatever_appears_at_the_last_moment(
    tmp_path: Path,
    journal: Path,
    action: ActionName,
    flags: bool,  # noqa: FBT001 - a parameter of the test
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file that takes the new place between the choice and the rename keeps it, with and without flags of rename."""
    top = tmp_path / "top"
    marks = copies(top, {"one": (["keep/a"], ["go/b"])})
    usual = Journal.intend
    taken: list[Path] = []

    def taken_before(self: Journal, intents: Iterable[Intent]) -> None:
        found = list(intents)
        for intent in found:
            place = intent.target or os.path.join(os.path.dirname(intent.path), intent.temporary or b"")
            if not taken:
                taken.append(write(Path(os.fsdecode(place)), b"somebody's own"))
        usual(self, found)

    monkeypatch.setattr(Journal, "intend", taken_before)
    if not flags:
        monkeypatch.setattr(rename, "_rename_with", no_flags)
    act(marks, action, journal, target=tmp_path / "target")
    assert taken[0].read_bytes() == b"somebody's own"
    assert (top / "keep/a").read_bytes() == content("one")


def no_flags(*_: object) -> None:
    """Answer as a file system does that knows no flags of rename."""
    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def test_a77_looking_ahead_reads_nothing(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan and summary of large files cost no reading."""
    marks = copies(tmp_path / "top", {"one": (["a"], ["b"])}, size=1 << 20)

    def read(*_: object) -> bytes:
        raise AssertionError

    for name in ("read", "pread", "preadv", "readv"):
        monkeypatch.setattr(os, name, read)
    prepared = applying.prepare(marks, Order(action=ActionName.DELETE), str(journal))
    assert applying.foresee(prepared).files == 1
