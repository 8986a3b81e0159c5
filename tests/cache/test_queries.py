"""Looking up many rows: by whom, what it costs, and what becomes of failures; and when rows are written."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupe.cache import queries
from dedupe.cache import store as cache_module
from dedupe.cache.queries import Recalled
from dedupe.cache.store import Cache
from dedupe.files.table import FileTable
from dedupe.workers.pool import Pool
from tests.cache_helpers import AT_REST, NOW, ONE, each, many, mounted, rows, stored
from tests.naive import fork_workers, start_workers


@pytest.mark.parametrize("jobs", [1, 2])
def test_workers_recall_what_one_process_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    """Everything comes back, whatever the batch and whoever looks it up, also of members with gaps."""
    start_workers(monkeypatch)
    monkeypatch.setattr(queries, "BATCH", 700)
    table, known = stored(tmp_path / "c.db", 3000)
    divergences = {i: m for i, m in many(3000)[3].items() if m}
    for members in (range(3000), range(0, 3000, 3)):
        cache = Cache(tmp_path / "c.db", "sha256", NOW)
        with Pool(jobs) as workers:
            found = list(cache.recall(table, members, workers))
            assert workers.has_workers == (jobs > 1)
        cache.close()
        assert sorted(told for f in found for told in each(f)) == [known[i] for i in members]
        assert {i: m for f in found for i, m in f.divergences.items()} == {
            i: m for i, m in divergences.items() if i in members
        }


@given(
    st.lists(st.tuples(st.sampled_from([b"/d", b"/d/a", b"/d/ab", b"/d/a/c"]), st.integers(0, 30)), unique=True),
    st.sets(st.integers(0, 60)),
    st.integers(1, 3),
)
@settings(max_examples=60, deadline=None)
def test_what_is_asked_is_found_whatever_lies_between(
    files: list[tuple[bytes, int]], asked: set[int], run: int
) -> None:
    """Rows are recalled for all files that are asked for and no others, however they and others mingle."""
    table = FileTable()
    folders: dict[bytes, int] = {}
    for folder, name in files:
        at = folders.setdefault(folder, len(folders))
        if at == len(table.folders):
            table.enter(folder, mounted())
        table.add(at, b"%d" % name, AT_REST._replace(inode=name))
    members = [i for i in sorted(asked) if i < len(files)]
    with tempfile.TemporaryDirectory() as folder_, pytest.MonkeyPatch.context() as patch:
        patch.setattr(queries, "_RUN", run)
        cache = Cache(os.path.join(folder_, "c.db"), "sha256", NOW)
        cache.remember(table, range(len(files)), lambda i: i.to_bytes(16, "big"))
        cache.commit()
        found = [told for f in cache.recall(table, members, ONE) for told in each(f)]
        cache.close()
    assert found == [(i, i.to_bytes(16, "big"), None) for i in members]


def test_looking_up_costs_what_is_asked_not_what_is_known(tmp_path: Path) -> None:
    """Twenty files of a folder of which thousands are known take no more steps than if hundreds were."""
    steps = []
    for count in (400, 8000):
        table, _ = stored(tmp_path / f"{count}.db", count)
        for i in range(count):
            table.folder[i] = 0
        cache = Cache(tmp_path / f"{count}.db", "sha256", NOW)
        cache.remember(table, range(count), lambda i: i.to_bytes(16, "big"))
        cache.commit()
        assert cache._connection is not None
        done: list[None] = []
        cache._connection.set_progress_handler(lambda told=done: told.append(None), 1)
        assert sum(len(f.members) for f in cache.recall(table, range(0, count, count // 20), ONE)) == 20
        steps.append(len(done))
        cache.close()
    assert steps[1] < steps[0] * 1.5


def test_a_row_waits_for_its_digest_and_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What awaits a digest is written when that is known, or at the end; all else at the next commit."""
    table, fingerprints, _, _ = many(3)
    cache = Cache(tmp_path / "c.db", "sha256", NOW)
    cache.remember(table, [0, 1, 2], fingerprints.get)
    cache.await_digests([0, 1])
    cache.commit()
    assert rows(tmp_path / "c.db") == 1
    monkeypatch.setattr(cache_module, "_COMMIT", -1.0)
    cache.remember(table, [0], fingerprints.get, {0: b"D" * 32})
    assert rows(tmp_path / "c.db") == 2
    cache.close()
    other = Cache(tmp_path / "c.db", "sha256", NOW)
    found = sorted(told for f in other.recall(table, [0, 1, 2], ONE) for told in each(f))
    other.close()
    assert found == [(0, fingerprints[0], b"D" * 32), (1, fingerprints[1], None), (2, fingerprints[2], None)]


