"""Catalogs alone are joined out of core, and answer as if all of their rows were in memory, or all disks were here."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dedupe.catalog import database, shared
from dedupe.catalog.head import CatalogVolume, Head
from dedupe.catalog.joining import all_rows
from dedupe.catalog.row_checksum import of_file, of_values
from dedupe.compare import fingerprint
from dedupe.config import ScanConfig, Scope
from dedupe.errors import NothingUsableError
from dedupe.find import find_duplicates
from dedupe.progress import Silent
from dedupe.query.catalog_fill import create
from dedupe.result import ScanResult
from tests.conftest import write
from tests.naive import contents

POOL = [*contents(2, 300, [10]), *contents(3, 90_000, [0, 40_960, 89_999]), b"", b"x", b"y"]
FOLDERS = ("", "a", "a/in", "b")
DISKS = ("nas", "laptop", "disk7")
few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
files = st.lists(
    st.tuples(st.sampled_from(DISKS), st.sampled_from(FOLDERS), st.sampled_from(POOL)), min_size=1, max_size=20
)
links = st.lists(st.tuples(st.integers(0, 19), st.sampled_from(FOLDERS)), max_size=5)
options = st.fixed_dictionaries(
    {
        "scope": st.sampled_from(Scope),
        "across_volumes": st.booleans(),
        "min_size": st.sampled_from([0, 1, 2, 301]),
        "max_size": st.sampled_from([None, 300, 90_000]),
        "exclude": st.sampled_from([(), ("in",), ("*3",), ("b/*",)]),
        "include": st.sampled_from([(), ("f*",)]),
        "ignore_case": st.booleans(),
    }
).filter(lambda each: each["max_size"] is None or each["min_size"] <= each["max_size"])
rows = st.lists(
    st.tuples(
        st.integers(0, 2),  # catalog
        st.integers(0, 3),  # folder
        st.sampled_from([0, 1, 7, 8]),  # size
        st.sampled_from([0, 0, 5, 6, 1 << 63]),  # inode
        st.integers(0, 3),  # content by its fingerprint
        st.sampled_from([*range(12), None]),  # and by its digest
        st.integers(0, 9),  # 0: the row is damaged
    ),
    max_size=30,
)


@pytest.fixture
def folder() -> Iterator[Callable[[], Path]]:
    """Return a maker of empty folders, one for each example of a property."""
    with tempfile.TemporaryDirectory() as above:
        yield lambda: Path(tempfile.mkdtemp(dir=above))


def names_of(result: ScanResult, roots: list[Path]) -> list[tuple[int, list[list[tuple[int, bytes]]]]]:
    """Return sizes and names, those of one file together, of each group, by root and path below it."""

    def below(path: bytes) -> tuple[int, bytes]:
        n = next(n for n, root in enumerate(roots) if path.startswith(os.fsencode(root) + os.fsencode(os.sep)))
        return n, path[len(os.fsencode(roots[n])) :]

    groups = [(g.size, sorted(sorted(map(below, f.names)) for f in g.files)) for g in result.groups]
    return sorted(groups)


def test_catalogs_alone_answer_as_their_disks_would(folder: Callable[[], Path]) -> None:
    """Groups, links and totals are those of a scan of the folders, whatever is asked for."""

    @few
    @given(files, links, options, st.sampled_from([0, 1]))
    def law(
        made: list[tuple[str, str, bytes]], linked: list[tuple[int, str]], asked: dict[str, Any], some: int
    ) -> None:
        base = folder()
        for disk in DISKS:
            for place in FOLDERS:
                (base / disk / place).mkdir(parents=True, exist_ok=True)
        paths = [(disk, write(base / disk / place / f"f{n}", data)) for n, (disk, place, data) in enumerate(made)]
        for n, (which, place) in enumerate(linked):
            disk, path = paths[which % len(paths)]
            os.link(path, base / disk / place / f"l{n}")
        roots, catalogs = [base / disk for disk in DISKS], [base / f"{disk}.catalog" for disk in DISKS]
        for root, catalog in zip(roots, catalogs, strict=True):
            create(str(catalog), ScanConfig(roots=[root], min_size=0, jobs=1))
        accepted = [group.digest for group in find_duplicates(ScanConfig(roots=roots, jobs=1)).groups][:some]
        accept = [digest for digest in accepted if digest]
        live = find_duplicates(ScanConfig(roots=roots, jobs=1, accept=accept, **asked))
        told = find_duplicates(ScanConfig(roots=catalogs, jobs=1, accept=accept, **asked))
        if not asked["across_volumes"]:  # the folders lie on one
            assert names_of(told, catalogs) == names_of(live, roots)
        if asked["scope"] is not Scope.WITHIN:  # a name of another root is one of its own there
            assert told.totals.files == live.totals.files
            assert told.totals.bytes == live.totals.bytes
        mixed = find_duplicates(ScanConfig(roots=[roots[0], *catalogs[1:]], jobs=1, accept=accept, **asked))
        if not asked["across_volumes"]:
            assert names_of(mixed, [roots[0], *catalogs[1:]]) == names_of(live, roots)

    law()


def head_of(disk: int, **more: Any) -> Head:
    """Return the head of a catalog that nobody made."""
    words = {"version": "0", "made": "2026-01-02", "updated": f"2026-01-0{disk + 1}", "host": "", "root": b"/"}
    plain = {"inside": b"", "capacity": 1, "layout": fingerprint.LAYOUT, "algorithm": "sha256"}
    return Head(id=f"{disk}", quick=False, complete=True, **{**words, **plain, **more})


def catalogs_of(base: Path, given_rows: list[tuple[Any, ...]]) -> list[Path]:
    """Make three catalogs of rows as no disk would have them."""
    paths = [base / f"{disk}.catalog" for disk in DISKS]
    for disk, path in enumerate(paths):
        volume = CatalogVolume(1, f"uuid:{min(disk, 1)}", "", "ext4")  # the last two are of one disk
        with contextlib.closing(database.make(str(path), head_of(disk), volume)) as connection, connection:
            for n in range(4):
                place = b"%d/" % n if n else b""
                row = (n, place, 1, b"%d" % disk + place if disk else place)
                connection.execute("INSERT INTO folders VALUES (?, ?, ?, ?, ?)", (*row, of_values(*row)))
            size = count = 0
            for n, (which, at, length, inode, print_, digest, whole) in enumerate(given_rows):
                if which == disk:
                    known = None if digest is None else b"%08d" % digest * 4
                    told = (at, b"n%d" % n, length, 0, 0, database.number(inode), b"%08d" % print_ * 2, known)
                    checksum = of_file(told) if whole else b"?"
                    connection.execute("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*told, checksum))
                    size, count = size + length, count + 1
            database.write_head(connection, head_of(disk, files=count, size=size))
    return paths


def test_nothing_is_lost_that_memory_would_have_held(
    folder: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the rows say, damaged ones among them, the result is that of a scan with all of them in its table."""

    @few
    @given(rows, options)
    @example([(0, 1, 7, 5, 1, 1, 1), (0, 1, 7, 5, 2, 2, 1)], {})  # one number, and two contents
    def law(given_rows: list[tuple[Any, ...]], asked: dict[str, Any]) -> None:
        roots = catalogs_of(folder(), given_rows)
        config = ScanConfig(roots=roots, jobs=1, **asked)
        told = find_duplicates(config)
        with monkeypatch.context() as patch:
            patch.setattr(shared.SharedContents, "rows", lambda _, connection: all_rows(connection))
            held = find_duplicates(config)
        plain = {"seconds": 0.0, "started": "", "phases": {}, "folders": {}, "backend": held.backend}  # it had no work
        assert replace(told, **plain) == replace(held, **plain)

    law()


