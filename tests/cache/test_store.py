"""What is remembered, and when it is believed."""

from __future__ import annotations

import sqlite3
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupe.cache import row_checksum
from dedupe.cache.store import Cache, NoCache, open_cache
from dedupe.cache.write_buffer import RACY_NS
from dedupe.compare import fingerprint
from dedupe.files.table import FileTable
from dedupe.storage.file_stat import FileStat
from tests import cache_helpers
from tests.cache_helpers import AT_REST, NOW, ONE, mounted, one_file, rows

times = st.integers(-(2**63), 2**63 - 1)
numbers = st.integers(0, 2**63 - 1)
stats = st.builds(FileStat, numbers, times, times, st.integers(0, 2**128 - 1))


def remember(path: Path, stat_: FileStat = AT_REST, **options: Any) -> None:
    """Store one row."""
    cache_helpers.remember(path, one_file(stat_), **options)


def recall(path: Path, stat_: FileStat = AT_REST, algorithm: str = "sha256") -> list[tuple[int, bytes, bytes | None]]:
    """Return what is believed of that file now."""
    return cache_helpers.recall(path, one_file(stat_), algorithm)


def test_what_was_learnt_is_recalled(tmp_path: Path) -> None:
    """The same file, by path and everything that stat says, brings fingerprint and digest back."""
    remember(tmp_path / "c.db")
    assert recall(tmp_path / "c.db") == [(0, b"F" * 16, b"D" * 32)]


@pytest.mark.parametrize("field", FileStat._fields)
@pytest.mark.parametrize("by", [1, -1])
def test_any_other_status_is_not_believed(tmp_path: Path, field: str, by: int) -> None:
    """Size, both times and inode: one that differs by one is another file's row."""
    remember(tmp_path / "c.db")
    assert recall(tmp_path / "c.db", AT_REST._replace(**{field: getattr(AT_REST, field) + by})) == []


def test_an_inode_number_counts_to_its_last_bit(tmp_path: Path) -> None:
    """Also where it has 128 of them, and the others are equal."""
    for high in (0, 1, 2**63):
        remember(tmp_path / "c.db", AT_REST._replace(inode=(high << 64) + 7))
        assert len(recall(tmp_path / "c.db", AT_REST._replace(inode=(high << 64) + 7))) == 1
        assert recall(tmp_path / "c.db", AT_REST._replace(inode=((high ^ 4) << 64) + 7)) == []


def test_another_algorithm_brings_the_fingerprint_only(tmp_path: Path) -> None:
    """A digest is believed as what it is; rows of two algorithms stand beside each other."""
    remember(tmp_path / "c.db")
    assert recall(tmp_path / "c.db", algorithm="sha512") == [(0, b"F" * 16, None)]
    remember(tmp_path / "c.db", algorithm="sha512", digest=b"E" * 64)
    assert recall(tmp_path / "c.db", algorithm="sha512") == [(0, b"F" * 16, b"E" * 64)]
    assert recall(tmp_path / "c.db") == [(0, b"F" * 16, b"D" * 32)]


def test_another_layout_of_samples_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fingerprints of other samples mean nothing."""
    remember(tmp_path / "c.db")
    monkeypatch.setattr(fingerprint, "LAYOUT", fingerprint.LAYOUT + 1)
    assert recall(tmp_path / "c.db") == []


@pytest.mark.parametrize("part", FileStat._fields)
@given(data=st.data(), stat_=stats)
@settings(max_examples=100, deadline=None)
def test_a_checksum_fits_no_other_stat(part: str, data: st.DataObject, stat_: FileStat) -> None:
    """Whatever the stat, a change of any part of it, by any amount, gives another checksum."""
    field = {"size": numbers, "inode": st.integers(0, 2**128 - 1)}.get(part, times)
    other = stat_._replace(**{part: data.draw(field.filter(lambda n: n != getattr(stat_, part)))})
    one, two = (list(row_checksum.each(row_checksum.packed_stats(one_file(s), [0]))) for s in (stat_, other))
    assert one != two
    assert one == list(row_checksum.each(row_checksum.packed_stats(one_file(stat_), [0])))


@given(st.lists(st.tuples(stats, st.booleans()), min_size=1, max_size=12, unique_by=lambda s: s[0]))
def test_stats_packed_are_those_of_each_file_alone(files: list[tuple[FileStat, bool]]) -> None:
    """Many stats packed at once, of a run or with gaps, are the same as one at a time, and as of plain numbers."""
    table = FileTable()
    folder = table.enter(b"/d", mounted())
    for n, (stat_, _) in enumerate(files):
        table.add(folder, b"%d" % n, stat_)
    members = [i for i, (_, asked) in enumerate(files) if asked] or [0]
    alone = [row_checksum.packed_stats(one_file(files[i][0]), [0]) for i in members]
    assert list(row_checksum.each(row_checksum.packed_stats(table, members))) == alone
    assert [row_checksum.pack(*files[i][0]) for i in members] == alone


@pytest.mark.parametrize("column", ["path", "algorithm", "fingerprint", "divergence", "digest", "checksum"])
def test_a_row_that_was_edited_is_not_believed(tmp_path: Path, column: str) -> None:
    """A bit that changed in anything that is recalled, or that recalls it, is a row of nothing."""
    remember(tmp_path / "c.db")
    database = sqlite3.connect(tmp_path / "c.db")
    with database:
        new = {"algorithm": "'sha512'", "path": "CAST('d/g' AS BLOB)"}.get(column, f"CAST({column} || x'00' AS BLOB)")
        database.execute(f"UPDATE files SET {column} = {new}")
    database.close()
    cache = Cache(tmp_path / "c.db", "sha256", NOW)
    asked = one_file(name=b"g" if column == "path" else b"f\xff")
    assert list(cache.recall(asked, [0], ONE)) == []
    cache.close()


def test_a_fingerprint_of_another_length_is_not_believed(tmp_path: Path) -> None:
    """A column of values has one width, so that what is none must not get as far."""
    for length in (0, 15, 17):
        cache = Cache(tmp_path / "c.db", "sha256", NOW)
        cache.remember(one_file(), [0], {0: b"F" * length}.get, {0: b"D" * 32})
        cache.close()
        assert rows(tmp_path / "c.db") == 1
        assert recall(tmp_path / "c.db") == []


def test_a_row_of_an_older_format_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the checksum is of may change; the next scan replaces older rows."""
    monkeypatch.setattr(row_checksum, "FORMAT", 1)
    remember(tmp_path / "c.db")
    assert len(recall(tmp_path / "c.db")) == 1
    monkeypatch.undo()
    assert recall(tmp_path / "c.db") == []
    remember(tmp_path / "c.db")
    assert len(recall(tmp_path / "c.db")) == 1
    assert rows(tmp_path / "c.db") == 1


