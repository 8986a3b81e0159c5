"""The whole recipe, in this process: whatever the tree, the settings and the past, the answer is the plain one."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedupe import find
from dedupe.cache import store, write_buffer
from dedupe.compare.tuning import Tuning
from dedupe.config import Confirm, ScanConfig
from dedupe.errors import NothingUsableError
from dedupe.files.columns import Column
from dedupe.find import find_duplicates
from dedupe.result import Proof, ScanResult
from dedupe.storage import file_stat
from tests import corpora
from tests.cache_helpers import remembered_digests
from tests.conftest import SETTLED, write
from tests.naive import all_names, contents, fork_workers, lower_thresholds, naive_groups

forks = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # pytest-xdist has threads
# only forked workers share what a test has patched
JOBS = [
    1,
    pytest.param(
        2,
        marks=pytest.mark.skipif(sys.platform == "win32", reason="workers do not share what is patched"),
    ),
]
few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

MODES = [c for c in Confirm if c != Confirm.BLAKE3]
POOL = [
    *contents(2, 300, [10]),
    *contents(4, 900, [0, 899]),
    *contents(3, 2000, [1500]),
    *contents(5, 9000, [0, 4096, 8999]),
]
POOL += [b"", b"x", b"y"]
places = st.sampled_from(["", "a", "a/b", "c"])
trees = st.lists(st.tuples(places, st.sampled_from(POOL)), max_size=40)


@pytest.fixture
def low(monkeypatch: pytest.MonkeyPatch) -> Tuning:
    """Return amounts by which small files pass through everything that large ones do, in workers too."""
    fork_workers(monkeypatch)
    return lower_thresholds(monkeypatch)


@pytest.fixture
def folder() -> Iterator[Callable[[], Path]]:
    """Return a maker of empty folders, one for each example of a property."""
    with tempfile.TemporaryDirectory() as above:
        yield lambda: Path(tempfile.mkdtemp(dir=above))


def grow(root: Path, files: list[tuple[str, bytes]]) -> Path:
    """Make a tree."""
    for place in {p for p, _ in files}:  # names recur, so that folders which change places bring each other's files
        for n, data in enumerate(d for p, d in files if p == place):
            write(root / place / f"f{n}", data)
    return root


def timeless(result: ScanResult) -> ScanResult:
    """Return a result without what may differ between two equal scans."""
    totals = replace(result.totals, bytes_read=0, cache_hits=0)
    # how a file was proven is what remembering changes
    groups = [replace(g, files=tuple(f._replace(proof=None) for f in g.files)) for g in result.groups]
    return replace(result, started="", seconds=0, phases={}, totals=totals, groups=groups, notes=())


@forks
@pytest.mark.parametrize("confirm", MODES)
@pytest.mark.parametrize("jobs", JOBS)
def test_any_tree_gives_the_partition_of_a_plain_search(
    low: Tuning, folder: Callable[[], Path], confirm: Confirm, jobs: int
) -> None:
    """In every mode, with one job or two, the groups are those of files compared one by one."""

    @settings(few, max_examples=12 if jobs == 1 else 4)
    @given(trees)
    def law(files: list[tuple[str, bytes]]) -> None:
        root = grow(folder(), files)
        result = find_duplicates(ScanConfig(roots=[root], confirm=confirm, jobs=jobs, min_size=0), tuning=low)
        assert all_names(result) == naive_groups(root, least=0)
        assert not result.problems
        for group in result.groups:
            content = Path(os.fsdecode(group.files[0].path)).read_bytes()
            if confirm in hashlib.algorithms_available:
                assert group.digest == hashlib.new(confirm, content).digest()
            assert group.size == len(content)
            assert (group.digest is None) == (confirm == Confirm.BYTES)

    law()


@pytest.mark.parametrize("confirm", [Confirm.SHA256, Confirm.BYTES, Confirm.XXH3])
@pytest.mark.parametrize("number", [2, 50, 200])
@pytest.mark.parametrize("size", [900, 9000])
def test_two_hundred_files_of_one_fingerprint(
    low: Tuning, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, confirm: Confirm, number: int, size: int
) -> None:
    """However many contents hide behind one fingerprint, the classes are right, and reading stays linear."""
    _one_fingerprint(monkeypatch)
    data = contents(number, size, [400, 800, size - 1, size // 2])
    root = grow(tmp_path, [("", data[n % number]) for n in range(200)])
    result = find_duplicates(ScanConfig(roots=[root], confirm=confirm, jobs=1), tuning=low)
    assert all_names(result) == naive_groups(root)
    assert result.totals.bytes_read <= 3 * result.totals.bytes


@pytest.mark.parametrize(
    ("confirm", "number", "proof"),
    [
        (Confirm.SHA256, 2, Proof.COMPARED),
        (Confirm.SHA256, 20, Proof.HASHED),
        (Confirm.BYTES, 20, Proof.COMPARED),
    ],
)
@pytest.mark.parametrize("size", [900, 9000])
def test_what_is_confirmed_in_parts_is_joined_by_digest_or_compared(
    low: Tuning, tmp_path: Path, confirm: Confirm, number: int, proof: Proof, size: int
) -> None:
    """More equal files than can be open are joined by digest; where bytes alone prove, one of each part is read."""
    root = grow(tmp_path, [("", bytes(size))] * number)
    (group,) = find_duplicates(ScanConfig(roots=[root], confirm=confirm, jobs=1), tuning=low).groups
    assert [file.proof for file in group.files] == [proof] * number


def _one_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all fingerprints of files look equal."""
    monkeypatch.setattr(Column, "first_words", lambda _: bytes(1 << 16))


