"""Standard input and output that are closed, full or otherwise broken, by the real program in a real shell."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import need, write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX closes and redirects the streams")

_IN = ("hash --no-cache -", "hash --no-cache --check -", "scan d --no-cache --files-from -")
_OUT = (
    "--version",
    "--help",
    "scan --help",
    "scan d --no-cache",
    "hash --no-cache d/a",
    "hash --no-cache --check sums",
    "report saved.json",
    "cache path --cache c.db",
    "cache clear --cache c.db",
    "bench --rounds 1 --size 1k --algorithm md5",
    "bench --compare old.json --compare old.json",
)


def shell(folder: Path, command: str) -> subprocess.CompletedProcess[bytes]:
    """Run `dedupe` with arguments and redirections as a shell sees them."""
    need(os.path.exists("/bin/bash"), "bash")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    script = f'"$0" -m dedupe {command}'
    return subprocess.run(
        ["/bin/bash", "-c", script, sys.executable], capture_output=True, cwd=folder, env=env, check=False, timeout=60
    )


def assert_one_sentence(done: subprocess.CompletedProcess[bytes], about: bytes) -> None:
    """Fail unless a command ended with 1, no result, and one sentence on standard error."""
    assert done.returncode == 1, done
    assert done.stdout == b""
    assert done.stderr.startswith(b"dedupe: ")
    assert done.stderr.count(b"\n") == 1
    assert about in done.stderr.lower()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two equal files, a list of checksums, a report and a record of the laboratory."""
    for name in ("d/a", "d/b"):
        write(tmp_path / name, b"same")
    write(tmp_path / "sums", hashlib.sha256(b"same").hexdigest().encode() + b"  d/a\n")
    for command in (
        "scan d --cache c.db --output saved.json",
        "bench --rounds 1 --size 1k --algorithm md5 --json old.json >/dev/null",
    ):
        assert shell(tmp_path, command).returncode == 0
    return tmp_path


@pytest.mark.parametrize("redirection", ["<&-", "0>/dev/null"])
@pytest.mark.parametrize("command", _IN)
def test_input_that_cannot_be_read_is_not_empty_input(folder: Path, command: str, redirection: str) -> None:
    """A closed standard input, and one open for writing only, are errors wherever it is asked for."""
    assert_one_sentence(shell(folder, f"{command} {redirection}"), b"standard input cannot be read")


@pytest.mark.parametrize("command", _IN)
def test_input_that_is_a_folder_is_an_error(folder: Path, command: str) -> None:
    """Python itself refuses a folder as standard input: the command fails, and has no result."""
    done = shell(folder, f"{command} <.")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"directory" in done.stderr


def test_a_closed_input_that_nobody_asks_for_is_no_error(folder: Path) -> None:
    """Files are hashed, and their list checked, without a look at standard input."""
    assert shell(folder, "hash --no-cache d/a <&-").stdout == (folder / "sums").read_bytes()
    assert shell(folder, "hash --no-cache --check sums <&-").stdout == b"d/a: OK\n"


@pytest.mark.parametrize("redirection", [">&-", ">/dev/full", "1</dev/null"])
@pytest.mark.parametrize("command", _OUT)
def test_output_that_cannot_be_written_is_an_error(folder: Path, command: str, redirection: str) -> None:
    """Whatever prints a result says in one sentence that nobody got it."""
    need(os.path.exists("/dev/full"), "/dev/full")
    assert_one_sentence(shell(folder, f"{command} {redirection}"), b"standard output")


def test_a_closed_output_is_refused_before_the_work(folder: Path) -> None:
    """No cache is made by a scan or by hashing whose result could go nowhere; with a report file it can."""
    for command in ("scan d --cache new.db", "hash --cache new.db d/a"):
        assert shell(folder, f"{command} >&-").returncode == 1
        assert not (folder / "new.db").exists()
    assert shell(folder, "scan d --cache new.db --output r.csv >&-").returncode == 0
    assert (folder / "r.csv").read_bytes().count(b"\n") == 3


def test_input_that_pauses_has_not_ended(folder: Path) -> None:
    """A pipe that does not wait, as some programs leave it behind, is read to its end all the same."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    env: dict[str, Any] = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "dedupe", "hash", "--no-cache", "-"]
    with subprocess.Popen(command, stdin=reading, stdout=subprocess.PIPE, cwd=folder, env=env) as process:
        os.close(reading)
        for piece in (b"a", b"b", b"c"):
            time.sleep(0.4)  # the program has started and found nothing, then something, then nothing again
            os.write(writing, piece)
        os.close(writing)
        assert process.communicate(timeout=60)[0] == hashlib.sha256(b"abc").hexdigest().encode() + b"  -\n"


def test_input_is_read_once(folder: Path) -> None:
    """A second reading would find nothing, and take that for the content."""
    for command, code in (("hash --no-cache - -", 2), ("hash --no-cache --check - --check -", 2)):
        done = shell(folder, f"{command} <sums")
        assert (done.returncode, done.stdout) == (code, b"")
        assert b"named twice" in done.stderr
    write(folder / "lists_itself", hashlib.sha256(b"").hexdigest().encode() + b"  -\n")
    assert_one_sentence(shell(folder, "hash --no-cache --check - <lists_itself"), b"standard input")


def test_no_file_gets_the_number_of_a_closed_stream(folder: Path) -> None:
    """What a library writes to standard error must not land in a report or a cache."""
    code = "import os; from dedupe.cli import console; console.prepare(); os._exit(os.open('new', os.O_CREAT))"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    script = '"$0" -c "$1" <&- >&- 2>&-'
    command = ["/bin/bash", "-c", script, sys.executable, code]
    assert subprocess.run(command, cwd=folder, env=env, check=False, timeout=60).returncode > 2
