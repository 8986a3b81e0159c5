"""How files are read: the decisions as tables, orders as laws, and real scans watched by strace."""

from __future__ import annotations

import errno
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.checksums.hash_files import HashConfig, Hashing
from dedupe.config import ScanConfig
from dedupe.files.table import FileTable
from dedupe.find import find_duplicates
from dedupe.progress import Silent
from dedupe.storage import extents, file_stat, mounts, volumes
from dedupe.storage.file_stat import FileStat
from dedupe.storage.volumes import Mount, Volume
from dedupe.workers import schedule
from dedupe.workers.cores import cores
from dedupe.workers.lanes import Lanes
from dedupe.workers.pool import Pool
from dedupe.workers.schedule import Order, Schedule
from dedupe.workers.tuning import WorkerTuning
from tests.conftest import groups, need, write
from tests.disks import KINDS, Disk, disk, memory, places
from tests.naive import all_names, naive_groups

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what rotates and where files lie")


@pytest.fixture
def rotating(tmp_path: Path) -> Iterator[Disk]:
    """Return a disk that says that it rotates."""
    with memory(tmp_path / "memory") as top, disk(top / "image", tmp_path / "disk") as made:
        made.rotate(yes=True)
        mounts.forget()
        yield made
    mounts.forget()


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, list[Any]]]:
    """Return a list that will hold, for each time that a pool works, how many disks rotate, and the batches."""
    made: list[tuple[int, list[Any]]] = []
    real = Pool.run

    def run(self: Pool, task: Any, batches: Any, **rest: Any) -> Iterator[Any]:
        made.append((batches.rotating if isinstance(batches, Lanes) else 0, []))
        for batch, result in real(self, task, batches, **rest):
            made[-1][1].append(batch)
            yield batch, result

    monkeypatch.setattr(Pool, "run", run)
    return made


def in_lanes(
    how: Schedule, table: FileTable, items: Any, files_of: Any = lambda i: (i,)
) -> list[tuple[set[str], list[Any]]]:
    """Return the lanes of a schedule, each with its disks and what lies on them in its order."""
    lanes = how.lanes(table, items, files_of, iter)
    taken: list[tuple[set[str], list[Any]]] = []
    while (found := lanes.take()) is not None:
        item, disks = found
        lanes.give_back(disks)
        if not taken or taken[-1][0] != disks:
            taken.append((set(disks), []))
        taken[-1][1].append(item)
    return taken


def in_order(how: Schedule, table: FileTable, items: Any) -> list[Any]:
    """Return files in the order in which one reader meets them."""
    return [item for _, part in in_lanes(how, table, items) for item in part]


def of_volumes(*devices: int) -> FileTable:
    """Return a table with one folder and no files on each of some volumes."""
    table = FileTable()
    for device in devices:
        volume = Volume(f"uuid:{device}", "", "here", device)
        table.enter(b"/%d" % device, Mount(volume, b"/%d/" % device, b""))
    return table


@pytest.mark.parametrize(
    ("rotate", "files", "order"),
    [
        ([], 5, Order.LISTED),
        ([False, False], 5, Order.LISTED),
        ([True], 10, Order.PHYSICAL),
        ([True], 11, Order.INODE),
        ([False, True], 5, Order.PHYSICAL),
    ],
)
def test_the_order(monkeypatch: pytest.MonkeyPatch, rotate: list[bool], files: int, order: Order) -> None:
    """By place where few files must be asked, else by inode; as listed where nothing rotates."""
    monkeypatch.setattr(mounts, "rotating_disks", lambda device, _: frozenset({"sda"} if rotate[device] else ()))
    how = Schedule(tuning=WorkerTuning(places_asked=10))
    if sys.platform != "linux" and order is Order.PHYSICAL:  # it does not tell where on its disk a file lies
        order = Order.INODE
    assert how.order(of_volumes(*range(len(rotate))), files) == order


