"""Report files: opened before the work, whole or not at all, and never over what is somebody's data."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dedupe.cli.output import Outputs, standard_output
from dedupe.config import ScanConfig
from dedupe.errors import DedupeError, NothingUsableError, UsageError
from dedupe.find import find_duplicates
from dedupe.report import Style
from dedupe.result import ScanResult
from dedupe.storage import sqlite_owner
from tests.conftest import need, write

Cli = Callable[..., "subprocess.CompletedProcess[bytes]"]
ENDINGS = ["csv", "json", "jsonl", "db", "txt", "html"]
posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes, links and devices")


@pytest.fixture
def result(tmp_path: Path) -> ScanResult:
    """Return what a scan of two equal files finds."""
    for name in "ab":
        write(tmp_path / "root" / name, b"data")
    return find_duplicates(ScanConfig(roots=[tmp_path / "root"]))


def put(path: Path, result: ScanResult, *roots: Path, kept: tuple[bytes, ...] = ()) -> None:
    """Write one report as a scan does."""
    with Outputs([os.fspath(path)], [os.fsencode(r) for r in roots], kept) as outputs:
        outputs.write(result, Style(to_file=True))


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_report_appears_whole_in_its_place(tmp_path: Path, result: ScanResult, ending: str) -> None:
    """Nothing is at the path until the report is complete, and no temporary file stays."""
    path = tmp_path / "out" / f"r.{ending}"
    path.parent.mkdir()
    with Outputs([os.fspath(path)]) as outputs:
        assert not path.exists()
        assert len(list(path.parent.iterdir())) == 1
        assert os.fsencode(path) in outputs.own_files
        assert all(os.fsencode(p) in outputs.own_files for p in path.parent.iterdir())
        outputs.write(result, Style(to_file=True))
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert path.stat().st_size > 50


@posix
def test_a_report_has_the_mode_of_any_new_file(tmp_path: Path, result: ScanResult) -> None:
    """The mask decides who may read it, not the privacy of temporary files."""
    old = os.umask(0o027)
    try:
        put(tmp_path / "r.json", result)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "r.json").stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ["é" * 125, "語" * 83, "x" * 250, "😀" * 62])
def test_names_as_long_as_the_system_allows(tmp_path: Path, result: ScanResult, name: str) -> None:
    """A name of up to 255 bytes does for a report, though its temporary file has a longer one in mind."""
    path = tmp_path / f"{name}.csv"
    if len(os.fsencode(path.name)) > 255:
        path = tmp_path / f"{name[:-2]}.csv"
    put(path, result)
    assert path.exists()


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_older_report_inside_a_root_is_replaced(tmp_path: Path, result: ScanResult, ending: str) -> None:
    """The report of the last scan gives way to that of this one."""
    path = tmp_path / "root" / f"r.{ending}"
    put(path, result, tmp_path / "root")
    before = path.stat().st_ino
    put(path, result, tmp_path / "root")
    assert path.stat().st_ino != before


CONTENTS = {
    "text": b"my notes",
    "database": None,
    "page": b"<!doctype html><html><body>mine</body></html>",
    "table": b"group,file\n1,2\n",
    "json": b'{"schema": "mine"}',
}


def theirs(path: Path, application: int = 0) -> Path:
    """Write another program's database, whose table has a name that ours has too."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE scan (schema TEXT)")
        database.execute("INSERT INTO scan VALUES ('photos/1')")
        database.execute(f"PRAGMA application_id = {application}")
        database.commit()
    return path


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", CONTENTS)
def test_a_users_file_inside_a_root_is_never_replaced(
    tmp_path: Path, result: ScanResult, kind: str, ending: str
) -> None:
    """Whatever the file is and whatever its name, it stays as it was; outside the roots a text is the user's word."""
    path = tmp_path / "root" / f"mine.{ending}"
    if (content := CONTENTS[kind]) is not None:
        path.write_bytes(content)
    else:
        theirs(path)
    before = path.read_bytes()
    is_database = ending == "db" or kind == "database"
    words = "is no report of dedupe" if is_database else "one of the files to be scanned"
    with pytest.raises(UsageError, match=words):
        put(path, result, tmp_path / "root")
    assert path.read_bytes() == before
    assert {p.name for p in path.parent.iterdir()} == {"a", "b", path.name}
    if not is_database:
        put(path, result, tmp_path / "elsewhere")
        assert path.read_bytes() != before


@pytest.mark.parametrize("application", [0, 0x64656475, 0x12345678])
@pytest.mark.parametrize("name", ["photos.db", "photos.sqlite", "photos.json"])
def test_another_programs_database_is_never_replaced(tmp_path: Path, cli: Cli, application: int, name: str) -> None:
    """A database that is no report of ours is refused before anything is read, wherever it lies: exit 2."""
    path = theirs(tmp_path / name, application)
    before = path.read_bytes()
    write(tmp_path / "root" / "a", b"data")
    done = cli("scan", "root", "--no-cache", "--output", name, "--output", "good.json", "--verbose")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(f"dedupe: {name} is no report of dedupe, and stays as it is: ".encode())
    assert done.stderr.count(b"\n") == 1
    assert path.read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} == {"root", name}


