"""Confirming: classes are right whatever the files are and do meanwhile, and each costs no more than it must."""

from __future__ import annotations

import hashlib
import os
import socket
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dedupe.compare.candidates import CandidateSet, ConfirmResult
from dedupe.compare.confirm import Confirmer
from dedupe.compare.method import Method
from dedupe.compare.open_file import OpenFile
from dedupe.compare.tuning import Tuning
from dedupe.digests import memory
from dedupe.result import ProblemKind
from dedupe.storage import file_stat
from dedupe.storage.opener import Opener
from dedupe.storage.readers import GRANULARITY
from dedupe.workers import counters
from tests.conftest import write
from tests.naive import LOW, contents

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows lets no program change a file in this way")
mapped_or_read = pytest.mark.parametrize("may_mmap", [False, True])
SIZE = 10_000
BORDERS = sorted({b + d for b in (0, 1000, 4000, 4096, 5096, 8192, SIZE) for d in (-1, 0, 1)} & set(range(SIZE)))


def candidates(paths: Sequence[Path], *, needs_digest: bool = False) -> CandidateSet:
    """Return files as candidates for one class, numbered from 0."""
    names = [os.fsencode(p) for p in paths]
    stats = [file_stat.of_path(n) for n in names]
    return CandidateSet(stats[0].size, range(len(paths)), names, stats, needs_digest)


def confirmed(
    s: CandidateSet, *, may_mmap: bool = False, algorithm: str = "sha256", tuning: Tuning = LOW
) -> ConfirmResult:
    """Return what becomes of one set."""
    method = Method.of(algorithm, "auto" if algorithm == "bytes" else "hashlib")
    return Confirmer(method, Opener(), tuning, may_mmap)([s])


def classes(result: ConfirmResult) -> list[tuple[bytes | None, list[int]]]:
    """Return the classes of a result in an order of their own."""
    return sorted((digest, list(members)) for digest, members in result.classes)


def expected(s: CandidateSet, *, least: int = 2, digests: bool = True) -> list[tuple[bytes | None, list[int]]]:
    """Return the classes of a set, the plain way."""
    found = defaultdict(list)
    for member, path in zip(s.members, s.paths, strict=True):
        found[Path(os.fsdecode(path)).read_bytes()].append(member)
    return sorted(
        (hashlib.sha256(c).digest() if digests else None, m) for c, m in found.items() if len(m) >= least
    )  # fmt: skip


def made(folder: Path, data: Sequence[bytes]) -> list[Path]:
    """Write one file for each content."""
    return [write(folder / f"{n:03d}", d) for n, d in enumerate(data)]


@mapped_or_read
@pytest.mark.parametrize("join", [False, True])
@pytest.mark.parametrize("size", [SIZE, 900])
def test_a_difference_of_one_bit_at_any_border_tells_files_apart(
    tmp_path: Path, size: int, *, may_mmap: bool, join: bool
) -> None:
    """Files that differ in one bit at the edge of a window, a step or the file are in different classes."""
    places = [b for b in BORDERS if b < size]
    data = contents(len(places), size, places)
    s = candidates(made(tmp_path, [*data, *data[::2]]), needs_digest=join)
    assert classes(confirmed(s, may_mmap=may_mmap)) == expected(s, least=1 if join else 2)


@mapped_or_read
@pytest.mark.parametrize("number", [1, 2, 13, 40])
def test_classes_and_digests_are_those_of_a_plain_reading(tmp_path: Path, number: int, *, may_mmap: bool) -> None:
    """However many classes forty files fall into, each has all its members and hashlib's digest."""
    data = contents(number, SIZE, BORDERS)
    s = candidates(made(tmp_path, [data[n * n % number] for n in range(40)]))
    assert classes(confirmed(s, may_mmap=may_mmap)) == expected(s)


