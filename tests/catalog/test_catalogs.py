"""A catalog says what a folder held: every name, once finished; again and again with little reading; never more."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedupe.cache import write_buffer
from dedupe.catalog import database
from dedupe.catalog.recognise import is_catalog
from dedupe.catalog.rows import known_rows
from dedupe.config import Confirm, ScanConfig, Scope
from dedupe.errors import NothingUsableError, UsageError
from dedupe.find import find_duplicates
from dedupe.query.catalog_check import Difference, check
from dedupe.query.catalog_fill import create, update
from dedupe.query.missing import find_missing
from dedupe.query.settings import MissingConfig
from dedupe.result import Proof
from tests.conftest import SETTLED, write
from tests.disks import memory
from tests.naive import contents
from tests.report_helpers import HOSTILE

POOL = [*contents(2, 300, [10]), *contents(3, 90_000, [0, 40_960, 89_999]), b"", b"x"]
FOLDERS = ("", "a", "a/in", "b")
few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
files = st.lists(st.tuples(st.sampled_from(FOLDERS), st.sampled_from(POOL)), min_size=1, max_size=15)


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every file for one at rest, so that tests need not wait."""
    monkeypatch.setattr(write_buffer, "RACY_NS", 0)


@pytest.fixture
def folder() -> Iterator[Callable[[], Path]]:
    """Return a maker of empty folders, one for each example of a property."""
    with tempfile.TemporaryDirectory() as above:
        yield lambda: Path(tempfile.mkdtemp(dir=above))


def config(root: Path, cache: Path | None = None) -> ScanConfig:
    """Return what `dedupe catalog` asks for."""
    return ScanConfig(roots=[root], cache=cache, min_size=0, jobs=1)


def catalog_of(root: Path, *, quick: bool = False, name: str = "disk.catalog") -> Path:
    """Make a catalog beside a folder."""
    path = root.parent / name
    create(str(path), config(root), quick=quick)
    return path


def rows_of(catalog: Path) -> dict[bytes, tuple[int, bytes]]:
    """Return size and digest of every file of a catalog, by its path below the root."""
    with database.closing(database.opened(str(catalog)), str(catalog)) as connection:
        places = connection.execute("SELECT number, path FROM folders").fetchall()
        found = {}
        for at, place in places:
            for name, row in known_rows(connection, at).items():
                found[place + name] = (row.size, row.digest)
        return found


def plainly(root: Path) -> dict[bytes, tuple[int, bytes]]:
    """Return the same as a plain walk tells it."""
    found = {}
    top = os.path.join(os.fsencode(root), b"")
    for above, _, names in os.walk(top):
        for name in names:
            path = os.path.join(above, name)
            with open(path, "rb") as file:
                data = file.read()
            found[path[len(top) :].replace(os.fsencode(os.sep), b"/")] = (len(data), hashlib.sha256(data).digest())
    return found


def grow(root: Path, made: list[tuple[str, bytes]]) -> Path:
    """Make a folder with files."""
    root.mkdir()
    for n, (place, data) in enumerate(made):
        write(root / place / f"f{n}", data)
    return root


def test_every_name_there_is_comes_back(tmp_path: Path) -> None:
    """Names are bytes, whatever they hold, on every system that allows them."""
    root = tmp_path / "disk"
    root.mkdir()
    for n, name in enumerate(HOSTILE):
        try:
            os.makedirs(os.path.join(os.fsencode(root), b"d" + name.replace(b"/", b"-")), exist_ok=True)
            with open(os.path.join(os.fsencode(root), b"d" + name.replace(b"/", b"-"), b"f%d" % n), "wb") as file:
                file.write(b"%d" % n)
            with open(os.path.join(os.fsencode(root), name.replace(b"/", b"-")), "wb") as file:
                file.write(name)
        except (OSError, ValueError):  # Windows has fewer
            continue
    catalog = catalog_of(root)
    assert rows_of(catalog) == plainly(root)
    assert check(str(catalog), config(root)).same == len(plainly(root))