@pytest.mark.parametrize(
    ("roots", "jobs", "expected"),
    [
        ([b"/ssd", b"/ssd"], None, 2),
        ([b"/a"], None, 2),
        ([b"/a", b"/ssd"], None, 3),
        ([b"/a", b"/b", b"/ssd"], None, 4),
        ([b"/a", b"/b", b"/c"], None, 3),
        ([b"/a", b"/a"], None, 2),
        ([b"/a", b"/b", b"/ssd"], 1, 1),
    ],
)
def test_each_rotating_disk_brings_a_reader(
    monkeypatch: pytest.MonkeyPatch, roots: list[bytes], jobs: int | None, expected: int
) -> None:
    """One waits for each of them, beside those of the other disks; the user's word goes above all."""
    monkeypatch.setattr(schedule, "cores", lambda: 2)
    monkeypatch.setattr(mounts, "is_network", lambda _: False)
    monkeypatch.setattr(os, "stat", lambda *_, **__: os.stat_result(range(10)))
    monkeypatch.setattr(mounts, "rotating_disks", lambda _, root: frozenset({root.decode()} - {"/ssd"}))
    assert Schedule(roots, jobs).readers == expected


@pytest.mark.parametrize(
    ("count", "jobs", "is_network", "expected"),
    [
        (2, None, False, 2),
        (2, 5, False, 5),
        (1, None, True, 4),
        (2, None, True, 8),
        (4, None, True, 16),
        (8, None, True, 16),
        (32, None, True, 32),
        (2, 1, True, 1),
        (2, 50, True, 50),
    ],
)
def test_how_many_readers(
    monkeypatch: pytest.MonkeyPatch, count: int, jobs: int | None, expected: int, *, is_network: bool
) -> None:
    """Servers get four readers a core and at most 16, but no fewer than cores; the user's word goes above all."""
    monkeypatch.setattr(schedule, "cores", lambda: count)
    monkeypatch.setattr(mounts, "is_network", lambda root: is_network and root == b"/far")
    how = Schedule([b"/near", b"/far"], jobs)
    assert how.readers == expected
    assert how.pool().jobs == expected