# --- what is remembered


class Edits:
    """Edits of a tree, each a method that takes two numbers to choose by."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def _files(self) -> list[Path]:
        return sorted(p for p in self.root.rglob("*") if p.is_file())

    def _file(self, n: int) -> Path | None:
        files = self._files()
        return files[n % len(files)] if files else None

    def rewrite(self, n: int, m: int) -> None:
        """Write other content over a file."""
        if file := self._file(n):
            file.write_bytes(POOL[m % len(POOL)])

    def same_size(self, n: int, m: int) -> None:
        """Change one byte and nothing else."""
        if (file := self._file(n)) and (size := file.stat().st_size):
            with file.open("r+b") as opened:
                opened.seek(m % size)
                byte = opened.read(1)
                opened.seek(m % size)
                opened.write(bytes([byte[0] ^ 1]))

    def put_back(self, n: int, m: int) -> None:
        """Change one byte and set the file's time as it was."""
        if file := self._file(n):
            times = file.stat()
            self.same_size(n, m)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    def rename_over(self, n: int, m: int) -> None:
        """Put a file in the place of another."""
        if (file := self._file(n)) and (other := self._file(m)) and file != other:
            file.replace(other)

    def equal_times(self, n: int, m: int) -> None:
        """Give a file another's time of modification."""
        if (file := self._file(n)) and (other := self._file(m)):
            os.utime(file, ns=(0, other.stat().st_mtime_ns))

    def swap_folders(self, n: int, m: int) -> None:
        """Exchange the names of two folders that do not lie in each other."""
        folders = sorted(p for p in self.root.rglob("*") if p.is_dir())
        if not folders:
            return
        one, two = folders[n % len(folders)], folders[m % len(folders)]
        if one not in (two, *two.parents) and two not in one.parents:
            spare = self.root / "spare"
            one.rename(spare)
            two.rename(one)
            spare.rename(two)

    def hard_link(self, n: int, m: int) -> None:
        """Give a file a second name."""
        if file := self._file(n):
            target = self.root / f"link{m % 5}"
            target.unlink(missing_ok=True)
            if file.exists():
                target.hardlink_to(file)

    def truncate(self, n: int, m: int) -> None:
        """Cut a file off."""
        if file := self._file(n):
            os.truncate(file, m % (file.stat().st_size + 1))

    def delete(self, n: int, _: int) -> None:
        """Remove a file."""
        if file := self._file(n):
            file.unlink()

    def copy(self, n: int, m: int) -> None:
        """Copy a file with its times."""
        if file := self._file(n):
            target = self.root / f"copy{m % 5}"
            if target != file:
                target.unlink(missing_ok=True)
                shutil.copy2(file, target)