@mapped_or_read
def test_a_difference_is_found_in_every_window(tmp_path: Path, *, may_mmap: bool) -> None:
    """Windows that begin where every system can map, the last one short: a bit at each of their edges counts."""
    tuning = LOW._replace(granularity=GRANULARITY, step=40_000)
    size = 3 * GRANULARITY + 5
    places = [b + d for b in range(0, size, GRANULARITY) for d in (-1, 0) if b + d >= 0]
    data = contents(len(places), size, places)
    s = candidates(made(tmp_path, [*data, *data[::2]]))
    assert classes(confirmed(s, may_mmap=may_mmap, tuning=tuning)) == expected(s)


@mapped_or_read
def test_bytes_alone_need_no_digest(tmp_path: Path, *, may_mmap: bool) -> None:
    """Where bytes are compared, classes carry no digest."""
    data = contents(2, SIZE, [7000])
    s = candidates(made(tmp_path, [*data, *data]))
    assert classes(confirmed(s, may_mmap=may_mmap, algorithm="bytes")) == expected(s, digests=False)


def test_a_file_alone_is_read_to_its_first_difference_only(tmp_path: Path) -> None:
    """Of files that differ early, only the first step is read; of equal ones every byte, once."""
    early = candidates(made(tmp_path / "early", contents(10, SIZE, [0])))
    assert confirmed(early).bytes_read == 10 * 1000
    equal = candidates(made(tmp_path / "equal", contents(1, SIZE, [0]) * 10))
    assert confirmed(equal).bytes_read == 10 * SIZE


@mapped_or_read
def test_one_digest_is_computed_for_each_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, may_mmap: bool
) -> None:
    """Thirty equal files are hashed once: the others are compared."""
    fed = []
    real = OpenFile.feed

    def counted(file: Any, hasher: Any, at: int, length: int) -> None:
        fed.append(length)
        real(file, hasher, at, length)

    monkeypatch.setattr(OpenFile, "feed", counted)
    confirmed(candidates(made(tmp_path, contents(1, SIZE, [0]) * 30)), may_mmap=may_mmap)
    assert sum(fed) == SIZE


def _rewrite(path: Path) -> None:
    path.write_bytes(b"x" * path.stat().st_size)


def _put_back(path: Path) -> None:
    times = path.stat()
    _rewrite(path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _shrink(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def _become_link(path: Path) -> None:
    path.rename(path.with_suffix(".moved"))
    path.symlink_to(path.with_suffix(".moved"))


def _become_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _become_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _become_socket(path: Path) -> None:
    path.unlink()
    os.chdir(path.parent)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)


HAPPENS: list[tuple[Callable[[Path], None], set[ProblemKind]]] = [
    (_rewrite, {ProblemKind.CHANGED}),
    (_put_back, {ProblemKind.CHANGED}),
    (_shrink, {ProblemKind.CHANGED}),
    (_grow, {ProblemKind.CHANGED}),
    (Path.unlink, {ProblemKind.VANISHED}),
    (_become_folder, {ProblemKind.CHANGED, ProblemKind.IO, ProblemKind.PERMISSION}),  # as Windows refuses to open one
]
POSIX_ONLY: list[tuple[Callable[[Path], None], set[ProblemKind]]] = [
    (_become_link, {ProblemKind.CHANGED}),
    (_become_fifo, {ProblemKind.CHANGED}),
    (_become_socket, {ProblemKind.CHANGED}),
]
no_such = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there, and files are no sockets")
CHANGES = [pytest.param(change, kinds, id=change.__name__.strip("_")) for change, kinds in HAPPENS]
CHANGES += [pytest.param(change, kinds, id=change.__name__.strip("_"), marks=no_such) for change, kinds in POSIX_ONLY]


@mapped_or_read
@pytest.mark.parametrize("size", [SIZE, 900])
@pytest.mark.parametrize("victim", [0, 2, 4])
@pytest.mark.parametrize(("change", "kinds"), CHANGES)
def test_what_changed_since_the_walk_is_told_and_costs_the_others_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], None],
    kinds: set[ProblemKind],
    victim: int,
    size: int,
    *,
    may_mmap: bool,
) -> None:
    """A file that is not what the walk saw is in no class, and is named; the rest are judged as ever."""
    monkeypatch.chdir(tmp_path)
    paths = made(tmp_path, contents(1, size, [0]) * 5)
    s = candidates(paths)
    digest = hashlib.sha256(paths[0].read_bytes()).digest()
    change(paths[victim])
    result = confirmed(s, may_mmap=may_mmap)
    assert classes(result) == [(digest, [n for n in range(5) if n != victim])]
    assert [p.path for p in result.problems] == [os.fsencode(paths[victim])]
    assert result.problems[0].kind in kinds