@given(modified=times, changed=times, read=times)
@settings(max_examples=25, deadline=None)
def test_a_file_not_at_rest_never_has_a_row(modified: int, changed: int, read: int) -> None:
    """Only where both times were older by more than two seconds than the clock when reading began."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.db"
        young = AT_REST._replace(modified_ns=modified, changed_ns=changed)
        remember(path, young, read_ns=read)
        assert rows(path) == (max(modified, changed) < read - 2_000_000_000)


@pytest.mark.parametrize("late", ["modified_ns", "changed_ns"])
def test_a_file_not_at_rest_is_not_remembered(tmp_path: Path, late: str) -> None:
    """Equal in everything, but too young when it was read."""
    young = AT_REST._replace(**{late: NOW - RACY_NS})
    remember(tmp_path / "c.db", young)
    assert rows(tmp_path / "c.db") == 0
    assert recall(tmp_path / "c.db", young) == []
    remember(tmp_path / "c.db", young._replace(**{late: NOW - RACY_NS - 1}))
    assert len(recall(tmp_path / "c.db", young._replace(**{late: NOW - RACY_NS - 1}))) == 1


def test_a_file_of_a_far_future_has_no_row_and_takes_nobody_elses(tmp_path: Path) -> None:
    """Times beyond the year 2262 fit no column: in their place stand zeros, which are not the file's."""
    remember(tmp_path / "c.db", AT_REST._replace(modified_ns=0, changed_ns=0))
    far = AT_REST._replace(modified_ns=2**63, changed_ns=0)
    assert recall(tmp_path / "c.db", far) == []
    remember(tmp_path / "far.db", far)
    assert rows(tmp_path / "far.db") == 0


def test_a_row_tells_what_it_is_to_other_programs(tmp_path: Path) -> None:
    """Whoever opens the cache finds every column, numbers as large as they come, and null for no digest."""
    remember(tmp_path / "c.db")
    database = sqlite3.connect(tmp_path / "c.db")
    query = (
        "SELECT path, algorithm, size, modified_ns, changed_ns, inode, read_ns, layout, fingerprint, digest, divergence"
    )
    row = database.execute(query + " FROM files").fetchall()
    database.close()
    time = AT_REST.modified_ns
    known = (b"d/f\xff", "sha256", 100, time, time, str(2**127), NOW, fingerprint.LAYOUT, b"F" * 16)
    assert row == [(*known, b"D" * 32, b"")]
    small = AT_REST._replace(inode=2**53 + 1)
    remember(tmp_path / "d.db", small, digest=b"")
    database = sqlite3.connect(tmp_path / "d.db")
    row = database.execute("SELECT inode, digest FROM files").fetchall()
    database.close()
    assert row == [(2**53 + 1, None)]
    assert recall(tmp_path / "d.db", small) == [(0, b"F" * 16, None)]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_the_cache_is_private(tmp_path: Path) -> None:
    """Names of files are nobody else's business."""
    remember(tmp_path / "c.db")
    assert stat.S_IMODE((tmp_path / "c.db").stat().st_mode) == 0o600


def test_no_path_remembers_nothing() -> None:
    """Without a file there is nothing to recall, and no file of its own."""
    cache = open_cache(None, "sha256", NOW)
    cache.remember(one_file(), [0], {0: b"F" * 16}.get)
    cache.await_digests([0])
    cache.remember_roots([b"/"], "now")
    cache.commit_if_due()
    cache.commit(awaiting=True)
    assert list(cache.recall(one_file(), [0], ONE)) == []
    cache.close()
    assert (cache.usable, list(cache.files), list(cache.notes), cache.measurements) == (False, [], [], None)


def test_no_cache_can_do_all_that_a_cache_can() -> None:
    """Nobody need ask whether there is a cache."""
    public = {name for name in dir(Cache) if not name.startswith("_")} | {"notes"}
    assert public == {name for name in dir(NoCache) if not name.startswith("_")}
