"""`dedupe report`, by the real program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dedupe.report.read.loader import load_report
from tests.report_helpers import HOSTILE, group, hostile_result, rendered, result

Cli = Callable[..., "subprocess.CompletedProcess[bytes]"]


PROGRAM = (sys.executable, "-m", "dedupe")


def environment() -> dict[str, str]:
    """Return an environment in which the program is found."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Return a saved JSON report with hostile names."""
    path = tmp_path / "saved.json"
    path.write_bytes(rendered("json", hostile_result()))
    return path


def test_every_format_comes_from_a_saved_report(cli: Cli, saved: Path, tmp_path: Path) -> None:
    """All reports of one run are whole, equal to what the result renders to, and nothing else is left behind."""
    names = ("a.csv", "a.jsonl", "a.txt", "a.paths", "again.json", "a.db")
    done = cli("report", saved, *(part for name in names for part in ("--output", name)))
    assert (done.returncode, done.stdout) == (0, b"")
    made = hostile_result()
    assert (tmp_path / "a.csv").read_bytes() == b"\xef\xbb\xbf" + rendered("csv", made)
    assert (tmp_path / "a.jsonl").read_bytes() == rendered("jsonl", made)
    assert (tmp_path / "a.paths").read_bytes() == rendered("paths", made)
    assert (tmp_path / "again.json").read_bytes() == saved.read_bytes()
    assert (tmp_path / "a.db").read_bytes().startswith(b"SQLite format 3\0")
    assert {path.name for path in tmp_path.iterdir()} == {*names, "saved.json"}


@pytest.mark.parametrize("name", ["csv", "json", "jsonl", "paths", "text"])
def test_standard_output_takes_a_format(cli: Cli, saved: Path, name: str) -> None:
    """`--format` writes the report to standard output, without a mark for Excel, and notes to standard error."""
    done = cli("report", saved, "--format", name)
    assert done.returncode == 0
    assert done.stdout == rendered(name, hostile_result())
    assert done.stderr.splitlines() == [b"dedupe: a note \\u202e"]


def test_text_is_the_default_and_null_ends_paths(cli: Cli, saved: Path) -> None:
    """Without options a person reads it; with `--null` a script does."""
    assert cli("report", saved).stdout == rendered("text", hostile_result())
    paths = cli("report", saved, "--format", "paths", "--null").stdout.split(b"\0")
    assert b"/data/" + HOSTILE[8] in paths


@pytest.mark.skipif(os.name == "nt", reason="names of arbitrary bytes")
def test_names_lead_back_to_the_files(cli: Cli, tmp_path: Path) -> None:
    """After a scan and JSON every name still finds its file on the disk."""
    root = os.fsencode(tmp_path) + b"/tree"
    os.mkdir(root)
    for name in HOSTILE:
        if b"/" not in name:
            with open(root + b"/" + name, "wb") as file:
                file.write(b"same")
    assert cli("scan", os.fsdecode(root), "--no-cache", "--output", "r.json").returncode == 0
    document = (tmp_path / "r.json").read_bytes()
    (found,) = load_report(document, b"r.json").groups
    assert len(found.files) == sum(b"/" not in name for name in HOSTILE)
    for file in found.files:
        assert os.stat(file.path).st_ino == file.inode
    assert cli("report", "r.json", "--format", "json", "--folders").stdout == document


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "cp932"}, {"PYTHONIOENCODING": "cp1252"}])
@pytest.mark.parametrize("name", ["text", "csv"])
def test_no_locale_breaks_a_report(cli: Cli, saved: Path, locale: dict[str, str], name: str) -> None:
    """Reports are the same bytes whatever the console's encoding; it never ends in an error."""
    done = cli("report", saved, "--format", name, env=locale)
    assert (done.returncode, done.stdout) == (0, rendered(name, hostile_result()))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk_is_told(saved: Path) -> None:
    """If standard output cannot be written, one sentence says so and the exit code is 1."""
    with open("/dev/full", "wb") as full:
        command = [*PROGRAM, "report", saved, "--format", "csv"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environment(), check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == b"dedupe: Standard output could not be written: No space left on device."
    assert b"Traceback" not in done.stderr


def test_a_reader_that_stops_is_no_error(tmp_path: Path) -> None:
    """A closed pipe ends the program quietly."""
    many = [group(i, 5, [b"/data/%d" % i, b"/data/%d copy" % i]) for i in range(1, 20_000)]
    (tmp_path / "many.json").write_bytes(rendered("json", result(many)))
    command = [*PROGRAM, "report", tmp_path / "many.json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline().startswith(b"Group 1")
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nope.json"], 1, "The report nope.json cannot be read: "),
        (["."], 1, "The report . cannot be read: "),
        (["saved.json", "--output", "saved.json"], 2, "is the report to be read"),
        (["saved.json", "--output", "x.doc"], 2, "No report format goes with 'x.doc'"),
        (["saved.json", "--output", "no/such/a.csv"], 1, "cannot be written"),
        (["saved.json", "--format", "db"], 2, "no format for standard output"),
        (["saved.json", "--format", "pdf"], 2, "no format for standard output"),
        (["notes.txt", "--output", "a.csv"], 2, "no report of dedupe"),
        (["empty.txt", "--output", "a.csv"], 2, "empty.txt is empty, and so no report of dedupe"),
        (["saved.json", "--output", "Thumbs.db"], 2, "Thumbs.db is no report of dedupe"),
    ],
)
def test_bad_requests_get_one_sentence(
    cli: Cli, saved: Path, tmp_path: Path, arguments: list[str], code: int, words: str
) -> None:
    """One sentence, the right exit code, and no half-written or lost file."""
    (tmp_path / "notes.txt").write_text("Dear diary,\ntoday\n", encoding="utf-8")
    (tmp_path / "empty.txt").write_bytes(b" \n")
    (tmp_path / "Thumbs.db").write_bytes(b"mine")
    before = saved.read_bytes()
    done = cli("report", *arguments)
    assert done.returncode == code
    assert words in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1
    assert saved.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"Thumbs.db", "empty.txt", "notes.txt", "saved.json"}


def test_folders_are_told_where_asked(cli: Cli, tmp_path: Path) -> None:
    """`--folders` brings folders into text and JSON."""
    document = json.loads(rendered("json", result([group(1, 5, [b"/data/a/1", b"/data/b/1"])])))
    document["folders"] = [{"path": path, "files": 1, "bytes": 5, "left_out": 0} for path in ("/data/a", "/data/b")]
    (tmp_path / "s.json").write_text(json.dumps(document), encoding="utf-8")
    assert b"Identical folders: 1 set" in cli("report", "s.json", "--folders").stdout
    assert b"Identical" not in cli("report", "s.json").stdout
    assert b'"identical_folders"' in cli("report", "s.json", "--folders", "--format", "json").stdout