EDITS = [name for name in vars(Edits) if not name.startswith("_")] + ["put_back", "swap_folders"]
edits = st.lists(st.tuples(st.sampled_from(EDITS), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=6)


@pytest.mark.skipif(sys.platform == "win32", reason="edits are dated by st_ctime: the time of creation there")
def test_no_edit_between_two_scans_is_missed(
    low: Tuning, monkeypatch: pytest.MonkeyPatch, folder: Callable[[], Path]
) -> None:
    """After any edits the answer with the cache is the one without, and rows of untouched files are believed."""
    # Files count as at rest at once, so that there are rows to be wrongly believed: the clock of the edits is finer
    # than the time that an example takes, and each scan reads it later than every edit before (see `later`).
    monkeypatch.setattr(write_buffer, "RACY_NS", 0)
    hits = []

    @settings(few, max_examples=30)
    @given(
        st.lists(st.tuples(places, st.sampled_from(POOL[2:5])), min_size=8, max_size=12),
        st.lists(edits, min_size=1, max_size=3),
    )
    def law(files: list[tuple[str, bytes]], rounds: list[list[tuple[str, int, int]]]) -> None:
        root, kept = grow(folder(), files), folder() / "cache.db"
        config = ScanConfig(roots=[root], jobs=1, cache=kept)
        later(root)
        find_duplicates(config, tuning=low)
        for changes in rounds:
            for name, n, m in changes:
                getattr(Edits(root), name)(n, m)
            later(root)
            with_cache = find_duplicates(config, tuning=low)
            without = find_duplicates(replace(config, cache=None), tuning=low)
            assert timeless(with_cache) == timeless(without)
            assert all_names(with_cache) == naive_groups(root)
            hits.append(with_cache.totals.cache_hits)

    law()
    assert sum(hits) > 10  # else the cache was never put to the test


def later(root: Path) -> None:
    """Wait until a file written now would have another time than every file of a tree."""
    probe = root.parent / "probe"
    newest = max((max(s.st_mtime_ns, s.st_ctime_ns) for p in root.rglob("*") if (s := p.lstat())), default=0)
    while True:
        probe.write_bytes(b"")
        if probe.stat().st_ctime_ns > newest:
            return


def test_a_row_of_a_file_not_at_rest_is_not_believed(tmp_path: Path) -> None:
    """A file changed within two seconds before the scan is read again, since a later edit might show nowhere."""
    for name in ("a", "b"):
        write(tmp_path / "root" / name, b"data")
    config = ScanConfig(roots=[tmp_path / "root"], cache=tmp_path / "cache.db", jobs=1)
    find_duplicates(config)
    again = find_duplicates(config)
    assert again.totals.cache_hits == 0
    assert again.totals.bytes_read > 0


# --- corpora whose truth is known

SCALES = {
    "small": 0.001,
    "photos": 0.002,
    "big": 0.0015,
    "near": 0.004,
    "flat": 0.003,
    "million": 0.0003,
    "onegroup": 0.005,
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, set[frozenset[str]]]]:
    """Make every corpus, small, and wait until its files are at rest."""
    found = {}
    for name, scale in SCALES.items():
        root = tmp_path_factory.mktemp("corpus") / name
        truth = corpora.build(root, name, scale)
        found[name] = root, {frozenset(str(root / p) for p in group) for group in truth}
    time.sleep(SETTLED)
    return found


