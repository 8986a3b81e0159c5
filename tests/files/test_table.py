"""The table of files: what goes in comes out, and names of one physical file are known by it."""

from __future__ import annotations

import os
import pickle
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.files.columns import Column, gather, is_contiguous
from dedupe.files.grouping import group_by_key
from dedupe.files.selection import SelectedPaths, SelectedStats
from dedupe.files.table import FileTable
from dedupe.storage.file_stat import FileStat
from tests.made_volumes import MOUNT, mount, volume

SEPARATOR = os.sep.encode()
names = st.binary(min_size=1, max_size=9).filter(lambda n: not {*b"\0/", *SEPARATOR} & set(n))
big = st.integers(0, 2**64 - 1)
stats = st.builds(
    FileStat, big, st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**128 - 1)
)
folders = st.lists(st.tuples(names, st.lists(st.tuples(names, stats), max_size=4)), max_size=4)
Folders = list[tuple[bytes, list[tuple[bytes, FileStat]]]]


def made(listed: Folders) -> FileTable:
    """Return a table of what a walk might have listed."""
    table = FileTable()
    for folder, files in listed:
        number = table.enter(b"/" + folder, MOUNT)
        for name, stat_ in files:
            table.add(number, name, stat_)
    return table


def rows(listed: Folders) -> list[tuple[bytes, FileStat]]:
    """Return what the table should tell: path and status of each file."""
    return [(b"/" + folder + SEPARATOR + name, stat_) for folder, files in listed for name, stat_ in files]


def told(table: FileTable) -> list[tuple[bytes, FileStat]]:
    """Return what a table tells."""
    return [(table.path(i), table.stat(i)) for i in range(len(table))]


@given(folders)
def test_a_table_gives_back_what_was_put_in(listed: Folders) -> None:
    """Paths, names and all numbers come out exactly, inodes of 128 bits among them."""
    table = made(listed)
    assert told(table) == rows(listed)
    assert table.paths(range(len(table))) == [row[0] for row in rows(listed)]


@given(st.lists(folders, max_size=4))
def test_extending_is_putting_in_one_after_the_other(parts: list[Folders]) -> None:
    """Tables put together tell what each of them told."""
    whole = FileTable()
    for part in parts:
        whole.extend(made(part))
    assert told(whole) == [row for part in parts for row in rows(part)]


def test_a_root_keeps_its_slash() -> None:
    """A folder that ends in a separator gets no second one."""
    table = FileTable()
    table.add(table.enter(b"/"), b"a", FileStat(1, 2, 3, 5))
    assert table.path(0) == b"/a"


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3), st.booleans(), names), max_size=8), st.integers(0, 8))
def test_volumes_and_roots_survive_being_put_together(files: list[tuple[int, int, bool, bytes]], cut: int) -> None:
    """Each file keeps its volume, its root and its place in the volume, whatever the numbers in the parts were."""
    whole = FileTable()
    for part in (files[:cut], files[cut:]):
        table = FileTable()
        for number, root, elsewhere, name in part:
            here = mount(volume(number), b"/m%d/" % number, b"base/")
            folder = table.enter(b"/m%d/d" % number, here, root)
            table.add(folder, name, FileStat(1, 2, 3, 4), table.enter_volume(volume(9)) if elsewhere else None)
        whole.extend(table)
    for i, (number, root, elsewhere, name) in enumerate(files):
        assert whole.volumes[whole.volume[i]] == volume(9 if elsewhere else number)
        assert whole.volumes[whole.volume_of(whole.folder[i])] == volume(number)
        assert whole.root_of(i) == root
        assert whole.relative_path(i) == b"base/d/" + name


def test_an_inode_number_that_does_not_stay_is_not_told_as_one_that_does() -> None:
    """On FAT and its like the number is there to look again with, and no part of what dates a file."""
    table = FileTable()
    for number, stable in ((1, True), (2, False)):
        here = mount(volume(number, stable_inodes=stable))
        table.add(table.enter(b"/d%d" % number, here), b"f", FileStat(1, 2, 3, 42))
    assert [table.stat(i).inode for i in range(2)] == [42, 0]
    assert [each[3] for each in SelectedStats(table, range(2))] == [42, 0]
    assert [each[3] for each in SelectedStats(table, range(1))] == [42]
    assert [table.inode_of(i) for i in range(2)] == [42, 42]


