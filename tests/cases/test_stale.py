"""Stale caches: what must never be believed, each beside the proof that the unchanged file would have been."""

from __future__ import annotations

import mmap
import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dedupe.cache import write_buffer
from dedupe.cache.store import Cache
from dedupe.cache.write_buffer import RACY_NS
from dedupe.compare import fingerprint
from dedupe.compare.tuning import MEASURED, Tuning
from dedupe.config import ScanConfig
from dedupe.files.table import FileTable
from dedupe.find import find_duplicates
from dedupe.storage.file_stat import FileStat
from dedupe.workers.pool import Pool
from tests.cases.common import JOBS, dated, find, found, kinds, need_root, settle, sparse
from tests.conftest import write
from tests.disks import unmount
from tests.made_volumes import MOUNT

_N = 300 << 10  # above what is read whole, so that the digest matters, not the fingerprint alone
_T0 = 1_700_000_000_123_456_789
_A, _B = b"A" * _N, b"A" * (_N // 2) + b"B" + b"A" * (_N // 2 - 1)  # equal in every sample
_builders: dict[str, Callable[[Path], None]] = {}


def _tree(build: Callable[[Path], None]) -> Callable[[Path], None]:
    """Register what makes the tree of the test that bears the function's name."""
    _builders[build.__name__] = build
    return build


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Make all trees, then wait once until they are at rest."""
    trees = {}
    for name, build in _builders.items():
        trees[name] = tmp_path_factory.mktemp(name)
        build(trees[name] / "d")
    settle()
    return trees


@pytest.fixture
def warm(grown: dict[str, Path]) -> Callable[[str, set[frozenset[str]]], tuple[Path, Path]]:
    """Return a function that fills a tree's cache and proves that the untouched tree is served from it."""

    def fill(name: str, want: set[frozenset[str]]) -> tuple[Path, Path]:
        top, cache = grown[name] / "d", grown[name] / "c.db"
        for _ in range(2):  # the first leaves out digests that it does not need; the second joins by them
            assert found(find(top, cache=cache), top) == want
        again = find(top, cache=cache)
        assert found(again, top) == want
        assert again.totals.bytes_read == 0
        assert again.totals.cache_hits > 0
        return top, cache

    return fill


@_tree
def _b15(top: Path) -> None:
    """Make a and c equal, b another of their size and date, for each way to replace a file."""
    for way in ("rename", "copy", "link", "exchange"):
        a, b, c = (write(top / way / p, d) for p, d in (("d/a.bin", _A), ("other/b.bin", _B), ("keep/c.bin", _A)))
        dated((a, b, c), _T0)


def test_b15_path_and_mtime_serve_another_files_digest(warm: Any) -> None:
    """A file that took another's name, size and time of modification is read again."""
    pairs = {w: frozenset({f"{w}/d/a.bin", f"{w}/keep/c.bin"}) for w in ("rename", "copy", "link", "exchange")}
    all_b = frozenset(f"{w}/other/b.bin" for w in pairs)
    all_a = frozenset().union(*pairs.values())
    top, cache = warm("_b15", {all_a, all_b})
    a, b = "d/a.bin", "other/b.bin"
    os.replace(top / "rename" / b, top / "rename" / a)
    shutil.copy2(top / "copy" / b, top / "copy" / a)
    (top / "link" / a).unlink()
    os.link(top / "link" / b, top / "link" / a)
    for source, target in ((a, "x"), (b, a), ("x", b)):
        os.rename(top / "exchange" / source, top / "exchange" / target)
    result = find(top, cache=cache)
    is_a = {"rename/keep/c.bin", "copy/keep/c.bin", "link/keep/c.bin", "exchange/keep/c.bin", "exchange/other/b.bin"}
    assert frozenset(is_a) in found(result, top)
    assert not any({f"{w}/d/a.bin", f"{w}/keep/c.bin"} <= g for w in pairs for g in found(result, top))


@_tree
def _b16(top: Path) -> None:
    """Make three folders with a file of one date each, two of them equal."""
    for name, data in (("a/f", _A), ("b/f", _B), ("k/f", _A)):
        dated([write(top / name, data)], _T0)


def test_b16_two_folders_swap_names(warm: Any) -> None:
    """Folders that swapped names take what is known of their files with them, though no file was touched."""
    top, cache = warm("_b16", {frozenset({"a/f", "k/f"})})
    for source, target in (("a", "t"), ("b", "a"), ("t", "b")):
        os.rename(top / source, top / target)
    result = find(top, cache=cache)
    assert found(result, top) == {frozenset({"b/f", "k/f"})}
    assert result.totals.bytes_read == 0
    assert find(top, cache=cache).totals.bytes_read == 0


@_tree
def _b17(top: Path) -> None:
    """Make two equal files of one date."""
    for name in "ab":
        dated([write(top / name, _A)], _T0)


def test_b17_content_changed_and_mtime_put_back(warm: Any) -> None:
    """An edit whose time of modification was put back is seen."""
    top, cache = warm("_b17", {frozenset("ab")})
    with (top / "a").open("r+b") as file:
        file.seek(_N // 2)
        file.write(b"Z")
    dated([top / "a"], _T0)
    assert not find(top, cache=cache).groups


def test_b18_rewrite_in_the_tick_of_the_scan(tmp_path: Path) -> None:
    """A file that was modified just before it was looked at is read again next time, and its row not believed."""
    top, cache = tmp_path / "d", tmp_path / "c.db"
    a, now = write(top / "a", _A), time.time_ns()
    write(top / "b", _A)
    dated([a], now)
    assert found(find(top, cache=cache), top) == {frozenset("ab")}
    a.write_bytes(_B)
    dated([a], now)
    assert not find(top, cache=cache).groups
    unbelieved = find(top, cache=cache)
    assert unbelieved.totals.cache_hits == 0


@pytest.mark.parametrize("seconds", [-1, 60, 10**9])
def test_b18_files_dated_now_or_later_are_read_again(tmp_path: Path, seconds: int) -> None:
    """A file whose times lie in the future, or less than two seconds back, is never served from the cache."""
    top, cache = tmp_path / "d", tmp_path / "c.db"
    for name in "ab":
        dated([write(top / name, _A)], time.time_ns() + seconds * 10**9)
    for _ in range(2):
        result = find(top, cache=cache)
        assert found(result, top) == {frozenset("ab")}
        assert result.totals.cache_hits == 0


def test_b21_second_store_through_a_map(tmp_path: Path) -> None:
    """A store into a page that was dirty before, which moves no time, is seen as the file is not at rest."""
    top, cache = tmp_path / "d", tmp_path / "c.db"
    a = write(top / "a", _A)
    write(top / "b", b"Z" + _A[1:])
    with a.open("r+b") as file, mmap.mmap(file.fileno(), 0) as stored:
        stored[0:1] = b"Z"
        assert found(find(top, cache=cache), top) == {frozenset("ab")}
        stored[1:2] = b"Y"
        assert not find(top, cache=cache).groups


@_tree
def _b23(top: Path) -> None:
    """Make a file and its copy with all that copies keep."""
    write(top / "a", _A)
    shutil.copy2(top / "a", top / "b")


def test_b23_edited_copy_with_the_originals_dates(warm: Any) -> None:
    """A copy that was edited and given its original's dates again leaves the group."""
    top, cache = warm("_b23", {frozenset("ab")})
    (top / "b").write_bytes(_B)
    shutil.copystat(top / "a", top / "b")
    assert not find(top, cache=cache).groups


@_tree
def _b29(top: Path) -> None:
    """Make two equal files."""
    for name in "ab":
        write(top / name, _A)


def test_b29_times_rounded_by_a_file_system_cost_a_read(warm: Any) -> None:
    """Times that were rounded after the scan cost a read, and change no group."""
    top, cache = warm("_b29", {frozenset("ab")})
    for name in "ab":
        dated([top / name], os.stat(top / name).st_mtime_ns // 2_000_000_000 * 2_000_000_000)
    result = find(top, cache=cache)
    assert found(result, top) == {frozenset("ab")}
    assert result.totals.cache_hits == 0


@_tree
def _b30(top: Path) -> None:
    """Make two equal files."""
    for name in "ab":
        write(top / name, _A)


def test_b30_another_mount_point_costs_nothing(warm: Any, tmp_path: Path) -> None:
    """The same files at another mount point are known there too."""
    import subprocess

    need_root()
    top, cache = warm("_b30", {frozenset("ab")})
    for point in ("m1", "m2"):
        (tmp_path / point).mkdir()
        subprocess.run(["mount", "--bind", top, tmp_path / point], check=True)
        try:
            result = find(tmp_path / point, cache=cache)
            assert found(result, tmp_path / point) == {frozenset("ab")}
            assert result.totals.bytes_read == 0
        finally:
            unmount(tmp_path / point)
    assert find(top, cache=cache).totals.bytes_read == 0


@pytest.mark.parametrize("jobs", JOBS)
@pytest.mark.parametrize("phase", ["group_by_size", "confirm"])
@pytest.mark.parametrize("size", [20_000, _N, 20 << 20])
def test_b32_changed_after_the_walk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, between: Any, phase: str, size: int, jobs: int
) -> None:
    """A file that changed after the walk is in no group, is told as changed, and has no digest remembered."""
    monkeypatch.setattr(write_buffer, "RACY_NS", -RACY_NS)  # files not at rest have no rows
    top, cache = tmp_path / "d", tmp_path / "c.db"
    for name in "abc":
        sparse(top / name, size)
    between(phase, lambda: write(top / "a", b"B").touch() or os.truncate(top / "a", size))
    result = find(top, cache=cache, jobs=jobs)
    assert found(result, top) == {frozenset("bc")}
    if phase == "confirm":
        assert kinds(result) == {"a": "changed"}
    assert b"a" not in _with_digest(cache)
    assert b"b" in _with_digest(cache)


@pytest.mark.parametrize("jobs", JOBS)
def test_b32_same_bytes_but_touched_meanwhile(tmp_path: Path, between: Any, jobs: int) -> None:
    """A file that was touched meanwhile is left out even if the bytes read were equal."""
    for name in "abc":
        sparse(tmp_path / name, 20 << 20)
    between("confirm", lambda: os.utime(tmp_path / "a"))
    result = find(tmp_path, jobs=jobs)
    assert found(result, tmp_path) == {frozenset("bc")}
    assert kinds(result) == {"a": "changed"}


@pytest.mark.parametrize("jobs", JOBS)
@pytest.mark.parametrize("mode", ["sha256", "bytes"])
def test_b32_written_while_it_is_read(tmp_path: Path, program: Any, jobs: int, mode: str) -> None:
    """A file that is written to all the time while it is read is in no group, and told as changed."""
    import json

    size = 256 << 20
    for name in "abc":
        sparse(tmp_path / "d" / name, size)
    process = program("scan", tmp_path / "d", "--no-cache", "--jobs", str(jobs), "--confirm", mode, "--format", "json")
    with (tmp_path / "d" / "a").open("r+b", buffering=0) as file:
        at = size // 2
        while process.poll() is None:
            file.seek(at)
            file.write(b"B")
            at = at + 4096 if at + 8192 < size else size // 2
            time.sleep(0.002)
    report = json.loads(process.communicate()[0])
    assert [{os.path.basename(f["path"]) for f in g["files"]} for g in report["groups"]] == [set("bc")]
    assert [(os.path.basename(p["path"]), p["kind"]) for p in report["problems"]] == [("a", "changed")]
    assert process.returncode == 3


def _with_digest(cache: Path) -> set[bytes]:
    """Return the names of the files that a cache has a digest for."""
    database = sqlite3.connect(cache)
    try:
        return {
            row[0].rpartition(b"/")[2] for row in database.execute("SELECT path FROM files WHERE digest IS NOT NULL")
        }
    finally:
        database.close()


@_tree
def _b35(top: Path) -> None:
    """Make two pairs of equal files."""
    for name in "ab":
        write(top / name, _A)
        write(top / "sub" / name, _B)


def test_b35_deleted_files_are_not_listed(warm: Any) -> None:
    """A group holds only files that this very scan saw."""
    top, cache = warm("_b35", {frozenset("ab"), frozenset({"sub/a", "sub/b"})})
    (top / "a").unlink()
    shutil.rmtree(top / "sub")
    result = find(top, cache=cache)
    assert not result.groups
    assert result.totals.files == 1


@_tree
def _b38(top: Path) -> None:
    """Make two equal files and one equal in every sample."""
    for name, data in (("a", _A), ("b", _A), ("c", _B)):
        write(top / name, data)


def test_b38_other_algorithm_or_sample_layout(warm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A digest is believed for its own algorithm, and a fingerprint for its own layout of samples, only."""
    top, cache = warm("_b38", {frozenset("ab")})
    plain = {mode: find(top, confirm=mode) for mode in ("sha512", "blake2b", "xxh3", "bytes", "sha256")}
    for _ in range(2):
        for mode, want in plain.items():
            result = find(top, cache=cache, confirm=mode)
            assert found(result, top) == found(want, top)
            assert result.groups[0].digest == want.groups[0].digest
    monkeypatch.setattr(fingerprint, "LAYOUT", fingerprint.LAYOUT + 1)
    config, tuning = ScanConfig(roots=[top], cache=cache), Tuning(sample=MEASURED.sample * 2)
    other = find_duplicates(config, tuning=tuning)
    assert found(other, top) == {frozenset("ab")}
    assert other.totals.cache_hits == 0
    assert find_duplicates(config, tuning=tuning).totals.cache_hits == 3


@_tree
def _o05(top: Path) -> None:
    """Make a file and its copy, and a later version that bears the same date."""
    for name, data in (("a", _A), ("b", _A)):
        write(top / name, data)
    write(top.parent / "v2", _B)
    shutil.copystat(top / "a", top.parent / "v2")


def test_o05_restored_backup(warm: Any) -> None:
    """An older or newer state that was put back with its dates is read again."""
    import subprocess

    top, cache = warm("_o05", {frozenset("ab")})
    if sys.platform == "win32":
        shutil.copy2(top.parent / "v2", top / "a")
    else:
        subprocess.run(["cp", "-a", top.parent / "v2", top / "a"], check=True)
    assert not find(top, cache=cache).groups


_STATUS = FileStat(size=_N, modified_ns=_T0, changed_ns=_T0 + 1, inode=42)
_FIELDS = [*FileStat._fields]


@pytest.mark.parametrize("field", ["", *_FIELDS])
@pytest.mark.parametrize("by", [1, -1, 1 << 40])
def test_b15_every_part_of_the_status_counts(tmp_path: Path, field: str, by: int) -> None:
    """A row is believed if all of the status is equal, and not if any one part differs."""
    cache = Cache(os.fspath(tmp_path / "c.db"), "sha256", time.time_ns())
    before, table = FileTable(), FileTable()
    before.add(before.enter(b"/d", MOUNT), b"f", _STATUS)
    cache.remember(before, [0], {0: b"p" * 16}.get, {0: b"q" * 32})
    cache.commit()
    now = (
        _STATUS._replace(**{field: getattr(_STATUS, field) + by})
        if field and getattr(_STATUS, field) + by >= 0
        else _STATUS
    )
    table.add(table.enter(b"/d", MOUNT), b"f", now)
    recalled = list(cache.recall(table, [0], Pool(1)))
    cache.close()
    assert [r.digests for r in recalled] == ([b"q" * 32] if now == _STATUS else [])


def test_b15_data_is_equal_in_every_sample() -> None:
    """The data of these cases differ in no sample, so that only the digest tells them apart."""
    assert [_A[o : o + n] for o, n in fingerprint.places(_N)] == [_B[o : o + n] for o, n in fingerprint.places(_N)]


@pytest.mark.parametrize("window", [2 << 20, 8 << 20])
def test_b32_the_first_file_changes_between_two_comparisons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int
) -> None:
    """Two files that differ are never equal because each was equal to a third that changed in between."""
    from dedupe.compare import confirm
    from dedupe.digests import memory

    size, at = 24 << 20, (1 << 20) + 7  # in no sample
    for name, byte in (("a", b"1"), ("b", b"1"), ("c", b"2")):
        sparse(tmp_path / name, size, (at, byte), (20 << 20, b"x"))
    usual, compared = memory.equal, 0

    def changing(left: int, right: int, length: int) -> bool:
        nonlocal compared
        same = usual(left, right, length)
        compared += 1
        with (tmp_path / "a").open("r+b") as file:
            if compared == 3:  # the step that holds the byte: a and b were found equal
                file.seek(at)
                file.write(b"2")
            elif compared == 4:
                file.seek(20 << 20)
                file.write(b"y")  # so that a drops out later
        return same

    monkeypatch.setattr(memory, "equal", changing)
    judge = confirm.Confirmer.__call__

    def in_maps(self: confirm.Confirmer, batch: Any) -> Any:
        return judge(self.with_maps(), batch)

    monkeypatch.setattr(confirm.Confirmer, "__call__", in_maps)
    paths = sorted(tmp_path.iterdir())
    result = find_duplicates(ScanConfig(roots=paths, jobs=1), tuning=Tuning(window=window))
    assert compared > 4
    assert not any({"b", "c"} <= g for g in found(result, tmp_path))
    assert kinds(result) == {"a": "changed"}
