"""Sets shared out by ranges: their classes are those of whole files, in whichever order the ranges come back."""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedupe.compare.candidates import CandidateSet, ConfirmResult, Span, SpanBatch
from dedupe.compare.confirm import Confirmer
from dedupe.compare.divergence import split_by_divergence
from dedupe.compare.method import Method
from dedupe.compare.shared_sets import SetSharer
from dedupe.compare.split_sets import SetSplitter
from dedupe.files.columns import Column
from dedupe.files.table import FileTable
from dedupe.result import ProblemKind
from dedupe.storage import file_stat
from dedupe.storage.opener import Opener
from dedupe.storage.readers import GRANULARITY
from dedupe.workers import counters
from dedupe.workers.pool import Pool
from tests.conftest import write
from tests.made_volumes import MOUNT
from tests.naive import LOW, contents

GRAIN = GRANULARITY if sys.platform == "win32" else 4096
SIZE = 5 * GRAIN + 77
TUNING = LOW._replace(open_files=48, granularity=GRAIN, window=GRAIN, share=1, share_bytes=(GRAIN, 5 * GRAIN))
either = pytest.mark.parametrize("mode", ["bytes", "sha256"])
laws = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Return a pool that is three workers wide."""
    with ThreadPoolExecutor(3) as threads, Pool(executor=threads) as workers:
        yield workers


def table_of(paths: Sequence[Path]) -> FileTable:
    """Return a table of the files of one folder."""
    table = FileTable()
    folder = table.enter(os.fsencode(paths[0].parent), MOUNT)
    for p in paths:
        table.add(folder, os.fsencode(p.name), file_stat.of_path(os.fsencode(p)))
    return table


@dataclass
class Work:
    """Sets that are confirmed piece by piece, as a pool would do it, but in an order that the test decides."""

    pool: Pool
    paths: list[Path]
    mode: str = "sha256"
    order: list[int] = field(default_factory=list)  # which of the pieces under way ends next, in turn
    may_mmap: bool = False
    alone: bool = False
    in_flight: int = 4
    before: Callable[[int], object] = lambda _: None  # called before each piece with how many there were
    found: list[ConfirmResult] = field(default_factory=list)
    pieces: list[SpanBatch] = field(default_factory=list)
    hashed_beside: list[int] = field(default_factory=list)  # files being hashed when a range was handed out

    def do(self, sets: Sequence[Sequence[int]], digests: Column | None = None) -> Work:
        """Work until all sets are complete."""
        table, method = table_of(self.paths), Method.of(self.mode)
        task = Confirmer(method, Opener(), TUNING, self.may_mmap)
        self.splitter = SetSplitter(table, method, Column(32) if digests is None else digests, TUNING)
        sharer = SetSharer(table, method, self.splitter, self.pool, TUNING, alone=self.alone)
        done = 0
        for _ in range(5):
            batches, under_way = sharer.batches(sets), []
            while True:
                while len(under_way) < self.in_flight and (batch := next(batches, None)) is not None:
                    tickets = [b.span.ticket for b in (*under_way, batch) if isinstance(b, SpanBatch)]
                    self.hashed_beside += [] if tickets[-1:] != [0] else [sum(map(bool, tickets))]
                    under_way.append(batch)
                if not under_way:
                    break
                batch = under_way.pop(self.order[done % len(self.order)] % len(under_way) if self.order else 0)
                self.before(done)
                done += 1
                self.pieces += [batch] if isinstance(batch, SpanBatch) else []
                for whole, result in sharer.take(batch, task(pickle.loads(pickle.dumps(batch)))):
                    self.found.append(result)
                    self.splitter.take(whole, result)
            sets = []
            if not sharer.is_waiting:
                return self
        raise AssertionError("never complete")

    @property
    def classes(self) -> list[tuple[bytes | None, list[int]]]:
        """Return the classes in an order of their own."""
        return sorted((digest, list(members)) for digest, members in self.splitter.done)

    @property
    def problems(self) -> dict[str, ProblemKind]:
        """Return the problem of each file, which nobody is told twice."""
        told = [(os.path.basename(os.fsdecode(p.path)), p.kind) for r in self.found for p in r.problems]
        assert len(told) == len(dict(told))
        return dict(told)


def expected(data: Sequence[bytes], mode: str) -> list[tuple[bytes | None, list[int]]]:
    """Return the classes of some contents, the plain way."""
    found = defaultdict(list)
    for n, content in enumerate(data):
        found[content].append(n)
    sha256 = (lambda c: hashlib.sha256(c).digest()) if mode == "sha256" else lambda _: None
    return sorted((sha256(content), members) for content, members in found.items() if len(members) > 1)


def edited(edits: Sequence[int]) -> bytes:
    """Return a content that differs from an empty one's in a byte at each of some places."""
    content = bytearray(contents(1, SIZE, [0])[0])
    for place in edits:
        content[place] ^= 1
    return bytes(content)