def test_a_database_report_of_any_version_is_replaced(tmp_path: Path, result: ScanResult) -> None:
    """Our own report gives way to its successor: it is known by its number, that of 0.1 by what it says of itself."""
    path = tmp_path / "r.db"
    put(path, result)
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA application_id").fetchone() == (sqlite_owner.REPORT,)
        database.execute("PRAGMA application_id = 0")
        database.commit()
    for _ in range(2):
        put(path, result)
        assert sqlite_owner.application_of(path) == sqlite_owner.REPORT


def test_a_file_that_is_no_database_is_not_replaced_by_one(tmp_path: Path, result: ScanResult) -> None:
    """What another program calls a database need not be SQLite's; an empty file holds nothing and gives way."""
    path = write(tmp_path / "Thumbs.db", b"\xd0\xcf\x11\xe0 not SQLite")
    with pytest.raises(UsageError, match="is no report of dedupe"):
        put(path, result)
    path.write_bytes(b"")
    put(path, result)
    assert sqlite_owner.application_of(path) == sqlite_owner.REPORT


@posix
def test_a_link_does_not_hide_what_it_leads_to(tmp_path: Path, result: ScanResult) -> None:
    """A report named by a link from outside may not replace a scanned file; elsewhere it goes where the link leads."""
    scanned = write(tmp_path / "root" / "c", b"mine")
    (tmp_path / "r.csv").symlink_to(scanned)
    with pytest.raises(UsageError, match="to be scanned"):
        put(tmp_path / "r.csv", result, tmp_path / "root")
    (tmp_path / "s.csv").symlink_to(tmp_path / "real.csv")
    put(tmp_path / "s.csv", result, tmp_path / "root")
    assert (tmp_path / "s.csv").is_symlink()
    assert (tmp_path / "real.csv").stat().st_size


def test_what_cannot_be_a_report_is_refused_before_the_work(tmp_path: Path) -> None:
    """A folder, the cache, one path twice, an unknown ending: wrong usage, and nothing is left behind."""
    cache = write(tmp_path / "cache.db", b"")
    (tmp_path / "folder.csv").mkdir()
    for paths in (["folder.csv"], ["cache.db"], ["a.csv", "./a.csv"], ["a.csv", "b.docx"]):
        with pytest.raises(UsageError):
            Outputs([str(tmp_path / p) for p in paths], (), [os.fsencode(cache)])
    assert {p.name for p in tmp_path.iterdir()} == {"cache.db", "folder.csv"}


@posix
def test_where_nothing_can_be_written_is_told_before_the_work(tmp_path: Path, cli: Cli) -> None:
    """A folder that is not there or takes no files: one sentence, exit 1, and no other report either."""
    (tmp_path / "closed").mkdir(mode=0o500)
    places = ["no/such/r.csv"] + (["/proc/r.csv"] if os.path.isdir("/proc") else [])
    if os.geteuid() != 0:
        places.append("closed/r.csv")
    for place in places:
        done = cli("scan", tmp_path, "--no-cache", "--output", "good.json", "--output", place)
        assert (done.returncode, done.stdout) == (1, b""), place
        assert done.stderr.startswith(f"dedupe: The report {place} cannot be written: ".encode())
        assert done.stderr.count(b"\n") == 1
        assert not (tmp_path / "good.json").exists()


@posix
def test_a_disk_that_fills_up_leaves_nothing_half_written(tmp_path: Path) -> None:
    """A report that does not fit is removed, an older one stays, and the user is told."""
    root = tmp_path / "root"
    for n in range(300):
        write(root / f"{n}-{'x' * 60}", b"data")
    old = write(tmp_path / "r.json", b"the old report")

    shell = 'ulimit -f 4; exec "$0" -m dedupe scan "$1" --no-cache --output "$2"'
    done = subprocess.run(["sh", "-c", shell, sys.executable, root, old], capture_output=True, check=False)
    assert done.returncode == 1
    assert b"could not be written: File too large" in done.stderr
    assert {p.name for p in tmp_path.iterdir()} == {"root", "r.json"}
    assert old.read_bytes() == b"the old report"


@posix
def test_devices_are_written_in_place(tmp_path: Path, result: ScanResult) -> None:
    """A full device is told; a pipe with a reader gets the report."""
    need(os.path.exists("/dev/full"), "/dev/full")
    (tmp_path / "full.json").symlink_to("/dev/full")
    with pytest.raises(NothingUsableError, match="No space left"):
        put(tmp_path / "full.json", result)
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    with subprocess.Popen(["timeout", "20", "cat", pipe], stdout=subprocess.PIPE) as reader:
        put(pipe, result)
        assert reader.communicate()[0].startswith(b'{"schema"')


def test_a_failure_between_opening_and_writing_leaves_nothing(tmp_path: Path) -> None:
    """Whatever ends the scan, the temporary file goes."""
    with pytest.raises(KeyboardInterrupt), Outputs([str(tmp_path / "r.csv")]):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_standard_output_takes_what_can_be_printed() -> None:
    """Text by default, nothing beside files, and no format that is a file by nature."""
    default = standard_output(None, [])
    assert default is not None
    assert default.name == "text"
    assert standard_output(None, ["r.csv"]) is None
    for name in ("db", "html", "docx"):
        with pytest.raises(DedupeError, match="no format for standard output"):
            standard_output(name, [])
