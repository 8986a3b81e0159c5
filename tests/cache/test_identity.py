"""What a remembered file is known by: its volume and its path there, never by where or when that was mounted."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupe.cache.queries import RememberedRow
from dedupe.cache.store import Cache
from dedupe.files.table import FileTable
from dedupe.storage.volume import Volume
from tests.cache_helpers import AT_REST, DISK, NOW, ONE, mounted, one_file, recall, remember, rows

_KNOWN = [(0, b"F" * 16, b"D" * 32)]
_LOOSE = DISK._replace(stable_inodes=False)
_UNDATED = DISK._replace(keeps_change_time=False)

volumes = st.builds(
    Volume,
    id=st.sampled_from(["uuid:a", "uuid:b", "serial:a"]),
    instance=st.sampled_from(["1", "2"]),
    host=st.sampled_from(["here", "there"]),
    device=st.integers(1, 3),
    stable_inodes=st.booleans(),
    keeps_change_time=st.sampled_from([True]),
)
stats = st.builds(
    AT_REST._replace,
    size=st.sampled_from([1, 2]),
    changed_ns=st.sampled_from([5, 6]),
    inode=st.sampled_from([0, 7, 8, 2**63, 2**64 + 7, 2**127]),
)
bases = st.sampled_from([b"", b"a/"])
names = st.sampled_from([b"x", b"y"])


def test_the_mount_point_is_no_part_of_it(tmp_path: Path) -> None:
    """The same disk elsewhere, mounted from a folder of its own, on another computer, with another number."""
    remember(tmp_path / "c.db", one_file(folder=b"/media/a/photos", mount=mounted(b"/media/a")))
    there = DISK._replace(instance="other", host="there", device=99, mount_point=b"/mnt")
    assert recall(tmp_path / "c.db", one_file(folder=b"/mnt/photos", mount=mounted(b"/mnt", there))) == _KNOWN
    assert recall(tmp_path / "c.db", one_file(folder=b"/bound", mount=mounted(b"/bound", there, b"photos/"))) == _KNOWN


def test_the_volume_is_part_of_it(tmp_path: Path) -> None:
    """Equal in path and all numbers, but another disk."""
    remember(tmp_path / "c.db", one_file())
    assert recall(tmp_path / "c.db", one_file(mount=mounted(volume=DISK._replace(id="uuid:other")))) == []
    remember(tmp_path / "c.db", one_file(mount=mounted(volume=DISK._replace(id="uuid:other"))), digest=b"E" * 32)
    assert recall(tmp_path / "c.db", one_file()) == _KNOWN
    assert rows(tmp_path / "c.db") == 2


def test_no_device_number_is_stored(tmp_path: Path) -> None:
    """It would be another at the next mount."""
    remember(tmp_path / "c.db", one_file())
    database = sqlite3.connect(tmp_path / "c.db")
    sql = " ".join(row[0] for row in database.execute("SELECT sql FROM sqlite_schema WHERE sql NOT NULL"))
    assert database.execute("SELECT number, id, label, file_system, read_ns FROM volumes").fetchall() == [
        (1, "uuid:disk", "photos", "ext4", NOW)
    ]
    database.close()
    assert "device" not in sql


def test_inode_numbers_that_do_not_stay_are_no_part_of_it(tmp_path: Path) -> None:
    """There the path alone is the key, and the number that is stored is none."""
    remember(tmp_path / "c.db", one_file(mount=mounted(volume=_LOOSE)))
    database = sqlite3.connect(tmp_path / "c.db")
    assert database.execute("SELECT inode FROM files").fetchall() == [(0,)]
    database.close()
    assert recall(tmp_path / "c.db", one_file(AT_REST._replace(inode=5), mount=mounted(volume=_LOOSE))) == _KNOWN
    assert recall(tmp_path / "c.db", one_file(AT_REST._replace(inode=5))) == []


@pytest.mark.parametrize(
    ("volume", "changed_ns"), [(_UNDATED, AT_REST.changed_ns), (DISK, 0)], ids=["not kept", "none"]
)
def test_r5_without_a_change_time_nothing_is_believed_unseen(tmp_path: Path, volume: Volume, changed_ns: int) -> None:
    """What is remembered comes apart, to be held against the fingerprint that the file has now."""
    table = one_file(AT_REST._replace(changed_ns=changed_ns), mount=mounted(volume=volume))
    remember(tmp_path / "c.db", table)
    cache = Cache(tmp_path / "c.db", "sha256", NOW)
    (found,) = cache.recall(table, [0], ONE)
    cache.close()
    assert not found.members
    assert not found.digested
    assert found.unverified == {0: RememberedRow(b"F" * 16, b"D" * 32, b"")}


def test_of_two_clones_nothing_is_known(tmp_path: Path) -> None:
    """Disks that share every number may share all that a stat tells: while both are there, neither has rows."""
    twin = DISK._replace(instance="second", device=8)
    both, one = FileTable(), FileTable()
    for point, volume in ((b"/m", DISK), (b"/n", twin)):
        both.add(both.enter(point, mounted(point, volume)), b"f", AT_REST)
    one.add(one.enter(b"/m", mounted(b"/m", DISK)), b"f", AT_REST)
    remember(tmp_path / "c.db", both)
    assert not (tmp_path / "c.db").exists() or rows(tmp_path / "c.db") == 0
    remember(tmp_path / "c.db", one)
    assert recall(tmp_path / "c.db", one) == _KNOWN
    assert recall(tmp_path / "c.db", both) == []


def test_two_names_of_one_place_are_both_known(tmp_path: Path) -> None:
    """A folder that is mounted twice has each of its files twice in the table, and one row."""
    table = FileTable()
    for point in (b"/m", b"/n"):
        table.add(table.enter(point, mounted(point)), b"f", AT_REST)
    remember(tmp_path / "c.db", table)
    assert rows(tmp_path / "c.db") == 1
    assert recall(tmp_path / "c.db", table) == [*_KNOWN, (1, b"F" * 16, b"D" * 32)]


@given(volumes, bases, names, stats, volumes, bases, names, stats)
@settings(max_examples=100, deadline=None)
def test_a_row_is_believed_of_the_same_file_only(  # noqa: PLR0917
    volume: Volume, base: bytes, name: bytes, stat_: object, volume2: Volume, base2: bytes, name2: bytes, stat2: object
) -> None:
    """Believed is what has the same volume and stat, and the same path or, where that identifies it, inode number."""
    before = one_file(stat_, name, b"/m", mounted(b"/m", volume, base))  # type: ignore[arg-type]
    now = one_file(stat2, name2, b"/n/", mounted(b"/n", volume2, base2))  # type: ignore[arg-type]
    same_file = volume.id == volume2.id and before.stat(0) == now.stat(0)
    same_path = base + name == base2 + name2
    by_number = volume2.stable_inodes and now.inode_of(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(os.path.join(folder, "c.db"))
        remember(path, before)
        for _ in range(2):  # also once the row has moved
            assert recall(path, now) == (_KNOWN if same_file and (same_path or by_number) else [])


def test_a_row_that_was_given_to_another_volume_is_not_believed(tmp_path: Path) -> None:
    """The volume's identity is under the checksum: its number in the database could be another's."""
    remember(tmp_path / "c.db", one_file())
    with contextlib.closing(sqlite3.connect(tmp_path / "c.db")) as database, database:
        database.execute("UPDATE volumes SET id = 'uuid:other'")
    other = mounted(volume=DISK._replace(id="uuid:other"))
    assert recall(tmp_path / "c.db", one_file(mount=other)) == []
    assert recall(tmp_path / "c.db", one_file(name=b"moved", mount=other)) == []