def test_any_folder_changes_and_the_catalog_follows(folder: Callable[[], Path]) -> None:
    """Made or updated, with the cache or without, a catalog says what a plain walk says."""

    @few
    @given(files, files, st.booleans())
    def law(before: list[tuple[str, bytes]], after: list[tuple[str, bytes]], cached: bool) -> None:  # noqa: FBT001
        base = folder()
        root, cache = grow(base / "disk", before), base / "cache.db" if cached else None
        catalog = base / "disk.catalog"
        create(str(catalog), config(root, cache))
        assert rows_of(catalog) == plainly(root)
        for path in sorted(root.rglob("f*"))[::2]:
            path.unlink()
        for n, (place, data) in enumerate(after):
            write(root / place / f"g{n}", data)
        filled = update(str(catalog), config(root, cache))
        assert rows_of(catalog) == plainly(root)
        assert filled.files == len(plainly(root))
        assert update(str(catalog), config(root)).read == 0

    law()


def test_what_is_away_answers_as_if_it_were_here(folder: Callable[[], Path]) -> None:
    """Missing and across: a catalog gives the answers of the folder that it is of."""

    @few
    @given(files, files)
    def law(card: list[tuple[str, bytes]], disk: list[tuple[str, bytes]]) -> None:
        base = folder()
        card_root, root = grow(base / "card", card), grow(base / "disk", disk)
        catalog = catalog_of(root)
        live = find_missing(MissingConfig(card=[card_root], archive=[root], jobs=1))
        told = find_missing(MissingConfig(card=[card_root], archive=[catalog], jobs=1))
        assert list(told.missing) == list(live.missing)
        assert told.totals.offline_files == live.totals.held_files
        back = find_missing(MissingConfig(card=[catalog], archive=[card_root], jobs=1))
        other = find_missing(MissingConfig(card=[root], archive=[card_root], jobs=1))
        assert [below(f.path, catalog) for f in back.missing] == [below(f.path, root) for f in other.missing]
        across = ScanConfig(roots=[card_root, root], scope=Scope.ACROSS, jobs=1)
        here = find_duplicates(across)
        away = find_duplicates(ScanConfig(roots=[card_root, catalog], scope=Scope.ACROSS, jobs=1))
        assert {frozenset(below(f.path, card_root, root) for f in g.files) for g in here.groups} == {
            frozenset(below(f.path, card_root, catalog) for f in g.files) for g in away.groups
        }
        for group in away.groups:
            on_card = [f for f in group.files if f.proof is not Proof.OFFLINE]
            assert all(os.fsencode(card_root) in f.path for f in on_card)
            assert group.reclaimable_bytes == group.size * (len(on_card) - 1)
        assert away.totals.reclaimable_bytes == sum(g.reclaimable_bytes for g in away.groups)

    law()


def below(path: bytes, *roots: Path) -> tuple[int, bytes]:
    """Return which root a path lies below, or is, and the rest of it."""
    for n, root in enumerate(roots):
        if path == os.fsencode(root):
            return n, b""
        if path.startswith(os.fsencode(root) + os.fsencode(os.sep)):
            return n, path[len(os.fsencode(root)) :]
    raise AssertionError(path)


def test_a_catalog_of_the_card_itself_holds_nothing(tmp_path: Path) -> None:
    """What a catalog tells of places on the card, or of files that were moved there, is no second copy."""
    root = grow(tmp_path / "disk", [("a", b"one"), ("b", b"two")])
    catalog = catalog_of(root)
    (root / "a").rename(root / "renamed")
    found = find_missing(MissingConfig(card=[root], archive=[catalog], jobs=1))
    assert found.totals.missing_files == 2
    assert any("hold nothing" in note for note in found.notes)
    part = find_missing(MissingConfig(card=[root / "b"], archive=[catalog], jobs=1))
    assert part.totals.missing_files == 1
    (root / "b").rename(tmp_path / "card")
    moved = find_missing(MissingConfig(card=[tmp_path / "card"], archive=[catalog], jobs=1))
    if sys.platform != "win32":  # inode numbers tell
        assert moved.totals.missing_files == 1
    other_way = find_missing(MissingConfig(card=[catalog], archive=[root], jobs=1))
    assert other_way.totals.held_files == 0


