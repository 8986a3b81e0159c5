"""Wrong results of the comparison itself: samples taken for proof, absent digests, unread files, lengths cut short."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from dedupe.compare import fingerprint
from dedupe.compare.tuning import MEASURED
from tests.cache_helpers import remembered_digests
from tests.cases.common import (
    JOBS,
    MODES,
    MODES_OF_POSIX,
    SIGNALS,
    find,
    flipped,
    found,
    kinds,
    not_on_windows,
    ordinary_user,
    settle,
    sparse,
)
from tests.conftest import groups, write

_STEP, _WINDOW, _SMALL = MEASURED.step, MEASURED.window, MEASURED.small
_WHOLE, _SAMPLE = MEASURED.whole, MEASURED.sample


def _places(size: int) -> list[int]:
    """Return offsets at and around every boundary that the code knows in a file of `size` bytes."""
    edges = {0, size, size // 2}
    for offset, length in fingerprint.places(size):
        edges |= {offset, offset + length}
    for unit in (_STEP, _WINDOW, _SMALL, _WHOLE, _SAMPLE):
        edges |= {unit, size // unit * unit}
    near = {e + d for e in edges for d in (-1, 0, 1)}
    return sorted(p for p in near if 0 <= p < size)


_SIZES = sorted(
    {
        edge + d
        for edge in (1, _SAMPLE, _WHOLE, 1 << 16, _SMALL, _STEP, _STEP + _SMALL)
        for d in (-1, 0, 1)
        if edge + d > 0
    }
)


@pytest.mark.parametrize("size", _SIZES)
def test_b01_one_flipped_byte_anywhere_is_seen(tmp_path: Path, size: int) -> None:
    """Equal samples never make a group: one flipped byte at any boundary keeps a file out, in each way to confirm."""
    base = os.urandom(size)
    for name in ("a", "a2"):
        write(tmp_path / name, base)
    for at in _places(size):
        write(tmp_path / f"b{at}", flipped(base, at))
    for mode in MODES:
        assert found(find(tmp_path, confirm=mode, jobs=1), tmp_path) == {frozenset({"a", "a2"})}


@pytest.mark.parametrize("mode", ["sha256", "bytes"])
@pytest.mark.parametrize("size", [_WINDOW - 1, _WINDOW, 2 * _WINDOW + 1, MEASURED.large + 1])
def test_b01_one_flipped_byte_is_seen_through_maps(tmp_path: Path, size: int, mode: str) -> None:
    """Workers that map windows see a flipped byte at every boundary of samples, steps and windows."""
    for name in ("a", "a2"):
        sparse(tmp_path / name, size, (size // 3, b"x"))
    places = _places(size)
    for at in places if size < _WINDOW else places[:: max(1, len(places) // 12)]:
        sparse(tmp_path / f"b{at}", size, (size // 3, b"x"), (at, b"y"))
    assert found(find(tmp_path, confirm=mode, jobs=2), tmp_path) == {frozenset({"a", "a2"})}


@pytest.mark.parametrize("jobs", JOBS)
def test_b01_many_classes_with_equal_samples(tmp_path: Path, jobs: int) -> None:
    """Sixty files of equal samples, more than are open at once, fall into exactly the classes of their content."""
    size = _SMALL + 4096
    for n in range(60):
        sparse(tmp_path / f"{n:02}", size, (100_000, bytes([n % 7 + 1])))
    for mode in ("sha256", "bytes"):
        want = {frozenset(f"{n:02}" for n in range(60) if n % 7 == k) for k in range(7)}
        assert found(find(tmp_path, confirm=mode, jobs=jobs), tmp_path) == want


def test_b01_remembered_digests_do_not_join_near_equal_files(tmp_path: Path) -> None:
    """A warm scan keeps files of equal samples apart, whichever of them are remembered."""
    top, cache = tmp_path / "d", tmp_path / "c.db"
    base = os.urandom(1 << 20)
    for name, data in (("a", base), ("b", base), ("c", flipped(base, 500_000)), ("d", flipped(base, 500_001))):
        write(top / name, data)
    settle()
    first = find(top, cache=cache)
    again = find(top, cache=cache)
    assert found(first, top) == found(again, top) == {frozenset("ab")}
    assert again.totals.cache_hits == 4
    write(top / "e", base)
    write(top / "f", flipped(base, 500_001))
    assert found(find(top, cache=cache), top) == {frozenset("abe"), frozenset("df")}


def _check_digests(cache: Path) -> int:
    """Assert that every digest in a cache is that of its file, and return how many there are."""
    digests = remembered_digests(cache, cache.parent)
    for path, digest in digests.items():
        with open(path, "rb") as file:
            assert hashlib.file_digest(file, "sha256").digest() == digest
    return len(digests)


@pytest.mark.parametrize(
    "signal_name",
    [
        pytest.param("SIGINT", marks=not_on_windows(SIGNALS)),
        "SIGTERM",  # on Windows this is a kill
        pytest.param("SIGKILL", marks=not_on_windows(SIGNALS)),
    ],
)
def test_b02_interrupted_digests_are_never_stored(tmp_path: Path, program: Any, signal_name: str) -> None:
    """Whatever breaks a scan off, no digest of a part of a file is remembered as one of the whole."""
    import signal

    top, cache = tmp_path / "d", tmp_path / "c.db"
    size = 96 << 20
    for name, tail in (("a", b"1"), ("b", b"2"), ("c", b"2")):
        sparse(top / name, size, (size // 2 + 1, tail))
    for n in range(20):
        write(top / f"s{n}", b"same" * 20_000)
    settle()
    for delay in (0.15, 0.25, 0.35):
        process = program("scan", top, "--cache", cache, "--jobs", "2")
        time.sleep(delay)
        process.send_signal(getattr(signal, signal_name))
        process.communicate(timeout=20)
        if cache.exists() and cache.stat().st_size:
            find(tmp_path / "d" / "s0", cache=cache)  # opening recovers what the kill left in the log
            _check_digests(cache)
    result = find(top, cache=cache)
    assert found(result, top) == {frozenset("bc"), frozenset(f"s{n}" for n in range(20))}
    assert _check_digests(cache) == 22


@pytest.mark.parametrize("change", ["digest = NULL", "digest = ''", "digest = x'00'", "digest = 5, fingerprint = NULL"])
def test_b03_absent_digests_never_group(tmp_path: Path, change: str) -> None:
    """Files without a digest are not equal for that: a row whose digest was blanked is not believed."""
    top, cache = tmp_path / "d", tmp_path / "c.db"
    one, two = write(top / "one", os.urandom(70_000)), write(top / "two", os.urandom(70_000))
    write(top / "three", one.read_bytes())
    os.link(one, top / "one_l")
    os.link(two, top / "two_l")
    want = {frozenset({"one", "three"})}
    assert found(find(top, cache=cache), top) == want
    with sqlite3.connect(cache) as database:
        database.execute(f"UPDATE files SET {change}, read_ns = read_ns + 5000000000")
    database.close()
    settled_by_hand = find(top, cache=cache)
    assert found(settled_by_hand, top) == want
    assert settled_by_hand.totals.cache_hits == 0


def test_b03_hard_links_alone_are_no_duplicates(tmp_path: Path) -> None:
    """Two pairs of hard links, of equal or different sizes, make no group."""
    for name, size in (("one", 5000), ("two", 5000), ("three", 9000)):
        os.link(write(tmp_path / name, os.urandom(size)), tmp_path / f"{name}_l")
    result = find(tmp_path, min_size=0)
    assert not result.groups
    assert result.totals.files == 3


@not_on_windows(MODES_OF_POSIX)
def test_b04_unreadable_files_are_no_duplicates(scan_json: Any, cli: Any, tmp_path: Path) -> None:
    """A file that cannot be read has no copy: it stays out, is listed, and the exit code says so."""
    user = ordinary_user()
    top = tmp_path / "d"
    for name, data in (("x", b"A"), ("y", b"B"), ("z", b"A"), ("z2", b"A")):
        write(top / name, data * 300_000)
    for name in ("x", "y"):
        (top / name).chmod(0)
    for mode in ("sha256", "bytes"):
        report = scan_json(top, "--no-cache", "--confirm", mode, preexec_fn=user)
        assert groups(report) == {frozenset({str(top / "z"), str(top / "z2")})}
        assert [(p["path"], p["kind"]) for p in report["problems"]] == [
            (str(top / "x"), "permission"),
            (str(top / "y"), "permission"),
        ]
    done = cli("scan", top, "--no-cache", preexec_fn=user)
    assert done.returncode == 3
    assert str(top / "x").encode() in done.stdout


@pytest.mark.parametrize(("size", "mode"), [((1 << 31) + 1, "sha256"), ((1 << 32) + 1, "bytes")])
def test_b05_lengths_beyond_32_bits(tmp_path: Path, size: int, mode: str) -> None:
    """Files beyond 2 and 4 GiB are told apart by what lies beyond those marks, and their digest is the true one."""
    for name, divergence_at in (("b", b"B"), ("c", b"B")) if mode == "sha256" else (("a", b"A"), ("b", b"B")):
        sparse(tmp_path / name, size, (size - 6000, divergence_at))
    result = find(tmp_path, confirm=mode, jobs=2)
    if mode == "bytes":
        assert not result.groups
        assert result.totals.bytes_read > 2 * (size - 6000)
        return
    assert found(result, tmp_path) == {frozenset("bc")}
    with (tmp_path / "b").open("rb") as file:
        assert result.groups[0].digest == hashlib.file_digest(file, "sha256").digest()


def test_b14_empty_files_take_part_only_when_asked(cli: Any, tmp_path: Path) -> None:
    """Empty files are left out and counted; asked for, their group says that it holds nothing."""
    for n in range(100):
        write(tmp_path / f"e{n}", b"")
    plain = cli("scan", tmp_path, "--no-cache")
    assert plain.returncode == 0
    assert b"100 empty files" in plain.stdout
    assert b"Group" not in plain.stdout
    asked = cli("scan", tmp_path, "--no-cache", "--min-size", "0")
    assert b"100 empty files, equal only in holding nothing" in asked.stdout
    assert find(tmp_path, min_size=0).totals.reclaimable_bytes == 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("jobs", JOBS)
def test_b52_empty_files_are_never_mapped(tmp_path: Path, mode: str, jobs: int) -> None:
    """An empty file is read without a map, whatever else is read beside it."""
    for name in ("e1", "e2"):
        write(tmp_path / name, b"")
    for name in ("a", "b"):
        sparse(tmp_path / name, 34 << 20)
    assert found(find(tmp_path, min_size=0, confirm=mode, jobs=jobs), tmp_path) == {
        frozenset({"e1", "e2"}),
        frozenset("ab"),
    }


@pytest.mark.parametrize("jobs", JOBS)
def test_b52_a_file_emptied_after_the_walk(tmp_path: Path, jobs: int, between: Any) -> None:
    """A file that is emptied between the walk and the read is told as changed, and its twins still found."""
    for name in "abc":
        sparse(tmp_path / name, 34 << 20)
    between("confirm", lambda: os.truncate(tmp_path / "a", 0))
    result = find(tmp_path, jobs=jobs)
    assert found(result, tmp_path) == {frozenset("bc")}
    assert kinds(result) == {"a": "changed"}
