"""The database report: equal to JSON, and ready for questions."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given, settings

from dedupe.report.csv_report import kind_of
from dedupe.result import File, FolderCount, Group, GroupList, NameKind, ScanResult
from tests.report_helpers import group, hostile_result, rendered, result, results


@contextmanager
def opened(made: ScanResult) -> Iterator[sqlite3.Connection]:
    """Open a database report in memory."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(rendered("db", made))
        database.row_factory = sqlite3.Row
        yield database


def path_of(row: sqlite3.Row, key: str = "path") -> bytes:
    """Return the exact path of a row."""
    exact = row[key + "_base64"]
    return base64.b64decode(exact) if exact else row[key].encode()


def json_groups(database: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return the groups of a database in the words of JSON."""
    groups = []
    for row in database.execute("select * from groups order by id"):
        files: dict[int, list[sqlite3.Row]] = {}
        for file in database.execute("select * from files where group_id = ? order by id", (row["id"],)):
            files.setdefault(file["file"], []).append(file)
        assert len(files) == row["files"]
        made = {key: row[key] for key in ("id", "size", "algorithm", "digest", "proof", "reclaimable_bytes")}
        groups.append(made | {"files": [[path_of(name) for name in names] for names in files.values()]})
    return groups


@settings(max_examples=15, deadline=None)
@given(results())
def test_the_database_equals_json(made: ScanResult) -> None:
    """Groups, names, totals, skips, problems and roots are those of the JSON report; all keys lead somewhere."""
    with opened(made) as database:
        assert database.execute("pragma foreign_key_check").fetchall() == []
        found = json_groups(database)
        assert [each.pop("files") for each in found] == [
            [list(file.names) for file in each.files] for each in made.groups
        ]
        document = json.loads(rendered("json", made))
        for each in document["groups"]:
            del each["files"]
        assert found == document["groups"]
        totals = dict(database.execute("select * from totals").fetchone())
        totals["skipped"] = dict(database.execute("select reason, entries from skipped").fetchall())
        assert totals == document["totals"]
        problems = database.execute("select * from problems order by id").fetchall()
        assert [(path_of(row), row["kind"]) for row in problems] == [(p.path, p.kind) for p in made.problems]
        assert [path_of(row) for row in database.execute("select * from roots order by id")] == list(made.roots)
        for row in database.execute("select * from folders where files is not null"):
            assert made.folders[path_of(row)] == FolderCount(row["files"], row["bytes"], row["left_out"])


@settings(max_examples=15, deadline=None)
@given(results())
def test_every_name_says_what_it_is_and_where(made: ScanResult) -> None:
    """Each name has its kind, and each file its proof, its root and its volume."""
    expected = [
        (kind, name, file.proof, file.root, file.volume)
        for group in made.groups
        for file in group.files
        for kind, names in zip(
            (kind_of(file.proof), *NameKind), ((file.path,), file.links, file.symlinks, file.mounted), strict=True
        )
        for name in names
    ]
    with opened(made) as database:
        found = [
            (row["kind"], path_of(row), row["proof"], row["root_id"] and row["root_id"] - 1, row["volume_id"])
            for row in database.execute("select * from files order by id")
        ]
        volumes = database.execute("select * from volumes order by id").fetchall()
    assert found == [(*row, None if volume is None else volume + 1) for *row, volume in expected]
    assert [(row["volume"], row["label"], row["file_system"]) for row in volumes] == [
        (volume.id, volume.label, volume.file_system) for volume in made.volumes
    ]
    assert [path_of(row, "mount_point") if row["mount_point"] else b"" for row in volumes] == [
        volume.mount_point for volume in made.volumes
    ]


def test_hostile_names_and_numbers_survive() -> None:
    """Any name comes back exactly; numbers beyond 64 bits are text or null, not an error."""
    made = hostile_result()
    with opened(made) as database:
        names = {path_of(row) for row in database.execute("select path, path_base64 from files")}
        assert names == {path for g in made.groups for file in g.files for path in file.names}
        assert ("18446744073709551617",) in [tuple(row) for row in database.execute("select inode from files")]
    late = made.groups[0].files[0]._replace(modified_ns=2**64)
    huge = replace(made, groups=GroupList([replace(made.groups[0], files=(late, *made.groups[0].files[1:]))]))
    with opened(huge) as database:
        assert database.execute("select count(*) from files where modified_ns is null").fetchone()[0] == 1
    with opened(result([group(1, 2**63, [b"/data/a", b"/data/b"])])) as database:
        assert tuple(database.execute("select size, reclaimable_bytes from groups").fetchone()) == (None, None)


def test_the_view_tells_the_worst_folders() -> None:
    """Each physical file bears an equal share of what its group wastes; the worst folder comes first."""
    linked = File(b"/data/b/2", 1, 1, 1, links=(b"/data/c/link",))
    groups = [
        group(1, 900, [b"/data/a/1", b"/data/a/2", b"/data/b/1"]),
        Group(2, 100, "sha256", b"x" * 32, (linked, File(b"/data/b/3", 1, 1, 2))),
    ]
    with opened(result(groups)) as database:
        worst = [
            tuple(row) for row in database.execute("select folder, files, wasted_bytes from worst_folders limit 10")
        ]
    assert worst == [("/data/a", 2, 1200), ("/data/b", 3, 700)]


def test_compared_folders_are_tables() -> None:
    """Identical folders are rows of one set."""
    counts = dict.fromkeys((b"/data/a", b"/data/b"), FolderCount(1, 5, 0))
    with opened(result([group(1, 5, [b"/data/a/1", b"/data/b/1"])], folders=counts)) as database:
        rows = database.execute("select set_id, path, reclaimable_bytes from identical_folders order by id").fetchall()
    assert [tuple(row) for row in rows] == [(1, "/data/a", 5), (1, "/data/b", 5)]


def test_large_reports_use_indexes() -> None:
    """Files are found by group, by folder and by path without a walk through the table."""
    with opened(result([group(1, 5, [b"/data/a", b"/data/b"])])) as database:
        for column in ("group_id", "folder_id", "path"):
            plan = database.execute(f"explain query plan select * from files where {column} = 1").fetchone()
            assert "USING INDEX" in plan["detail"]


def test_nothing_is_left_in_the_temporary_folder(tmp_path: Path, monkeypatch: Any) -> None:
    """The file that the database is built in is gone after the report, and after a reader that stops early."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rendered("db", hostile_result())
    from dedupe.report import FORMATS, Style

    stopped = FORMATS["db"].render(hostile_result(), Style())
    next(stopped)
    stopped.close()  # type: ignore[attr-defined]
    assert list(tmp_path.iterdir()) == []