def test_a_disk_that_is_here_and_in_a_catalog_is_counted_once(tmp_path: Path) -> None:
    """Neither below a root nor beside it, moved or gone, is a file a copy of what its catalog tells of it."""
    root = grow(tmp_path / "disk", [("", b"one" * 100), ("photos", b"one" * 100), ("photos", b"two" * 100)])
    other = grow(tmp_path / "other", [("", b"two" * 100)])
    catalog = catalog_of(root)

    def names(*roots: Path) -> list[list[bytes]]:
        found = find_duplicates(ScanConfig(roots=roots, scope=Scope.ACROSS, jobs=1))
        return [[below(f.path, *roots)[1].replace(b"\\", b"/") for f in group.files] for group in found.groups]

    assert names(root, catalog) == []
    assert names(root / "photos", catalog) == [[b"/f0", b"/f1"]]
    assert names(root / "photos/f1", catalog) == [[b"/f0", b""]]
    assert names(root, catalog, other) == [[b"/photos/f2", b"/f0"]]
    (root / "photos/f1").rename(root / "photos/moved")
    if sys.platform != "win32":  # inode numbers tell
        assert names(root / "photos/moved", catalog) == [[b"/f0", b""]]
    (root / "photos/f2").unlink()
    assert names(root, catalog, other) == []


def test_two_catalogs_of_one_disk_count_once(tmp_path: Path) -> None:
    """A copy of a catalog, one made anew, and one of a folder inside tell of the same files: one has the word."""
    root = grow(tmp_path / "disk", [("", b"one" * 100), ("photos", b"one" * 100)])
    catalog, quick = catalog_of(root), catalog_of(root, quick=True, name="quick")
    copy = write(tmp_path / "copy", catalog.read_bytes())
    inner = tmp_path / "inner"
    create(str(inner), config(root / "photos"))
    for others in ([copy], [quick], [inner], [copy, inner, quick]):
        found = find_duplicates(ScanConfig(roots=[catalog, *others], scope=Scope.ACROSS, jobs=1))
        assert inner in others or not found.groups  # what a newer one tells of lies below its own root
        assert sum("not counted twice" in note for note in found.notes) == len(others)
        within = find_duplicates(ScanConfig(roots=[catalog, *others], jobs=1))
        assert [len(group.files) for group in within.groups] == [2]
        assert within.totals.reclaimable_bytes == 0


@pytest.mark.skipif(sys.platform != "linux", reason="a card on another volume")
def test_what_is_gone_from_a_disk_that_is_here_is_held_by_it_no_more(tmp_path: Path) -> None:
    """Where the archive is looked at itself, its catalog does not know better."""
    root = grow(tmp_path / "disk", [("", b"one"), ("", b"two")])
    catalog = catalog_of(root)
    with memory(tmp_path / "card") as card:
        write(card / "x", b"one")
        assert not find_missing(MissingConfig(card=[card], archive=[root, catalog], jobs=1)).missing
        (root / "f0").unlink()
        assert find_missing(MissingConfig(card=[card], archive=[root, catalog], jobs=1)).missing
        (root / "f1").unlink()
        assert find_missing(MissingConfig(card=[card], archive=[root, catalog], jobs=1)).missing