@pytest.mark.parametrize("at", [1, 3, 7, 10])
@pytest.mark.parametrize("victim", [0, 1, 3])
@pytest.mark.parametrize("change", [_rewrite, _put_back, _shrink, _grow], ids=["rewrite", "put back", "shrink", "grow"])
def test_what_changes_while_it_is_read_is_in_no_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None], victim: int, at: int
) -> None:
    """A change in the middle of reading is found by the second look, whether it hits a first file or another."""
    paths = made(tmp_path, contents(1, SIZE, [0]) * 4)
    s = candidates(paths)
    digest = hashlib.sha256(paths[0].read_bytes()).digest()
    calls = iter(range(1, 100))
    monkeypatch.setattr(counters, "advance", lambda _: change(paths[victim]) if next(calls) == at else None)
    result = confirmed(s)
    assert classes(result) == [(digest, [n for n in range(4) if n != victim])]
    assert [p.path for p in result.problems] == [os.fsencode(paths[victim])]


@posix
def test_a_first_file_that_changed_and_then_dropped_out_leaves_no_trace_in_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was hashed from a file that changed meanwhile counts for nobody, also if that file is read no further."""
    data = contents(2, SIZE, [9000])
    paths = made(tmp_path, [data[0], data[1], data[1]])
    s = candidates(paths)
    real, calls = memory.equal, iter(range(1, 100))

    def equal_then_written(a: int, b: int, length: int) -> bool:
        same = real(a, b, length)
        if next(calls) == 2:  # compared with both, not yet hashed
            with paths[0].open("r+b") as file:
                file.write(b"!!")
        return same

    monkeypatch.setattr(memory, "equal", equal_then_written)
    result = confirmed(s, may_mmap=True)
    assert classes(result) == [(hashlib.sha256(data[1]).digest(), [1, 2])]
    assert [(p.path, p.kind) for p in result.problems] == [(os.fsencode(paths[0]), ProblemKind.CHANGED)]


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors as Linux lists them")
@mapped_or_read
def test_no_descriptor_outlives_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, may_mmap: bool) -> None:
    """Files are closed when they drop out, at the end, and when the work is broken off, each once."""
    s = candidates(made(tmp_path, contents(8, SIZE, [0, 5000]) * 2))
    before = os.listdir("/proc/self/fd")
    confirmed(s, may_mmap=may_mmap)
    assert os.listdir("/proc/self/fd") == before

    def stop(_: int) -> None:
        raise counters.Stopped

    monkeypatch.setattr(counters, "advance", stop)
    with pytest.raises(counters.Stopped):
        confirmed(s, may_mmap=may_mmap)
    assert os.listdir("/proc/self/fd") == before


def test_a_lost_batch_names_every_file(tmp_path: Path) -> None:
    """Where the reader died twice, no class is made up and every file is told."""
    s = candidates(made(tmp_path, [b"a", b"a"]))
    result = Confirmer(Method.of("sha256"), Opener()).lost([s])
    assert not len(result.classes)
    assert [(p.path, p.kind) for p in result.problems] == [(p, ProblemKind.IO) for p in s.paths]
