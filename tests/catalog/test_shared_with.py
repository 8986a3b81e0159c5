"""A catalog made to be compared with another: what that may hold too has a digest, the rest a fingerprint only."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedupe.cache import write_buffer
from dedupe.config import ScanConfig, Scope
from dedupe.errors import NothingUsableError, UsageError
from dedupe.find import find_duplicates
from dedupe.query.catalog_check import Difference, check
from dedupe.query.catalog_fill import create, update
from dedupe.query.missing import find_missing
from dedupe.query.settings import MissingConfig
from tests.catalog.test_catalogs import below, rows_of
from tests.catalog_helpers import rewrite
from tests.conftest import write
from tests.naive import contents

POOL = [*contents(2, 300, [10]), *contents(4, 90_000, [0, 20_000, 60_000, 89_999]), b"", b"x"]
files = st.lists(st.tuples(st.sampled_from(("", "a", "b")), st.sampled_from(POOL)), min_size=1, max_size=12)
few = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every file for one at rest, so that tests need not wait."""
    monkeypatch.setattr(write_buffer, "RACY_NS", 0)


@pytest.fixture
def folder() -> Iterator[Callable[[], Path]]:
    """Return a maker of empty folders, one for each example of a property."""
    with tempfile.TemporaryDirectory() as above:
        yield lambda: Path(tempfile.mkdtemp(dir=above))


def grow(root: Path, made: list[tuple[str, bytes]]) -> Path:
    """Make a folder with files."""
    root.mkdir()
    for n, (place, data) in enumerate(made):
        write(root / place / f"f{n}", data)
    return root


def config(root: Path, cache: Path | None = None) -> ScanConfig:
    """Return what `dedupe catalog` asks for."""
    return ScanConfig(roots=[root], cache=cache, min_size=0, jobs=1)


def test_it_answers_across_as_a_whole_one_would(folder: Callable[[], Path]) -> None:
    """What both disks hold is proven, whatever was read before, and nothing that is told is less than proven."""

    @few
    @given(files, files, st.booleans(), st.booleans())
    def law(mine: list[tuple[str, bytes]], others: list[tuple[str, bytes]], cached: bool, quick: bool) -> None:  # noqa: FBT001
        base = folder()
        root, away = grow(base / "mine", mine), grow(base / "other", others)
        cache = base / "cache.db" if cached else None
        create(str(base / "other.catalog"), config(away))
        create(str(base / "quick.catalog"), config(away), quick=True)
        asked = str(base / ("quick.catalog" if quick else "other.catalog"))
        filled = create(str(base / "part.catalog"), config(root, cache), shared_with=[asked])
        create(str(base / "whole.catalog"), config(root))
        part, whole = rows_of(base / "part.catalog"), rows_of(base / "whole.catalog")
        assert part.keys() == whole.keys()
        assert all(row in (whole[name], (whole[name][0], b"")) for name, row in part.items())
        assert filled.undigested == sum(not digest for _, digest in part.values())
        assert filled.files == filled.read + filled.remembered + filled.unchanged
        held = {data for _, data in others}
        for n, (place, data) in enumerate(mine):
            name = os.fsencode(f"{place}/f{n}" if place else f"f{n}")
            assert part[name][1] or data not in held
        roots = [[base / f"{kind}.catalog", base / "other.catalog"] for kind in ("part", "whole")]
        told, known = (
            [[below(f.path, *pair) for f in g.files] for g in find_duplicates(
                ScanConfig(roots=pair, scope=Scope.ACROSS, jobs=1)).groups]
            for pair in roots
        )  # fmt: skip
        assert told == known
        assert check(str(base / "part.catalog"), config(root)).same == len(whole)
        again = update(str(base / "part.catalog"), config(root), shared_with=[asked])
        assert (again.read, again.remembered, again.unchanged) == (0, 0, len(whole))
        update(str(base / "part.catalog"), config(root))
        assert rows_of(base / "part.catalog") == whole

    law()


