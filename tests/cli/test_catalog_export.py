"""An export holds every file of a catalog, exactly, in every format; what is damaged is left out and told."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner  # noqa: TID251 - runs in this process, in a tenth of the time

from dedupe.catalog import database
from dedupe.catalog.rows import known_rows, whole_folders
from dedupe.cli import app
from dedupe.config import ScanConfig
from dedupe.query.catalog_fill import create
from tests.catalog_helpers import rewrite
from tests.conftest import write
from tests.report_helpers import HOSTILE


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    """Return a catalog of files with hostile names."""
    root = tmp_path / "disk"
    root.mkdir()
    for n, name in enumerate(HOSTILE):
        try:
            with open(os.path.join(os.fsencode(root), name.replace(b"/", b"-")), "wb") as file:
                file.write(b"%d" % n * 300)
        except (OSError, ValueError):  # Windows has fewer
            continue
    write(root / "a/in/photo.jpg", b"photo" * 20_000)
    path = tmp_path / "disk.catalog"
    create(str(path), ScanConfig(roots=[root], min_size=0, jobs=1))
    return path


def exported(catalog: Path, name: str, code: int = 0) -> Path:
    """Run the command and return what it wrote."""
    output = catalog.parent / name
    result = CliRunner().invoke(app, ["catalog", "export", str(catalog), "--output", str(output)])
    assert result.exit_code == code, result.output
    return output


def plainly(catalog: Path) -> dict[bytes, tuple[int, int, str, str]]:
    """Return size, time, fingerprint and digest of every file, by its path."""
    with database.closing(database.opened(str(catalog)), str(catalog)) as connection:
        top = os.path.join(database.head_of(connection, str(catalog)).root, b"")
        return {
            top + (place + name).replace(b"/", os.fsencode(os.sep)): (
                *(row.size, row.modified_ns),
                *(row.fingerprint.hex(), row.digest.hex()),
            )
            for at, place in whole_folders(connection)
            for name, row in known_rows(connection, at).items()
        }


def exact(row: dict[str, Any]) -> bytes:
    """Return the exact path of a row of CSV or JSON."""
    return base64.b64decode(row["path_base64"]) if row.get("path_base64") else row["path"].encode()


def of_csv(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a CSV as a spreadsheet reads them."""
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def test_every_file_is_in_csv_and_json_lines(catalog: Path) -> None:
    """Exact paths, sizes, times and digests, with the root, the volume and the number of the catalog."""
    rows = of_csv(exported(catalog, "files.csv"))
    lines = [json.loads(line) for line in exported(catalog, "files.jsonl").read_bytes().splitlines()]
    for told in (rows, lines):
        found = {
            exact(row): (int(row["size"]), int(row["modified_ns"]), row["fingerprint"], row["digest"]) for row in told
        }
        assert found == plainly(catalog)
        assert len({(row["catalog"], row["root"], row["volume"]) for row in told}) == 1
    assert all(row["path"].startswith(row["root"]) for row in lines)


def test_every_file_is_in_parquet(catalog: Path) -> None:
    """The bytes of each path have a column, numbers are numbers, and an export may take an earlier one's place."""
    duckdb = pytest.importorskip("duckdb")
    path = exported(catalog, "files.parquet")
    assert exported(catalog, "files.parquet") == path
    asked = "path_bytes, size, modified_ns, fingerprint, digest, path"
    rows = duckdb.execute(f"SELECT {asked} FROM read_parquet(?)", [str(path)]).fetchall()
    assert {row[0]: row[1:5] for row in rows} == plainly(catalog)
    assert {row[5] for row in rows} == {row["path"] for row in of_csv(exported(catalog, "files.csv"))}
    other = catalog.parent / "other.parquet"
    duckdb.execute(f"COPY (SELECT 1 AS x) TO '{other}' (FORMAT parquet)")
    before = other.read_bytes()
    exported(catalog, "other.parquet", code=2)
    assert other.read_bytes() == before


def test_without_duckdb_parquet_is_one_sentence(catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what to install, or what else will do, and leaves nothing behind."""
    monkeypatch.setitem(sys.modules, "duckdb", None)
    output = catalog.parent / "files.parquet"
    result = CliRunner().invoke(app, ["catalog", "export", str(catalog), "--output", str(output)])
    assert result.exit_code == 1
    assert "pip install 'dedupe-files[parquet]'" in result.stderr
    assert sorted(each.name for each in catalog.parent.iterdir()) == ["disk", "disk.catalog"]


def test_a_quick_catalog_has_no_digests_to_export(tmp_path: Path) -> None:
    """What is not known is empty, or null, and never a digest of something else."""
    root = tmp_path / "disk"
    write(root / "x", b"x" * 90_000)
    create(str(tmp_path / "q"), ScanConfig(roots=[root], jobs=1), quick=True)
    (row,) = of_csv(exported(tmp_path / "q", "files.csv"))
    (line,) = exported(tmp_path / "q", "files.jsonl").read_bytes().splitlines()
    assert (row["digest"], len(row["fingerprint"])) == ("", 32)
    assert json.loads(line)["digest"] is None


def test_damaged_rows_are_left_out_and_told(catalog: Path) -> None:
    """A row that is not what was written is no file; the command ends with 3."""
    whole = len(of_csv(exported(catalog, "files.csv")))
    with sqlite3.connect(catalog) as connection:
        connection.execute("UPDATE files SET size = size + 1 WHERE name = ?", (b"photo.jpg",))
    connection.close()
    output = catalog.parent / "again.csv"
    result = CliRunner().invoke(app, ["catalog", "export", str(catalog), "--output", str(output)])
    assert result.exit_code == 3
    assert "1 row of the catalog" in result.stderr
    assert len(of_csv(output)) == whole - 1


def test_what_cannot_be_exported_is_one_sentence(catalog: Path) -> None:
    """No catalog, an unfinished one, an ending that names no format, the catalog itself."""
    folder = catalog.parent
    other, copy = write(folder / "x.csv", b"mine"), write(folder / "copy.csv", catalog.read_bytes())
    for file, output in ((other, "y.csv"), (catalog, "y.txt"), (catalog, "disk.catalog"), (copy, "copy.csv")):
        result = CliRunner().invoke(app, ["catalog", "export", str(file), "--output", str(folder / output)])
        assert (result.exit_code, len(result.stderr.strip().splitlines())) == (2, 1), result.output
    rewrite(catalog, "UPDATE catalog SET value = '2026-01-01' WHERE key = 'made'")
    result = CliRunner().invoke(app, ["catalog", "export", str(catalog), "--output", str(folder / "y.csv")])
    assert result.exit_code == 1
    assert (other.read_bytes(), copy.read_bytes()[:6]) == (b"mine", b"SQLite")
    assert not (folder / "y.csv").exists()