@forks
@pytest.mark.parametrize("confirm", MODES if sys.platform != "win32" else [Confirm.SHA256, Confirm.BYTES])
@pytest.mark.parametrize("name", SCALES)
def test_corpora_give_their_truth_cold_and_remembered(
    built: dict[str, tuple[Path, set[frozenset[str]]]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    confirm: Confirm,
    name: str,
) -> None:
    """Groups equal the ground truth with one job and two, cold and from the cache, which spares all reading."""
    fork_workers(monkeypatch)
    root, truth = built[name]
    results = []
    for jobs in (1, 2) if sys.platform != "win32" else (1,):  # a start of workers costs seconds there
        config = ScanConfig(roots=[root], confirm=confirm, jobs=jobs, cache=tmp_path / f"{jobs}.db")
        results += [find_duplicates(config) for _ in range(3)]
        if confirm != Confirm.BYTES:
            # of a set with copies in it, an odd one is read to its end once, when it is met beside remembered ones
            assert results[-2].totals.bytes_read == 0
            assert results[-1].totals.bytes_read == 0
    for result in results:
        assert all_names(result) == truth
        assert timeless(result) == timeless(results[0])


# --- killed


def test_a_digest_in_the_cache_is_hashlibs(low: Tuning, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever falls out early or is joined later, no row holds a digest that is not the whole file's."""
    _one_fingerprint(monkeypatch)
    monkeypatch.setattr(write_buffer, "RACY_NS", 0)  # files not at rest have no rows
    root = grow(tmp_path / "root", [("", data) for data in POOL if data for _ in range(3)])
    later(root)
    find_duplicates(ScanConfig(roots=[root], jobs=1, cache=tmp_path / "cache.db"), tuning=low)
    assert digests_that_lie(tmp_path / "cache.db") == []


def digests_that_lie(path: Path) -> list[Path]:
    """Return the files whose remembered digest is not hashlib's."""
    digests = remembered_digests(path, path.parent)
    assert digests
    return [file for file, digest in digests.items() if hashlib.sha256(file.read_bytes()).digest() != digest]


# --- small rules


def test_roots_that_are_all_missing_are_an_error_however_often_they_are_named(tmp_path: Path) -> None:
    """Where no root can be read, there is no empty result."""
    gone = tmp_path / "gone"
    for roots in ([gone], [gone, gone], [gone, tmp_path / "also gone", gone]):
        with pytest.raises(NothingUsableError, match="gone does not exist"):
            find_duplicates(ScanConfig(roots=roots))


def test_one_good_root_is_enough(tmp_path: Path) -> None:
    """A missing root beside a good one is a problem in the result."""
    (tmp_path / "empty").mkdir()
    result = find_duplicates(ScanConfig(roots=[tmp_path / "gone", tmp_path / "empty"]))
    assert [os.fsdecode(p.path) for p in result.problems] == [str(tmp_path / "gone")]


def test_hard_links_are_one_file(tmp_path: Path) -> None:
    """Names of one physical file are no duplicates; in a group they stand beside it, once."""
    one = write(tmp_path / "b" / "one", b"data")
    (tmp_path / "a").hardlink_to(one)
    config = ScanConfig(roots=[tmp_path, tmp_path / "b", one])
    assert not find_duplicates(config).groups
    write(tmp_path / "two", b"data")
    result = find_duplicates(config)
    (group,) = result.groups
    assert [(f.path, f.links) for f in group.files] == [
        (os.fsencode(tmp_path / "a"), (os.fsencode(one),)),
        (os.fsencode(tmp_path / "two"), ()),
    ]
    assert (result.totals.files, result.totals.bytes, result.totals.reclaimable_bytes) == (2, 8, 4)


def test_a_file_that_changes_between_walk_and_reading_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in no group and in no row of the cache."""
    for name in "abc":
        write(tmp_path / "root" / name, b"same")
    monkeypatch.setattr(write_buffer, "RACY_NS", 0)  # files not at rest have no rows
    later(tmp_path / "root")
    real = find.confirm

    def after_a_change(*args: Any) -> Any:
        (tmp_path / "root" / "b").write_bytes(b"else")
        return real(*args)

    monkeypatch.setattr(find, "confirm", after_a_change)
    kept = tmp_path / "cache.db"
    result = find_duplicates(ScanConfig(roots=[tmp_path / "root"], cache=kept))
    assert all_names(result) == {frozenset(str(tmp_path / "root" / n) for n in "ac")}
    assert [(p.path, p.kind) for p in result.problems] == [(os.fsencode(tmp_path / "root" / "b"), "changed")]
    assert digests_that_lie(kept) == []
    assert file_stat.of_path(os.fsencode(kept)).size


def test_groups_come_in_their_order_and_numbered(tmp_path: Path) -> None:
    """Most reclaimable bytes first, then by path; files of a group by path."""
    for name, data in {"a1": b"aa", "a2": b"aa", "z1": b"zz", "z2": b"zz", "c3": b"ccc", "c4": b"ccc"}.items():
        write(tmp_path / name, data)
    groups = find_duplicates(ScanConfig(roots=[tmp_path])).groups
    assert [(g.id, [os.path.basename(f.path) for f in g.files]) for g in groups] == [
        (1, [b"c3", b"c4"]),
        (2, [b"a1", b"a2"]),
        (3, [b"z1", b"z2"]),
    ]


def test_what_was_learnt_is_kept_while_one_file_takes_long(
    low: Tuning, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The cache is asked to write what is due at every step of a file, not only when the next one begins."""
    asked: list[float] = []
    monkeypatch.setattr(store.Cache, "commit_if_due", lambda _: asked.append(time.monotonic()))
    root = grow(tmp_path / "root", [("", bytes(10_000))] * 2)
    find_duplicates(ScanConfig(roots=[root], jobs=1, cache=tmp_path / "cache.db"), tuning=low)
    assert len(asked) >= 10