def test_only_what_may_be_shared_is_read_in_full(tmp_path: Path) -> None:
    """Of a large file that the other lacks, by its size or by its fingerprint, no more than a few places are read."""
    shared, lone, like = (os.urandom(3_000_000) for _ in range(3))
    root = grow(tmp_path / "mine", [("", shared), ("", lone[:-1]), ("", like)])
    create(str(tmp_path / "other"), config(grow(tmp_path / "away", [("", shared), ("", lone)])))
    filled = create(str(tmp_path / "part"), config(root), shared_with=[str(tmp_path / "other")])
    assert filled.undigested == 2
    assert [bool(digest) for _, (_, digest) in sorted(rows_of(tmp_path / "part").items())] == [True, False, False]


def test_what_was_not_shared_is_read_once_it_is(tmp_path: Path) -> None:
    """The other catalog grows, and an update asks it again; an earlier digest is never lost."""
    root = grow(tmp_path / "mine", [("", b"one" * 30_000), ("", b"two" * 30_000)])
    away = grow(tmp_path / "away", [("", b"one" * 30_000)])
    part, other = str(tmp_path / "part"), str(tmp_path / "other")
    create(other, config(away))
    assert create(part, config(root), shared_with=[other]).undigested == 1
    write(away / "more", b"two" * 30_000)
    update(other, config(away))
    filled = update(part, config(root), shared_with=[other])
    assert (filled.undigested, filled.read, filled.unchanged) == (0, 1, 1)
    write(tmp_path / "lone/x", b"z")
    create(str(tmp_path / "lone.catalog"), config(tmp_path / "lone"))
    assert update(part, config(root), shared_with=[str(tmp_path / "lone.catalog")]).undigested == 0


def test_answers_say_what_they_rest_on(tmp_path: Path) -> None:
    """Held by what has a digest is certain, by what has none probable; a scan says how many lack one."""
    root = grow(tmp_path / "mine", [("", b"one" * 30_000), ("", b"two" * 30_000)])
    create(str(tmp_path / "other"), config(grow(tmp_path / "away", [("", b"one" * 30_000)])))
    part = tmp_path / "part"
    create(str(part), config(root), shared_with=[str(tmp_path / "other")])
    card = grow(tmp_path / "card", [("", b"one" * 30_000), ("", b"two" * 30_000)])
    found = find_missing(MissingConfig(card=[card], archive=[part], jobs=1))
    assert (found.totals.held_files, found.totals.probable_files, found.is_certain) == (1, 1, False)
    scan = find_duplicates(ScanConfig(roots=[card, part], jobs=1))
    assert len(scan.groups) == 1
    assert any("of 1 of its files" in note and "probably" in note for note in scan.notes)


def test_verify_goes_by_what_each_row_has(tmp_path: Path) -> None:
    """Rot, change and moves are told of files with a digest and of those without."""
    root = grow(tmp_path / "mine", [("", b"one" * 30_000), ("", b"two" * 30_000), ("", b"three" * 30_000)])
    create(str(tmp_path / "other"), config(grow(tmp_path / "away", [("", b"one" * 30_000)])))
    part = tmp_path / "part"
    create(str(part), config(root), shared_with=[str(tmp_path / "other")])
    (root / "f0").rename(root / "g0")
    (root / "f1").rename(root / "g1")
    seen = (root / "f2").stat()
    write(root / "f2", b"THREE" * 30_000)
    os.utime(root / "f2", ns=(seen.st_atime_ns, seen.st_mtime_ns))
    told = {(each.difference, each.path, each.now) for each in check(str(part), config(root)).differences}
    assert told == {
        (Difference.ROT, b"f2", b""),
        (Difference.MOVED, b"f0", b"g0"),
        (Difference.MOVED, b"f1", b"g1"),
    }


def test_what_is_no_other_catalog_is_refused(tmp_path: Path) -> None:
    """One sentence, and nothing is made."""
    root = grow(tmp_path / "mine", [("", b"one")])
    part, other = tmp_path / "part", tmp_path / "other"
    create(str(other), config(root))
    for wrong in (write(tmp_path / "text", b"text" * 200), tmp_path / "none"):
        with pytest.raises((UsageError, NothingUsableError)):
            create(str(part), config(root), shared_with=[str(other), str(wrong)])
    with pytest.raises(UsageError, match="itself"):
        update(str(other), config(root), shared_with=[str(other)])
    assert not part.exists()
    rewrite(other, "DELETE FROM catalog WHERE key = 'undigested'")
    with pytest.raises(NothingUsableError, match="damaged"):
        create(str(part), config(root), shared_with=[str(other)])