def test_only_what_may_be_equal_takes_a_place_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that shares nothing is counted by its catalog, and handed to the table never."""
    lonely = [(0, 0, 7, n + 10, 3, n + 10, 1) for n in range(50)]
    catalogs = catalogs_of(tmp_path, [*lonely, (0, 1, 7, 1, 1, 1, 1), (1, 1, 7, 1, 1, 1, 1)])
    joining: list[bool] = []
    whole = shared.SharedContents.rows

    def watched(self: shared.SharedContents, connection: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
        for row in whole(self, connection):
            joining.append(row[-1])
            yield row

    monkeypatch.setattr(shared.SharedContents, "rows", watched)
    found = find_duplicates(ScanConfig(roots=catalogs, jobs=1))
    assert (len(joining), sum(joining)) == (52, 2)
    assert (found.totals.files, found.totals.bytes, len(found.groups)) == (52, 52 * 7, 1)


def test_more_catalogs_than_sqlite_attaches_at_once(tmp_path: Path) -> None:
    """A copy that lies on any two of a dozen disks is found."""
    for n in range(12):
        write(tmp_path / f"d{n}/x", b"%d" % (n % 6) * 100)
        create(str(tmp_path / f"{n}.catalog"), ScanConfig(roots=[tmp_path / f"d{n}"], jobs=1))
    found = find_duplicates(ScanConfig(roots=[tmp_path / f"{n}.catalog" for n in range(12)], jobs=1))
    assert sorted(len(group.files) for group in found.groups) == [2] * 6


def test_a_full_temporary_folder_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the keys have no room, nothing is answered; the catalogs stay as they are."""
    catalogs = catalogs_of(tmp_path, [(0, n % 4, 7, n, 1, n, 1) for n in range(2000)])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(NothingUsableError, match="TMPDIR"):
        find_duplicates(ScanConfig(roots=catalogs, jobs=1))
    (tmp_path / "none").mkdir()
    monkeypatch.setattr(shared, "_ATTACHED", "PRAGMA joined.max_page_count = 4")
    with pytest.raises(NothingUsableError, match="TMPDIR"):
        find_duplicates(ScanConfig(roots=catalogs, jobs=1))
    assert not list((tmp_path / "none").iterdir())


def test_who_stops_a_join_gets_what_was_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt, or whatever a progress raises, comes through SQLite as itself."""

    class Stopping(Silent):
        """Raises at the first sign of work."""

        def reach(self, count: int) -> None:
            """Stop."""
            raise KeyboardInterrupt(count)

    catalogs = catalogs_of(tmp_path, [(0, n % 4, 7, n, 1, n, 1) for n in range(200)])
    monkeypatch.setattr(shared, "_STEPS", 10)
    with pytest.raises(KeyboardInterrupt):
        find_duplicates(ScanConfig(roots=catalogs, jobs=1), progress=Stopping())