def test_a_network_root_brings_more_readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scan has more workers if one of its roots is distant, and as many as the user says in any case."""
    asked: list[int | None] = []
    real = Pool.__init__
    monkeypatch.setattr(Pool, "__init__", lambda self, jobs, *rest: asked.append(jobs) or real(self, jobs, *rest))
    monkeypatch.setattr(schedule, "cores", lambda: 2)
    monkeypatch.setattr(mounts, "is_network", lambda root: root.endswith(b"far"))
    for name in ("near", "far"):
        (tmp_path / name).mkdir()
    find_duplicates(ScanConfig(roots=[tmp_path / "near"]))
    find_duplicates(ScanConfig(roots=[tmp_path / "near", tmp_path / "far"]))
    find_duplicates(ScanConfig(roots=[tmp_path / "far"], jobs=1))
    assert asked == [2, 8, 1]


@st.composite
def tables(draw: st.DrawFn) -> tuple[FileTable, list[int]]:
    """Return files that are nowhere, of a few volumes, and some of their indexes in any order."""
    table = of_volumes(1, 2, 3)
    for n in range(draw(st.integers(0, 30))):
        inode = draw(st.integers(1, 1 << 70))
        table.add(draw(st.integers(0, 2)), str(n).encode(), FileStat(1, 1, 1, inode))
    members = draw(st.permutations(range(len(table))))
    return table, members[: draw(st.integers(0, len(members)))]


@given(tables(), st.dictionaries(st.integers(1, 3), st.sampled_from("ab"), max_size=3), st.integers(1, 3))
def test_lanes_lose_and_add_nothing(table: tuple[FileTable, list[int]], disk_of: dict[int, str], width: int) -> None:
    """Whatever rotates, sets come out each once, in the lane of their disks: by volume and inode, or else as listed."""
    table, members = table
    sets = [tuple(members[n : n + width]) for n in range(0, len(members), width)]
    device = lambda i: table.volumes[table.volume[i]].device  # noqa: E731
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mounts, "rotating_disks", lambda device, _: frozenset(disk_of.get(device, "")))
        found = in_lanes(Schedule(), table, sets, tuple)
        alone = in_lanes(Schedule(jobs=2), table, sets, tuple)
    for disks, part in found:
        assert all({disk_of[device(i)] for i in s if device(i) in disk_of} == disks for s in part)
        key = lambda s: next((table.volume[i], table.inode_of(i)) for i in s if device(i) in disk_of)  # noqa: E731
        assert part == (sorted(part, key=key) if disks else [s for s in sets if s in part])
    assert len(found) == len({frozenset(disks) for disks, _ in found})
    assert sorted(s for _, part in found for s in part) == sorted(sets)
    assert [disks for disks, _ in alone] == [set()] * bool(sets)  # who says how many readers there are gets as many
    assert sorted(s for _, part in alone for s in part) == sorted(sets)


def scattered(folder: Path, count: int, data: Callable[[int], bytes]) -> list[Path]:
    """Write files in an order that is neither that of their names nor that of their inodes."""
    files = [folder / f"{n:04}" for n in range(count)]
    for file in random.Random(1).sample(files, count):
        file.touch()
    for file in random.Random(2).sample(files, count):
        with file.open("wb") as out:
            out.write(data(int(file.name)))
            out.flush()
            os.fsync(out)
    return files


def by_place(files: list[Path]) -> list[Path]:
    """Return files in the order in which they begin on their disk."""
    return [file for _, file in sorted(zip(places(files), files, strict=True))]


def entries_of(files: list[Path]) -> FileTable:
    """Return files as a walk would list them."""
    table = FileTable()
    above = os.fsencode(files[0].parent)
    folder = table.enter(above, volumes.locate(above, files[0].parent.stat().st_dev))
    for file in files:
        table.add(folder, os.fsencode(file.name), file_stat.of_path(os.fsencode(file)))
    return table


@linux
@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_the_disk(tmp_path: Path, kind: str) -> None:
    """Files of a rotating disk are read by where they begin, whatever their names and inodes, one batch at a time."""
    with memory(tmp_path / "memory") as top, disk(top / "image", tmp_path / "disk", kind) as made:
        files = scattered(made.folder, 60, lambda _: os.urandom(10_000))
        table = entries_of(files)
        expected = [files.index(file) for file in by_place(files)]
        assert expected not in (list(range(60)), sorted(range(60), key=table.inode.__getitem__))
        for yes, order in ((True, expected), (False, list(range(60)))):
            made.rotate(yes)
            mounts.forget()
            assert in_lanes(Schedule(), table, range(60)) == [
                ({os.path.basename(made.device)} if yes else set(), order)
            ]
            assert in_lanes(Schedule(jobs=2), table, range(60)) == [(set(), order)]
    mounts.forget()


@linux
def test_what_is_nowhere_on_the_disk_comes_first(rotating: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Holes, files that have vanished and links in their place have no place, and are read by inode before the rest."""
    names = ["data", "hole", "gone", "link"]
    files = [write(rotating.folder / name, os.urandom(9000)) for name in names]
    os.sync()
    table = entries_of(files)
    os.truncate(files[1], 0)
    os.truncate(files[1], 9000)
    for file in files[2:]:
        file.unlink()
    files[3].symlink_to("data")
    assert [names[i] for i in in_order(Schedule(), table, range(4))] == ["hole", "gone", "link", "data"]