PLACES = [0, GRAIN - 1, GRAIN, 2 * GRAIN + 1500, 4 * GRAIN - 1, SIZE - 1]
sets_of_files = st.lists(st.sets(st.sampled_from(PLACES), max_size=2).map(sorted), min_size=2, max_size=9)
orders = st.lists(st.integers(0, 5), max_size=12)


@either
@pytest.mark.parametrize("may_mmap", [False, True])
def test_classes_are_the_common_refinement_of_all_ranges(
    tmp_path_factory: pytest.TempPathFactory, pool: Pool, mode: str, *, may_mmap: bool
) -> None:
    """Wherever files differ, and however the ranges come back, classes and digests are those of whole files."""

    @laws
    @given(sets_of_files, orders, st.integers(1, 6))
    def law(edits: list[list[int]], order: list[int], in_flight: int) -> None:
        data = [edited(places) for places in edits]
        folder = tmp_path_factory.mktemp("set")
        paths = [write(folder / str(n), d) for n, d in enumerate(data)]
        work = Work(pool, paths, mode, order, may_mmap, in_flight=in_flight).do([range(len(paths))])
        assert work.pieces
        assert work.classes == expected(data, mode)
        assert not work.problems
        assert sum(r.bytes_read for r in work.found) <= len(paths) * SIZE

        divergences = {i: told for r in work.found for told, members in r.apart for i in members}
        for split in split_by_divergence(range(len(paths)), lambda i: divergences.get(i, b"")):
            assert len({data[i] for i in split}) == 1

    law()


def _rewrite(path: Path) -> None:
    path.write_bytes(b"x" * SIZE)


