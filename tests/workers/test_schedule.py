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
from operator import itemgetter
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
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int | None, list[Any]]]:
    """Return a list that will hold, for each time that a pool is asked to work, `max_in_flight` and the batches."""
    made: list[tuple[int | None, list[Any]]] = []
    real = Pool.run

    def run(self: Pool, task: Any, batches: Any, *, max_in_flight: int | None = None, **rest: Any) -> Iterator[Any]:
        made.append((max_in_flight, []))
        for batch, result in real(self, task, batches, max_in_flight=max_in_flight, **rest):
            made[-1][1].append(batch)
            yield batch, result

    monkeypatch.setattr(Pool, "run", run)
    return made


def of_volumes(*devices: int) -> FileTable:
    """Return a table with one folder and no files on each of some volumes."""
    table = FileTable()
    for device in devices:
        volume = Volume(f"uuid:{device}", "", "here", device)
        table.enter(b"/%d" % device, Mount(volume, b"/%d/" % device, b""))
    return table


@pytest.mark.parametrize(
    ("rotate", "files", "jobs", "order", "max_in_flight"),
    [
        ([], 5, None, Order.LISTED, None),
        ([False, False], 5, None, Order.LISTED, None),
        ([False], 5, 3, Order.LISTED, None),
        ([True], 10, None, Order.PHYSICAL, 1),
        ([True], 11, None, Order.INODE, 1),
        ([False, True], 5, None, Order.PHYSICAL, 1),
        ([True], 5, 3, Order.PHYSICAL, None),
        ([True], 11, 1, Order.INODE, None),
    ],
)
def test_the_order_and_how_much_at_once(
    monkeypatch: pytest.MonkeyPatch,
    rotate: list[bool],
    files: int,
    jobs: int | None,
    order: Order,
    max_in_flight: int | None,
) -> None:
    """One batch where anything rotates, unless the user says how many; by place where few files must be asked."""
    monkeypatch.setattr(mounts, "rotates", lambda device, _: rotate[device])
    table = of_volumes(*range(len(rotate)))
    how = Schedule(jobs=jobs, tuning=WorkerTuning(places_asked=10))
    if sys.platform != "linux" and order is Order.PHYSICAL:  # it does not tell where on its disk a file lies
        order = Order.INODE
    assert (how.order(table, files), how.max_in_flight(table)) == (order, max_in_flight)


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


@given(tables(), st.sets(st.integers(1, 3)), st.integers(1, 3))
def test_an_order_loses_and_adds_nothing(table: tuple[FileTable, list[int]], rotate: set[int], width: int) -> None:
    """Whatever rotates, files and sets come out each once: as listed if none does, or by volume and inode."""
    table, members = table
    sets = [members[n : n + width] for n in range(0, len(members), width)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mounts, "rotates", lambda device, _: device in rotate)
        how = Schedule()
        ordered, ordered_sets = (list(how.in_order(table, *what)) for what in ((members, int), (sets, itemgetter(0))))
    if not rotate:
        assert (ordered, ordered_sets) == (members, sets)
    else:
        key = lambda i: (table.volume[i], table.inode_of(i))  # noqa: E731
        assert ordered == sorted(members, key=key)
        assert ordered_sets == sorted(sets, key=lambda s: key(s[0]))


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
        for yes, order, max_in_flight in ((True, expected, 1), (False, list(range(60)), None)):
            made.rotate(yes)
            mounts.forget()
            how = Schedule()
            assert (list(how.in_order(table, range(60), int)), how.max_in_flight(table)) == (order, max_in_flight)
            assert Schedule(jobs=2).max_in_flight(table) is None
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
    assert [names[i] for i in Schedule().in_order(table, range(4), int)] == ["hole", "gone", "link", "data"]


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
        monkeypatch.setattr(mounts, "rotates", lambda *_: True)
        found = list(Schedule().in_order(table, range(20), int))
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
    rotating: Disk, runs: list[tuple[int | None, list[Any]]]
) -> None:
    """Digests come in the order in which files were named, though the disk's order is that in which they are read."""
    files = scattered(rotating.folder, 30, lambda n: bytes([n]) * 9000)
    names = [os.fsencode(file) for file in files]
    with Hashing(HashConfig(), Silent(), io.BytesIO()) as hashing:
        results = list(hashing.digests(names))
    assert [r.name for r in results] == names
    assert len({r.digest for r in results}) == 30
    ((max_in_flight, batches),) = runs
    assert max_in_flight == 1
    assert [path for batch in batches for s in batch for path in s.paths] == [os.fsencode(f) for f in by_place(files)]


@linux
@pytest.mark.parametrize("confirm", ["sha256", "bytes"])
def test_the_order_changes_no_result(rotating: Disk, confirm: str, runs: list[tuple[int | None, list[Any]]]) -> None:
    """A rotating disk has the groups that it would have if it did not; what it is, is asked anew for each scan."""
    scattered(rotating.folder, 60, lambda n: bytes([n % 7]) * (300_000 if n % 3 else 5000))
    results = []
    for yes in (True, False):
        rotating.rotate(yes)
        results.append(find_duplicates(ScanConfig(roots=[rotating.folder], confirm=confirm)))
    one, other = ([(g.digest, list(g.files)) for g in result.groups] for result in results)
    assert one == other
    limits = [max_in_flight for max_in_flight, _ in runs]
    assert limits == [1] * (len(runs) // 2) + [None] * (len(runs) // 2)
    assert all_names(results[0]) == naive_groups(rotating.folder)