@linux
def test_a_file_system_that_tells_no_place_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system knows no places (tmpfs), one question is enough, and inodes give the order."""
    with memory(tmp_path / "memory") as top:
        files = scattered(top, 20, lambda _: b"x")
        table = entries_of(files)
        told: list[int | None] = []
        real = extents.first_byte

        def ask(descriptor: int) -> int:
            try:
                return real(descriptor)
            except OSError as error:
                told.append(error.errno)
                raise

        monkeypatch.setattr(extents, "first_byte", ask)
        monkeypatch.setattr(mounts, "rotating_disks", lambda *_: frozenset({"sda"}))
        found = in_order(Schedule(), table, range(20))
    assert told == [errno.EOPNOTSUPP]
    assert found == sorted(range(20), key=table.inode.__getitem__)


_OPENED = re.compile(r'(\d+) +openat\(AT_FDCWD, "([^"]*)", (\S+?)[, )]')
_CLOSED = re.compile(r"(\d+) +close\(")


def watched(trace: Path, folder: Path) -> tuple[list[str], int]:
    """Return which files below a folder workers opened, in turn, and how many processes had one open at once."""
    main, opened, busy, most = "", [], set(), 0
    for line in trace.read_text(encoding="utf-8").splitlines():
        main = main or line.split()[0]
        if (event := _OPENED.match(line)) and "O_DIRECTORY" not in event[3] and event[2].startswith(f"{folder}/"):
            busy.add(event[1])
            most = max(most, len(busy))
            if event[1] != main:
                opened.append(os.path.basename(event[2]))
        elif event := _CLOSED.match(line):
            busy.discard(event[1])
    return opened, most


@linux
def test_a_scan_reads_a_rotating_disk_alone_and_in_its_order(rotating: Disk, tmp_path: Path) -> None:
    """Workers never read a rotating disk two at a time, and begin at its beginning; elsewhere they read at once."""
    need(shutil.which("strace"), "strace, to watch the program")
    count = WorkerTuning.default.warm_files + 100  # below, there are no workers
    files = scattered(rotating.folder, count, lambda n: (n // 2).to_bytes(4, "big") * 300)
    expected = [file.name for file in by_place(files)]
    reports = []
    for yes in (True, False):
        rotating.rotate(yes)
        trace = tmp_path / f"trace-{yes}"
        command = ["strace", "-f", "-qq", "-e", "trace=openat,close", "-o", trace, sys.executable, "-m", "dedupe"]
        command += ["scan", rotating.folder, "--no-cache", "--format", "json"]
        done = subprocess.run(command, capture_output=True, check=True, timeout=120)
        opened, most = watched(trace, rotating.folder)
        assert set(opened) == set(expected)
        firsts = [expected.index(name) for name in opened[count::2]]  # of the sets of two
        assert (opened[:count] == expected, firsts == sorted(firsts)) == (yes, yes)
        assert most == 1 if yes else most > 1 or cores() == 1
        reports.append(done.stdout)
    for report in reports:
        assert groups(json.loads(report)) == naive_groups(rotating.folder)


@linux
def test_hashing_reads_in_the_disks_order_and_answers_in_the_users(
    rotating: Disk, runs: list[tuple[int, list[Any]]]
) -> None:
    """Digests come in the order in which files were named, though the disk's order is that in which they are read."""
    files = scattered(rotating.folder, 30, lambda n: bytes([n]) * 9000)
    names = [os.fsencode(file) for file in files]
    with Hashing(HashConfig(), Silent(), io.BytesIO()) as hashing:
        results = list(hashing.digests(names))
    assert [r.name for r in results] == names
    assert len({r.digest for r in results}) == 30
    ((rotating_disks, batches),) = runs
    assert rotating_disks == 1
    assert [path for batch in batches for s in batch for path in s.paths] == [os.fsencode(f) for f in by_place(files)]


@linux
@pytest.mark.parametrize("confirm", ["sha256", "bytes"])
def test_the_order_changes_no_result(rotating: Disk, confirm: str, runs: list[tuple[int, list[Any]]]) -> None:
    """A rotating disk has the groups that it would have if it did not; what it is, is asked anew for each scan."""
    scattered(rotating.folder, 60, lambda n: bytes([n % 7]) * (300_000 if n % 3 else 5000))
    results = []
    for yes in (True, False):
        rotating.rotate(yes)
        results.append(find_duplicates(ScanConfig(roots=[rotating.folder], confirm=confirm)))
    one, other = ([(g.digest, list(g.files)) for g in result.groups] for result in results)
    assert one == other
    assert [disks for disks, _ in runs] == [1] * (len(runs) // 2) + [0] * (len(runs) // 2)
    assert all_names(results[0]) == naive_groups(rotating.folder)