def _put_back(path: Path) -> None:
    times = path.stat()
    _rewrite(path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _shrink(path: Path) -> None:
    os.truncate(path, SIZE // 2)


@either
def test_a_file_that_changes_between_any_two_pieces_is_in_no_class(
    tmp_path_factory: pytest.TempPathFactory, pool: Pool, mode: str
) -> None:
    """Whatever happens to a file before its last piece is done, it is told once, and the others stay together."""
    deeds = [_rewrite, _put_back, _shrink, Path.unlink]

    @laws
    @given(
        st.lists(st.integers(0, 1), min_size=2, max_size=7),
        st.dictionaries(st.integers(0, 6), st.tuples(st.sampled_from(deeds), st.integers(0, 7)), max_size=3),
        orders,
    )
    def law(kinds: list[int], happens: dict[int, tuple[Callable[[Path], None], int]], order: list[int]) -> None:
        data = contents(2, SIZE, [3 * GRAIN])
        folder = tmp_path_factory.mktemp("set")
        paths = [write(folder / str(n), data[kind]) for n, kind in enumerate(kinds)]
        changed: dict[int, int] = {}

        def before(done: int) -> None:
            for i, (deed, when) in happens.items():
                if i < len(paths) and when == done:
                    deed(paths[i])
                    changed[i] = when

        work = Work(pool, paths, mode, order, before=before).do([range(len(paths))])
        read = [{i for s in piece for i in s.members} for piece in work.pieces]
        seen = {i for i, when in changed.items() if any(i in members for members in read[when:])}
        assert {int(name) for name in work.problems} == seen
        together = [set(members) for _, members in work.classes]
        for members in together:
            assert not members & seen
            assert len({kinds[i] for i in members}) == 1
        for kind in range(2):
            stayed = {i for i, k in enumerate(kinds) if k == kind and i not in changed}
            assert len(stayed) < 2 or any(stayed <= members for members in together)
        for digest, members in work.classes:
            assert digest == (hashlib.sha256(data[kinds[members[0]]]).digest() if mode == "sha256" else None)

    law()


@either
def test_a_change_after_a_files_first_ranges_is_seen_by_its_last(tmp_path: Path, pool: Pool, mode: str) -> None:
    """Ranges that were read before a change prove nothing any more."""
    paths = [write(tmp_path / str(n), edited([])) for n in range(3)]

    def before(done: int) -> None:
        if done == 2:
            with paths[1].open("r+b") as file:  # where it has been compared
                file.write(b"!")

    work = Work(pool, paths, mode, before=before).do([range(3)])
    assert [members for _, members in work.classes] == [[0, 2]]
    assert work.problems == {"1": ProblemKind.CHANGED}


@pytest.mark.parametrize("victim", [0, 2])
def test_a_change_in_the_middle_of_the_last_range_is_seen(
    tmp_path: Path, pool: Pool, monkeypatch: pytest.MonkeyPatch, victim: int
) -> None:
    """The second look comes after the last byte was read."""
    paths = [write(tmp_path / str(n), edited([])) for n in range(3)]
    real, read = counters.advance, [0]

    def advance(count: int) -> None:
        read[0] += count
        if read[0] == 3 * SIZE:
            _put_back(paths[victim])
        real(count)

    monkeypatch.setattr(counters, "advance", advance)
    work = Work(pool, paths, "bytes").do([range(3)])
    assert [members for _, members in work.classes] == [[n for n in range(3) if n != victim]]
    assert work.problems == {str(victim): ProblemKind.CHANGED}


def test_another_file_is_hashed_for_one_that_changed_after_all_was_compared(tmp_path: Path, pool: Pool) -> None:
    """A file that only its hashing finds changed is in no class; the others get their digest from another."""
    paths = [write(tmp_path / str(n), edited([])) for n in range(4)]

    def before(done: int) -> None:
        if done == 6:
            _put_back(paths[0])

    work = Work(pool, paths, order=[1] * 6, before=before).do([range(4)])
    assert [bool(p.span.ticket) for p in work.pieces] == [False] * 6 + [True] * 2
    assert work.classes == [(hashlib.sha256(edited([])).digest(), [1, 2, 3])]
    assert work.problems == {"0": ProblemKind.CHANGED}


def test_one_worker_compares_as_long_as_there_are_ranges(tmp_path: Path, pool: Pool) -> None:
    """Where a set falls into many classes, hashing them keeps no more than two of three workers from comparing."""
    data = [edited([place]) for place in (0, 1, 2, 3, 4) for _ in range(2)]
    paths = [write(tmp_path / str(n), d) for n, d in enumerate(data)]
    work = Work(pool, paths, order=[-1], in_flight=6).do([range(10)])
    assert max(work.hashed_beside) == 2
    assert work.classes == expected(data, "sha256")


def test_one_file_of_each_class_is_hashed_and_every_byte_counted_once(tmp_path: Path, pool: Pool) -> None:
    """Five equal files cost one digest; progress reaches exactly what there is to read."""
    paths = [write(tmp_path / str(n), edited([])) for n in range(5)]
    work = Work(pool, paths).do([range(5)])
    hashed = [p for p in work.pieces if p.span.ticket]
    assert [p.files for p in hashed] == [1]
    assert len(work.pieces) > 5
    assert sum(r.bytes_read for r in work.found) == 5 * SIZE


def test_hashing_a_file_that_equals_no_other_is_withdrawn(
    tmp_path: Path, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the file that is being hashed turns out to be alone, its hashing is not wanted, and another's begins."""
    withdrawn: list[int] = []
    monkeypatch.setattr(pool, "withdraw", withdrawn.append)
    paths = [write(tmp_path / str(n), edited([] if n else [GRAIN])) for n in range(3)]
    work = Work(pool, paths, order=[1, 1, 1, 1, 1, 1, 1, 1]).do([range(3)])
    tickets = [p.span.ticket for p in work.pieces if p.span.ticket]
    assert len(tickets) == 2
    assert len(withdrawn) == 1
    assert work.classes == expected([p.read_bytes() for p in paths], "sha256")


def test_what_is_withdrawn_is_broken_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is hashed for nobody is read no further than its step, and has no digest."""
    path = os.fsencode(write(tmp_path / "a", edited([])))
    monkeypatch.setattr(counters, "is_withdrawn", lambda ticket: ticket == 7)
    span = Span(0, SIZE, [1], ticket=7)
    candidates = CandidateSet(SIZE, [0], [path], [file_stat.of_path(path)], needs_digest=True, span=span)
    task = Confirmer(Method.of("sha256"), Opener(), TUNING)
    result = task([candidates])
    assert (len(result.classes), result.problems, result.bytes_read) == (0, [], TUNING.step)
    candidates.span = span._replace(ticket=8)
    assert len(task([candidates]).classes) == 1


def shared(pool: Pool, folder: Path, sizes: Sequence[int], **how: bool) -> set[int]:
    """Return which of some pairs of files, given by their sizes, were shared out."""
    paths = [write(folder / f"{n}{c}", bytes(size)) for n, size in enumerate(sizes) for c in "ab"]
    work = Work(pool, paths, "bytes", **how).do([range(2 * n, 2 * n + 2) for n in range(len(sizes))])
    assert len(work.classes) == len(sizes)
    return {p.key // 2 for p in work.pieces}


def test_only_what_would_leave_workers_idle_is_shared(tmp_path: Path, pool: Pool) -> None:
    """Sets that three workers have in equal parts are whole; one too many is not, nor one that outweighs the others."""
    large = [4 * GRAIN] * 6
    assert shared(pool, tmp_path / "equal", large) == set()
    assert shared(pool, tmp_path / "more", large[:4]) == {3}
    assert shared(pool, tmp_path / "two", large[:2]) == {0, 1}
    assert shared(pool, tmp_path / "one", [40 * GRAIN, *large]) == {0}
    assert shared(pool, tmp_path / "small", [900, 900]) == set()
    assert shared(pool, tmp_path / "alone", large[:2], alone=True) == set()


def test_what_may_be_joined_by_digest_is_not_shared(tmp_path: Path, pool: Pool) -> None:
    """A set with a remembered digest is hashed file by file, as ever."""
    paths = [write(tmp_path / str(n), edited([])) for n in range(3)]
    digests = Column(32)
    digests.put(1, hashlib.sha256(edited([])).digest())
    work = Work(pool, paths).do([range(3)], digests)
    assert not work.pieces
    assert [sorted(members) for _, members in work.classes] == [[0, 1, 2]]