def test_a_quick_catalog_says_probably(tmp_path: Path) -> None:
    """Without digests nothing is proven: not held, not missing, not certain, and in no group."""
    root, card = grow(tmp_path / "disk", [("", b"one" * 30_000)]), grow(tmp_path / "card", [("", b"one" * 30_000)])
    catalog = catalog_of(root, quick=True)
    found = find_missing(MissingConfig(card=[card], archive=[catalog], jobs=1))
    assert (found.totals.probable_files, found.totals.held_files, found.totals.missing_files) == (1, 0, 0)
    assert not found.is_certain
    both = find_missing(MissingConfig(card=[card], archive=[catalog, root], jobs=1))
    assert (both.totals.probable_files, both.totals.held_files, both.is_certain) == (0, 1, True)
    scan = find_duplicates(ScanConfig(roots=[card, catalog], jobs=1))
    assert len(scan.groups) == 0
    assert any("probably" in note for note in scan.notes)
    assert check(str(catalog), config(root)).same == 1


def test_an_update_reads_only_what_changed(tmp_path: Path) -> None:
    """What is as it was is not opened; what has the same size and time and another change time is."""
    root = grow(tmp_path / "disk", [("a", b"one"), ("a", b"two"), ("b", b"three")])
    catalog = catalog_of(root)
    write(root / "a/f0", b"new")
    (root / "b/f2").unlink()
    filled = update(str(catalog), config(root))
    assert (filled.unchanged, filled.read, filled.files) == (1, 1, 2)


def test_a_file_that_was_not_at_rest_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit in the same tick of a clock leaves no other trace."""
    root = grow(tmp_path / "disk", [("", b"one")])
    monkeypatch.setattr(write_buffer, "RACY_NS", 2_000_000_000)
    catalog = catalog_of(root)
    assert update(str(catalog), config(root)).read == 1
    time.sleep(SETTLED)
    update(str(catalog), config(root))
    assert update(str(catalog), config(root)).read == 0


def test_a_catalog_is_filled_from_the_cache(tmp_path: Path) -> None:
    """What a scan has read need not be read again."""
    root = grow(tmp_path / "disk", [("a", b"one" * 30_000), ("b", b"one" * 30_000)])
    cache = tmp_path / "cache.db"
    find_duplicates(ScanConfig(roots=[root], cache=cache, jobs=1))
    filled = create(str(tmp_path / "disk.catalog"), config(root, cache))
    assert (filled.remembered, filled.read) == (2, 0)
    assert rows_of(tmp_path / "disk.catalog") == plainly(root)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_kill_loses_little_and_the_next_run_goes_on(tmp_path: Path) -> None:
    """A catalog that was cut off is told, answers nothing, and is gone on with under the same command."""
    root = grow(tmp_path / "disk", [("", os.urandom(1000)) for _ in range(60)])
    catalog = tmp_path / "disk.catalog"
    code = f"""
import os, signal
from dedupe.query import catalog_fill, catalog_filling
from dedupe.config import ScanConfig
catalog_filling._COMMIT = 0
flush, count = catalog_filling.Filling._flush, 0
def dying(self):
    global count
    flush(self)
    count += 1
    if count == 2: os.kill(os.getpid(), signal.SIGKILL)
