"""`dedupe mark`: the real program, from a report to marks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import dedupe
from tests import schemas
from tests.cases.common import not_on_windows
from tests.conftest import write

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def report(cli: Run, tmp_path: Path) -> Path:
    """Return a report of two groups in two folders."""
    for name in ("a/one", "b/one"):
        write(tmp_path / "top" / name, b"one" * 1000)
    for name in ("b/two", "b/too"):
        write(tmp_path / "top" / name, b"two" * 900)
    assert cli("scan", "top", "--no-cache", "--output", "r.json").returncode == 0
    return tmp_path / "r.json"


def test_marks_are_written_whole_or_not(cli: Run, report: Path, tmp_path: Path) -> None:
    """They follow their schema, replace older marks, and never another file."""
    done = cli("mark", report, "--prefer", "top/a", "--output", "m.json")
    assert done.returncode == 0
    assert b"1 group is undecided" in done.stderr
    assert b"dedupe: 1 redundant file in 1 group: `dedupe apply m.json --trash`" in done.stderr
    marks = json.loads((tmp_path / "m.json").read_bytes())
    schema = (Path(dedupe.__file__).parent / "report/marks-schema.json").read_text(encoding="utf-8")
    schemas.validate(marks, json.loads(schema))
    assert marks["undecided"] == 1
    assert [rule["rule"] for rule in marks["rules"]] == ["prefer"]
    assert cli("mark", report, "--then", "newest", "--output", "m.json").returncode == 0
    refused = cli("mark", report, "--then", "newest", "--output", "r.json")
    assert (refused.returncode, refused.stderr.count(b"\n")) == (2, 1)
    assert b"holds no marks" in refused.stderr


def test_undecided_groups_are_listed(cli: Run, report: Path) -> None:
    """With --verbose, each with its files."""
    done = cli("mark", report, "--prefer", "top/a", "--verbose")
    assert b"too" in done.stderr
    assert b"--verbose lists" not in done.stderr
    assert json.loads(done.stdout)["schema"] == "dedupe-marks/1"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), b"No rule says"),
        (("--protect", "nowhere"), b"--protect nowhere matches no file"),
        (("--only-in", "top/c"), b"matches no file"),
        (("--protect-name", "*.psd"), b"matches no file"),
        (("--then", "largest"), b"largest"),
    ],
)
def test_rules_that_cannot_be_meant(cli: Run, report: Path, options: tuple[str, ...], words: bytes) -> None:
    """Exit 2, one sentence, no marks."""
    done = cli("mark", report, *options)
    assert (done.returncode, done.stdout) == (2, b"")
    assert words in done.stderr
    assert b"Traceback" not in done.stderr


def test_nothing_redundant_is_exit_1(cli: Run, report: Path) -> None:
    """So that a script notices."""
    assert cli("mark", report, "--protect", "top").returncode == 1


def test_marks_are_no_report(cli: Run, report: Path) -> None:
    """They say already what stays."""
    cli("mark", report, "--then", "newest", "--output", "m.json")
    assert b"holds marks already" in cli("mark", "m.json", "--then", "newest").stderr
    assert cli("mark", "gone.json", "--then", "newest").returncode == 1


def test_marks_that_were_formatted_anew_are_marks(cli: Run, report: Path, tmp_path: Path) -> None:
    """By their content, wherever it stands: keys in order, as `jq -S` writes them, many groups before the schema."""
    cli("mark", report, "--then", "shortest", "--prefer", "top/a", "--output", "m.json")
    marks = json.loads((tmp_path / "m.json").read_bytes())
    marks["groups"] = marks["groups"] * 50
    text = json.dumps({key: marks[key] for key in sorted(marks)}, indent=2, sort_keys=True)
    assert text.index("dedupe-marks") > 4096
    (tmp_path / "m.json").write_text(text, encoding="utf-8")
    assert b"holds marks already" in cli("mark", "m.json", "--then", "newest").stderr
    if sys.platform == "linux":  # where acting is offered
        assert b"rules are for a report" in cli("apply", "m.json", "--then", "newest", "--delete", "--yes").stderr
    assert cli("mark", report, "--prefer", "top/a", "--output", "m.json").returncode == 0  # and may be replaced


@not_on_windows("no name has such characters")
def test_a_name_that_speaks_of_marks_makes_none(cli: Run, tmp_path: Path) -> None:
    """A report of a file whose name has the words is a report."""
    for folder in ("top/a", "top/b"):
        write(tmp_path / folder / '"schema": "dedupe-marks', b"same")
        write(tmp_path / folder / '"schema":"dedupe-marks' / "1", b"other")
    cli("scan", "top", "--no-cache", "--output", "r.json")
    done = cli("mark", "r.json", "--prefer", "top/a")
    assert done.returncode == 0
    assert b"2 redundant files in 2 groups" in done.stderr


def test_the_command_that_is_named_can_be_typed(cli: Run, report: Path) -> None:
    """With a space in the name it is quoted."""
    told = cli("mark", report, "--prefer", "top/a", "--output", "my marks.json").stderr.decode()
    assert "`dedupe apply 'my marks.json' --trash`" in told or '`dedupe apply "my marks.json" --trash`' in told


def test_what_stays_whole_is_accepted_once(cli: Run, report: Path, tmp_path: Path) -> None:
    """The list takes the groups whose copies all stay by the rules, each once, and a scan hides them."""
    done = cli("mark", report, "--protect", "top", "--protect-name", "t?o", "--accept", "wanted.txt")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"2 groups added: `dedupe scan --accept wanted.txt`" in done.stderr
    (tmp_path / "wanted.txt").unlink()
    assert cli("mark", report, "--protect-name", "t?o", "--accept", "wanted.txt").returncode == 0
    first = (tmp_path / "wanted.txt").read_text(encoding="utf-8")
    assert (first.startswith("sha256:"), first.count("\n"), "too" in first) == (True, 1, True)
    hidden = cli("scan", "top", "--no-cache", "--accept", "wanted.txt", "--format", "paths").stdout.decode()
    assert ("one" in hidden, "two" in hidden) == (True, False)
    with (tmp_path / "wanted.txt").open("a", encoding="utf-8") as file:
        file.write("# mine, without an end of line")
    again = cli("mark", report, "--accept", "wanted.txt")
    assert (again.returncode, b"1 group added" in again.stderr) == (0, True)
    nothing = cli("scan", "top", "--no-cache", "--accept", "wanted.txt", "--format", "paths")
    assert (nothing.returncode, nothing.stdout) == (0, b"")
    assert cli("mark", report, "--accept", "wanted.txt").returncode == 1


def test_only_a_list_is_added_to(cli: Run, report: Path, tmp_path: Path) -> None:
    """Another file stays as it is, and says why; groups without digests are told."""
    before = report.read_bytes()
    refused = cli("mark", report, "--accept", "r.json")
    assert (refused.returncode, report.read_bytes()) == (2, before)
    assert b"The list r.json has no digest in line 1" in refused.stderr
    assert cli("scan", "top", "--no-cache", "--confirm", "bytes", "--output", "b.json").returncode == 0
    bare = cli("mark", "b.json", "--accept", "new.txt")
    assert bare.returncode == 1
    assert b"2 groups without a digest left out" in bare.stderr


@not_on_windows("devices and pipes")
def test_what_is_no_file_is_written_to_and_stays(cli: Run, report: Path, tmp_path: Path) -> None:
    """A device or pipe gets the marks, and is never replaced by a file; a folder is refused."""
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
        assert cli("mark", report, "--then", "newest", "--output", "pipe").returncode == 0
        assert json.loads(reader.communicate()[0])["schema"] == "dedupe-marks/1"
    assert (tmp_path / "pipe").is_fifo()
    assert cli("mark", report, "--then", "newest", "--output", "/dev/null").returncode == 0
    assert Path("/dev/null").is_char_device()
    assert json.loads(cli("mark", report, "--then", "newest", "--output", "/dev/stdout").stdout)["groups"]
    refused = cli("mark", report, "--then", "newest", "--output", "top")
    assert (refused.returncode, refused.stderr.count(b"\n")) == (1, 1)


def test_accept_and_marks_are_not_written_at_once(cli: Run, report: Path) -> None:
    """One run writes one thing, to a name that is none or to standard output."""
    assert cli("mark", report, "--accept", "-").stdout.count(b"sha256:") == 2
    for arguments in (("--accept", "f", "--output", "m.json"), ("--accept", ""), ("--then", "newest", "--output", "")):
        refused = cli("mark", report, *arguments)
        assert (refused.returncode, refused.stderr.count(b"\n")) == (2, 1), arguments