def test_volumes_of_two_hosts_are_one_by_their_id() -> None:
    """The device number of another host means nothing here; on one host it tells two clones apart."""
    table = FileTable()
    here = table.enter_volume(volume(1))
    assert table.enter_volume(volume(1)._replace(host="there", instance="dev:77", device=77)) == here
    assert table.enter_volume(volume(1)._replace(instance="dev:2", device=2)) != here


@given(
    st.lists(st.integers(0, 6) | st.sampled_from([-1, -2, 2**61 - 1, 2**40]) | st.binary(max_size=1), max_size=60),
    st.sampled_from([1, 2, 3, 7, 1000]),
    st.randoms(use_true_random=False),
)
def test_grouping_by_key_is_grouping_by_a_dictionary(keys: list[object], slice_size: int, random: object) -> None:
    """In slices or not, members that share a key come together, in the order given, each in one set."""
    members = list(range(len(keys)))
    random.shuffle(members)  # type: ignore[attr-defined]
    plain: dict[object, list[int]] = defaultdict(list)
    for i in members:
        plain[keys[i]].append(i)
    found = [list(same) for same in group_by_key(members, lambda part: [keys[i] for i in part], slice_size=slice_size)]
    assert sorted(found) == sorted(same for same in plain.values() if len(same) > 1)


@given(st.lists(st.tuples(st.integers(0, 50), st.binary(min_size=3, max_size=3)), max_size=30))
def test_a_column_is_a_dictionary_of_equally_wide_values(puts: list[tuple[int, bytes]]) -> None:
    """The last value put for an index is the one that is got; others have none."""
    column, plain = Column(3), {}
    for i, value in puts:
        column.put(i, value)
        plain[i] = value
    assert [column.get(i) for i in range(60)] == [plain.get(i) for i in range(60)]
    assert [i in column for i in range(60)] == [i in plain for i in range(60)]


def test_a_column_refuses_another_width() -> None:
    """A value that does not fit would shift all that follow."""
    with pytest.raises(ValueError, match="4 bytes in a column of 3"):
        Column(3).put(0, b"four")


@given(st.permutations(range(8)), st.integers(0, 8), st.integers(0, 1))
def test_selected_files_are_those_asked_for(order: list[int], count: int, wide: int) -> None:
    """Paths and stats come in the order asked for, whatever gaps and turns it has, here and in another process."""
    found = made(
        [
            (b"/d", [(b"n%d" % i * i, FileStat(i, i, i, i + 1)) for i in range(5)]),
            (b"/e", [(b"x", FileStat(9, 9, 9, (1 << 64) * wide + 9))] * 3),
        ]
    )
    members = order[:count]
    for sent in (lambda some: some, lambda some: pickle.loads(pickle.dumps(some))):
        assert list(sent(SelectedPaths(found, members))) == [found.path(i) for i in members]
        relative = sent(SelectedPaths(found, members, relative=True))
        assert list(relative) == [found.relative_path(i) for i in members]
        assert list(sent(SelectedStats(found, members))) == [tuple(found.stat(i)) for i in members]
    column = Column(8)
    column.put_all(members, [i.to_bytes(8, "big") for i in members])
    assert [column.get(i) for i in range(8)] == [i.to_bytes(8, "big") if i in members else None for i in range(8)]


@given(st.lists(st.binary(min_size=1, max_size=4) | st.none(), min_size=1, max_size=6), st.booleans())
def test_values_of_another_width_never_shift_their_neighbours(values: list[bytes | None], gap: bool) -> None:  # noqa: FBT001
    """Many values are taken in as one by one: a wrong width is refused, whatever was there stays where it was."""
    column = Column(3)
    for i in range(20):
        column.put(i, b"%03d" % i)
    members = [i * (2 if gap else 1) for i in range(len(values))]
    if any(value is not None and len(value) != 3 for value in values):
        with pytest.raises(ValueError, match="column of 3"):
            column.put_all(members, values)
    else:
        column.put_all(members, values)
        assert [column.get(i) for i in members] == [v or b"%03d" % i for i, v in zip(members, values, strict=True)]
    assert [column.get(i) for i in range(12, 20)] == [b"%03d" % i for i in range(12, 20)]


@given(st.lists(st.integers(0, 8), max_size=6))
def test_contiguous_members_are_those_without_a_gap(members: list[int]) -> None:
    """Only rising members that leave none out are contiguous; none at all are not."""
    assert is_contiguous(members) == (bool(members) and members == list(range(members[0], members[0] + len(members))))
    assert list(gather(members)(range(100, 200))) == [100 + i for i in members]