catalog_filling.Filling._flush = dying
from dedupe.compare import tuning
catalog_fill.MEASURED = tuning.Tuning(hash_files=2)
catalog_fill.create({str(catalog)!r}, ScanConfig(roots=[{str(root)!r}], min_size=0, jobs=1))
"""
    died = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()
    with pytest.raises(NothingUsableError, match="never finished"):
        find_missing(MissingConfig(card=[root], archive=[catalog]))
    with pytest.raises(NothingUsableError, match="never finished"):
        check(str(catalog), config(root))
    filled = create(str(catalog), config(root))
    assert 0 < filled.read <= 60
    assert rows_of(catalog) == plainly(root)


def test_verify_names_every_difference(tmp_path: Path) -> None:
    """Rot, change, loss, gain and moves are told apart; a file that was only touched is the same."""
    root = grow(tmp_path / "disk", [("", b"%d" % n * 1000) for n in range(6)])
    catalog = catalog_of(root)
    seen = (root / "f0").stat()
    write(root / "f0", b"rotten" + b"0" * 994)
    os.utime(root / "f0", ns=(seen.st_atime_ns, seen.st_mtime_ns))
    write(root / "f1", b"changed")
    (root / "f2").unlink()
    (root / "f3").rename(root / "moved")
    write(root / "extra", b"extra")
    os.utime(root / "f4")
    checked = check(str(catalog), config(root))
    found = {(each.difference, each.path, each.now) for each in checked.differences}
    assert found == {
        (Difference.ROT, b"f0", b""),
        (Difference.CHANGED, b"f1", b""),
        (Difference.MISSING, b"f2", b""),
        (Difference.MOVED, b"f3", b"moved"),
        (Difference.EXTRA, b"extra", b""),
    }
    assert checked.same == 2


def test_a_catalog_is_known_by_what_it_is(tmp_path: Path) -> None:
    """Any name will do, and no other file is taken for one."""
    root = grow(tmp_path / "disk", [("", b"one")])
    catalog = catalog_of(root, name="holiday.jpg")
    assert is_catalog(os.fsencode(catalog))
    other = tmp_path / "x.catalog"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    for path in (other, write(tmp_path / "text.catalog", b"x" * 512), tmp_path, tmp_path / "none"):
        assert not is_catalog(os.fsencode(path))


def test_what_is_no_catalog_or_of_another_place_is_refused(tmp_path: Path) -> None:
    """No file is replaced, no folder is taken for another, and each refusal is one sentence."""
    root, other = grow(tmp_path / "disk", [("", b"one")]), grow(tmp_path / "other", [("", b"one")])
    catalog = catalog_of(root)
    with pytest.raises(UsageError, match="catalog already"):
        create(str(catalog), config(root))
    with pytest.raises(UsageError, match="another place"):
        update(str(catalog), config(other))
    with pytest.raises(UsageError, match="another place"):
        check(str(catalog), config(other))
    mine = write(tmp_path / "mine", b"mine")
    with pytest.raises(UsageError, match="is there"):
        create(str(mine), config(root))
    assert mine.read_bytes() == b"mine"
    for act in (update, check):
        with pytest.raises(UsageError, match="no catalog"):
            act(str(mine), config(root))
    with pytest.raises(UsageError, match="no folder"):
        create(str(tmp_path / "new"), config(mine))
    with pytest.raises(NothingUsableError, match="does not exist"):
        create(str(tmp_path / "new"), config(tmp_path / "nowhere"))
    assert not (tmp_path / "new").exists()
    with pytest.raises(UsageError, match="sha256 only"):
        find_duplicates(ScanConfig(roots=[other, catalog], confirm=Confirm.BYTES))


def test_a_damaged_catalog_is_one_sentence(tmp_path: Path) -> None:
    """Bytes that were lost end in a sentence, or in rows that are left out, never in a traceback."""
    root = grow(tmp_path / "disk", [("", os.urandom(100)) for _ in range(200)])
    catalog = catalog_of(root)
    whole = catalog.read_bytes()
    for at in range(100, len(whole), 997):
        broken = write(tmp_path / "broken", whole[:at] + bytes(60) + whole[at + 60 :])
        with contextlib.suppress(NothingUsableError, UsageError):
            found = find_missing(MissingConfig(card=[root], archive=[broken], jobs=1))
            assert found.totals.held_files == 0  # of the card itself, whatever is left of it


def test_a_catalog_costs_less_than_two_hundred_bytes_a_file(tmp_path: Path) -> None:
    """Folders are stored once."""
    root = grow(tmp_path / "disk", [("a/in", b"%d" % n) for n in range(3000)])
    catalog = catalog_of(root)
    assert catalog.stat().st_size < 200 * 3000


def test_a_catalog_inside_its_folder_is_not_in_itself(tmp_path: Path) -> None:
    """The file that is written takes no part."""
    root = grow(tmp_path / "disk", [("", b"one")])
    create(str(root / "disk.catalog"), config(root))
    assert set(rows_of(root / "disk.catalog")) == {b"f0"}
    assert update(str(root / "disk.catalog"), config(root)).files == 1
