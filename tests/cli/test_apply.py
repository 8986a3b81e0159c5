"""`dedupe apply`: the real program: what it asks, tells and refuses, and its exit codes."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.actions.common import ON_LINUX, snapshot
from tests.cases.common import SIGNALS, not_on_windows
from tests.cases.conftest import program as program  # noqa: PLC0414 - a fixture
from tests.cli.test_mark import Run
from tests.cli.test_mark import report as report  # noqa: PLC0414 - a fixture
from tests.conftest import write

pytestmark = ON_LINUX
RULES = ("--prefer", "top/a", "--then", "newest")


def test_two_commands_from_nothing_to_a_clean_disk(cli: Run, report: Path, tmp_path: Path) -> None:
    """The summary, what was done, how it is undone; and undo."""
    before = snapshot(tmp_path / "top")
    done = cli("apply", report, *RULES, "--move-to", "away", "--yes")
    told = done.stderr.decode()
    assert done.returncode == 0, told
    assert "2 files, 5.6 KiB, would be moved to away:" in told
    assert told.count("stays: ") == 2
    assert "would become free once that folder is removed" in told
    assert "2 names moved" in told
    assert f"They lie in {tmp_path / 'away'}." in told
    assert (tmp_path / "away/top/b/one").exists()
    run = re.search("dedupe undo (\\w{8})", told)
    assert run is not None
    assert cli("undo", run[1]).returncode == 0
    assert snapshot(tmp_path / "top") == before


def test_marks_through_a_pipe(cli: Run, report: Path, tmp_path: Path) -> None:
    """`mark ... | apply -` works, and needs --yes."""
    marks = cli("mark", report, *RULES).stdout
    asked = cli("apply", "-", "--delete", input=marks)
    assert (asked.returncode, b"--yes" in asked.stderr) == (2, True)
    assert cli("apply", "-", "--delete", "--yes", input=marks).returncode == 0
    assert not (tmp_path / "top/b/one").exists()


@not_on_windows("there are no pseudo-terminals")
@pytest.mark.parametrize(("answer", "code"), [(b"yes\n", 0), (b"y\n", 1), (b"\n", 1)])
def test_a_terminal_is_asked(report: Path, tmp_path: Path, answer: bytes, code: int) -> None:
    """Only the whole word does it."""
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "dedupe", "apply", report, *RULES, "--delete"]
    with subprocess.Popen(command, stdin=theirs, stderr=subprocess.PIPE, cwd=tmp_path) as process:
        os.write(ours, answer)
        assert process.stderr is not None
        told = process.stderr.read()
    os.close(ours)
    os.close(theirs)
    assert b"Type yes to go on: " in told
    assert process.returncode == code
    assert (tmp_path / "top/b/one").exists() == bool(code)


def test_a_dry_run_asks_nothing_and_changes_nothing(cli: Run, report: Path, tmp_path: Path) -> None:
    """It is the same code up to the journal."""
    before = snapshot(tmp_path)
    done = cli("apply", report, *RULES, "--delete", "--dry-run")
    assert (done.returncode, b"2 names would be removed" in done.stderr) == (0, True)
    assert snapshot(tmp_path) == before
    assert b"Nothing was done yet" in cli("journal").stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--yes",), b"Say what is to be done, by one of --trash"),
        (("--delete", "--trash", "--yes"), b"Say what is to be done"),
        (("--delete",), b"Nobody can be asked here"),
        (("--move-to", "", "--yes"), b"names no folder"),
        (("--move-to", "top", "--yes"), b"is one of the folders that were scanned"),
        (("--delete", "--copies", "0", "--yes"), b"0"),
        (("--delete", "--also", "everything", "--yes"), b"everything"),
    ],
)
def test_wrong_usage(cli: Run, report: Path, options: tuple[str, ...], words: bytes) -> None:
    """Exit 2, with what to do, and nothing is done."""
    done = cli("apply", report, *RULES, *options)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert b"Traceback" not in done.stderr


def test_exit_codes(cli: Run, report: Path, tmp_path: Path) -> None:
    """3 if some were refused, 1 if nothing was done, 0 if all was done before."""
    cli("mark", report, *RULES, "--output", "m.json")
    (tmp_path / "top/b/one").write_bytes(b"ONE" * 1000)
    done = cli("apply", "m.json", "--delete", "--yes")
    assert done.returncode == 3
    assert b"Refused: 1 name." in done.stderr
    assert b"differs from the copy that stays" in done.stderr
    assert cli("apply", "m.json", "--delete", "--yes").returncode == 3
    cli("undo")
    write(tmp_path / "top/a/one", b"two!" * 750)
    (tmp_path / "top/b/too").unlink()
    (tmp_path / "top/b/two").unlink()
    assert cli("apply", "m.json", "--delete", "--yes", "--verbose").returncode in (1, 3)


def test_marks_with_rules_are_refused(cli: Run, report: Path) -> None:
    """Rules are for a report."""
    cli("mark", report, *RULES, "--output", "m.json")
    assert b"rules are for a report" in cli("apply", "m.json", *RULES, "--delete", "--yes").stderr


def test_broken_marks_are_one_sentence(cli: Run, tmp_path: Path) -> None:
    """No traceback for bad input."""
    write(tmp_path / "m.json", b'{"schema": "dedupe-marks/1", "groups": 7}')
    done = cli("apply", "m.json", "--delete", "--yes")
    assert done.returncode == 2
    assert done.stderr.startswith(b"dedupe: The marks m.json cannot be acted on: ")
    assert done.stderr.count(b"\n") == 1


@not_on_windows(SIGNALS)
def test_an_interrupt_ends_between_two_files(
    cli: Run, tmp_path: Path, program: Callable[..., subprocess.Popen[bytes]]
) -> None:
    """Exit 130; what was done is told and can be undone."""
    for group in range(300):
        for name in "ab":
            write(tmp_path / f"top/{name}/{group}", group.to_bytes(4, "big") * 5000)
    assert cli("scan", "top", "--no-cache", "--output", "r.json").returncode == 0
    before = snapshot(tmp_path / "top")
    process = program("apply", "r.json", "--prefer", "top/a", "--delete", "--yes", "--no-progress")
    while process.poll() is None and len(list((tmp_path / "top/b").iterdir())) == 300:
        pass
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=60)[1]
    assert process.returncode in (0, 130), told
    assert not list((tmp_path / "top").rglob(".dedupe-*"))
    assert cli("undo").returncode == 0
    assert snapshot(tmp_path / "top") == before


def test_what_is_set_aside_is_a_problem_of_a_scan(cli: Run, tmp_path: Path) -> None:
    """It is never grouped, and the way to settle it is named."""
    for name in ("a", "b", ".dedupe-tpfh3a9i-1", ".dedupe-notes"):
        write(tmp_path / "top" / name, b"same")
    done = cli("scan", "top", "--no-cache", "--format", "paths")
    assert done.returncode == 3
    assert b".dedupe-tpfh3a9i-1" not in done.stdout
    assert b".dedupe-notes" in done.stdout
    assert b"set aside by a run that was cut off: `dedupe undo` puts it back" in done.stderr


def test_a_report_and_rules_go_to_the_trash_at_once(cli: Run, report: Path, tmp_path: Path) -> None:
    """Two commands from nothing to a clean disk, the safe way; the journal knows the report and the rules."""
    before = snapshot(tmp_path / "top")
    done = cli("apply", report, *RULES, "--trash", "--yes")
    assert done.returncode == 0, done.stderr
    (path,) = (Path(os.environ["XDG_STATE_HOME"]) / "dedupe/journal").glob("*.jsonl")
    head = json.loads(path.read_bytes().splitlines()[0])
    assert head["marks_sha256"] == hashlib.sha256(report.read_bytes()).hexdigest()
    assert head["options"]["rules"] == [["prefer", str(tmp_path / "top/a")], ["then", "newest"]]
    assert cli("undo").returncode == 0
    assert snapshot(tmp_path / "top") == before


@not_on_windows("there is another shell")
def test_mark_and_apply_in_one_pipe(report: Path, tmp_path: Path) -> None:
    """As a user types it, with standard output named or not."""
    python = shlex.join([sys.executable, "-m", "dedupe"])
    for output in ("--output -", ""):
        line = f"{python} mark r.json --prefer top/a {output} | {python} apply - --trash --yes"
        done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert b"1 name put into the trash" in done.stderr
        assert not (tmp_path / "top/b/one").exists()
        subprocess.run([sys.executable, "-m", "dedupe", "undo"], cwd=tmp_path, capture_output=True, check=True)


def test_what_is_undecided_is_counted_at_the_end(cli: Run, report: Path, tmp_path: Path) -> None:
    """Ties leave all copies; where there is nothing else the exit code is 1, from marks too."""
    done = cli("apply", report, "--prefer", "top/a", "--delete", "--yes")
    assert (done.returncode, done.stderr.decode().count("Undecided: 1 group, of which all copies stay.")) == (0, 1)
    cli("undo")
    cli("mark", report, "--then", "first-root", "--output", "m.json")
    for source in ((report, "--then", "first-root"), ("m.json",)):
        done = cli("apply", *source, "--delete", "--yes")
        assert (done.returncode, b"Undecided: 2 groups" in done.stderr) == (1, True)


def test_nobody_is_asked_where_nothing_is_to_be_done(cli: Run, report: Path, tmp_path: Path) -> None:
    """No terminal and no --yes are needed then, and no promise is made."""
    cli("mark", report, *RULES, "--output", "m.json")
    assert cli("apply", "m.json", "--delete", "--yes").returncode == 0
    again = cli("apply", "m.json", "--delete")
    assert (again.returncode, b"Already done: 2 names." in again.stderr) == (0, True)
    cli("undo")
    for name in ("a/one", "b/one", "b/two", "b/too"):
        (tmp_path / "top" / name).chmod(0o600 if name in ("a/one", "b/two") else 0o644)
    refused = cli("apply", "m.json", "--hardlink")
    assert (refused.returncode, b"Refused: 2 names." in refused.stderr) == (1, True)
    assert b"would become" not in refused.stderr


def test_the_summary_leaves_out_what_will_be_refused(cli: Run, report: Path, tmp_path: Path) -> None:
    """Before the question: how many files, and why."""
    (tmp_path / "top/b/one").chmod(0o600)
    told = cli("apply", report, *RULES, "--hardlink", "--dry-run").stderr.decode()
    assert "1 file, 2.6 KiB, would become further names" in told
    assert "Will be left alone: 1 file." in told
    assert "  1 x a hard link would lose its mode" in told


def test_the_help_says_what_it_asks_and_how_to_go_back(cli: Run) -> None:
    """And what each exit code means."""
    told = " ".join(cli("apply", "--help").stdout.decode().split())
    assert "asks for the word yes; `dedupe undo` takes it back" in told
    assert "2 wrong usage, or marks that are refused as a whole, or nobody to ask" in told


def test_rules_that_leave_nothing_say_so(cli: Run, report: Path, tmp_path: Path) -> None:
    """Where each copy has to stay by some rule, the user learns why nothing is asked."""
    done = cli("apply", report, "--protect", "top", "--then", "oldest", "--delete", "--yes")
    assert (done.returncode, b"the rules leave nothing redundant" in done.stderr) == (1, True)