class Dying(queries.QueryTask):
    """Looks up, but the process dies over some batches."""

    __slots__ = ()

    def __call__(self, batch: queries.Query) -> Recalled | None:
        """Die, where this is a worker."""
        if batch.members[0] % 200 == 0 and multiprocessing.parent_process() is not None:
            os._exit(9)
        return super().__call__(batch)


class Failing(queries.QueryTask):
    """Looks up in a database that is not there."""

    __slots__ = ()

    def __call__(self, batch: queries.Query) -> Recalled | None:
        """Fail."""
        return queries.QueryTask(self.database.replace("c.db", "gone.db"), self.algorithm)(batch)


@pytest.mark.parametrize("task", [Dying, Failing])
def test_what_workers_fail_to_look_up_is_looked_up_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: type[queries.QueryTask]
) -> None:
    """A worker that dies, or cannot open the cache, costs time and nothing else."""
    start_workers(monkeypatch)
    monkeypatch.setattr(queries, "BATCH", 100)
    monkeypatch.setattr(cache_module, "QueryTask", task)
    table, known = stored(tmp_path / "c.db", 500)
    cache = Cache(tmp_path / "c.db", "sha256", NOW)
    with Pool(2) as workers:
        found = sorted(told for f in cache.recall(table, range(500), workers) for told in each(f))
    cache.close()
    assert found == known
    assert cache.notes == []
    assert not (tmp_path / "gone.db").exists()


def test_a_failure_everywhere_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where this process cannot look up either, one sentence tells it, and nothing is believed."""
    start_workers(monkeypatch)
    monkeypatch.setattr(queries, "BATCH", 100)
    table, _ = stored(tmp_path / "c.db", 500)
    cache = Cache(tmp_path / "c.db", "sha256", NOW)
    other = sqlite3.connect(tmp_path / "c.db")
    with other:
        other.execute("ALTER TABLE files RENAME COLUMN checksum TO other")
    other.close()
    with Pool(2) as workers:
        assert list(cache.recall(table, range(500), workers)) == []
    assert len(cache.notes) == 1
    assert not cache.usable
    cache.remember(table, [1], {1: b"F" * 16}.get)
    cache.close()
    assert len(cache.notes) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only there workers are forked")
def test_a_forked_worker_opens_the_cache_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers born while this process has the cache open use no connection of its, and leave its locks alone."""
    fork_workers(monkeypatch)
    monkeypatch.setattr(queries, "BATCH", 50)
    table, known = stored(tmp_path / "c.db", 1000)
    cache = Cache(tmp_path / "c.db", "sha256", NOW)
    own = cache._connection
    assert own is not None
    seen: list[str] = []
    own.set_trace_callback(seen.append)
    with Pool(2) as workers:
        workers.prepare(files=1000)
        assert workers.has_workers
        recalled = cache.recall(table, range(1000), workers)
        found = each(next(recalled))
        cache.remember(table, range(1000), dict(enumerate([b"G" * 16] * 1000)).get)
        cache.commit()  # while workers are reading
        found += [told for f in recalled for told in each(f)]
    own.set_trace_callback(None)
    cache.close()
    assert not [s for s in seen if "FROM files WHERE" in s and "LIMIT 1" not in s]
    told = {i: p for i, p, _ in found}
    assert sorted(told) == list(range(1000))
    assert all(told[i] in (known[i][1], b"G" * 16) for i in told)
    assert cache.notes == []
    database = sqlite3.connect(tmp_path / "c.db")
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
