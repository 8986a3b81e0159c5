"""Names of any bytes, logs and pipes: what the program writes and to whom."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dedupe.report import FORMATS
from tests.cases.common import not_on_windows, settle
from tests.conftest import need, write

_NAMES = (
    b"caf\xe9.bin",
    b"J\xe4rvi.bin",
    b"\xff\xfe",
    b"ok \xf0\x9f\x98\x80",
    b"new\nline",
    b"\x1b[31m",
    b"-rf",
    b"\xed\xb2\x80",
)


@pytest.fixture
def odd(tmp_path: Path) -> list[bytes]:
    """Make equal files with names that are no UTF-8, or worse, and return their paths, sorted."""
    if sys.platform == "win32":
        pytest.skip("Windows' names are Unicode")
    need(sys.platform == "linux", "a file system that takes any bytes as a name")
    top = os.fsencode(tmp_path / "d")
    os.mkdir(top)
    for name in _NAMES:
        with open(top + b"/" + name, "wb") as file:
            file.write(b"x" * 5000)
    return sorted(top + b"/" + name for name in _NAMES)


def _exact(entry: dict[str, Any]) -> bytes:
    """Return the exact path of an entry of a report."""
    if entry.get("path_base64"):
        return base64.b64decode(entry["path_base64"])
    return str(entry["path"]).encode()


@pytest.mark.parametrize(
    ("locale", "io_encoding"), [("C", ""), ("C.UTF-8", ""), ("C", "cp1252"), ("C.UTF-8", "ascii"), ("POSIX", "cp932")]
)
def test_b70_names_that_are_no_utf8(cli: Any, tmp_path: Path, odd: list[bytes], locale: str, io_encoding: str) -> None:
    """Names of any bytes survive the cache, the console in any encoding, and every report that is exact."""
    env = {"LC_ALL": locale, **({"PYTHONIOENCODING": io_encoding} if io_encoding else {})}
    for _ in range(2):
        done = cli("scan", tmp_path / "d", "--cache", tmp_path / "c.db", "--verbose", env=env)
        assert done.returncode == 0
        assert done.stdout.count(b"\n  ") == len(odd)
        assert b"\x1b" not in done.stdout
        assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_b70_every_format_takes_them(cli: Any, tmp_path: Path, odd: list[bytes], name: str) -> None:
    """Each report format takes names of any bytes; the machine's formats give them back exactly."""
    form = FORMATS[name]
    try:
        __import__(form.module)
    except ModuleNotFoundError:
        pytest.skip("this format is still to come")
    target = tmp_path / f"r{form.endings[0]}"
    done = cli("scan", tmp_path / "d", "--no-cache", "--output", target)
    assert done.returncode == 0, done.stderr
    data = target.read_bytes()
    if name == "json":
        paths = [_exact(f) for g in json.loads(data)["groups"] for f in g["files"]]
    elif name == "jsonl":
        lines = [json.loads(line) for line in data.splitlines()]
        paths = [_exact(f) for line in lines if line.get("type") == "group" for f in line["files"]]
    elif name == "csv":
        paths = [_exact(row) for row in csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))]
    elif name == "db":
        database = sqlite3.connect(target)
        paths = [
            _exact({"path": p, "path_base64": b}) for p, b in database.execute("SELECT path, path_base64 FROM files")
        ]
        database.close()
    else:
        assert data
        return
    assert sorted(paths) == odd


def test_b70_odd_names_everywhere(cli: Any, tmp_path: Path, odd: list[bytes]) -> None:
    """A root, a cache, a list and problems may all have names of any bytes, in JSON too."""
    top = os.fsencode(tmp_path)
    os.rename(top + b"/d", top + b"/d\xe9")
    with open(top + b"/list\xe9", "wb") as file:
        file.write(top + b"/d\xe9\0" + top + b"/gone\xe9\0")
    os.mkdir(top + b"/folder\xe9")
    options = ("--files-from", top + b"/list\xe9", "--null", "--format", "json")
    for cache in (b"/c\xe9.db", b"/folder\xe9"):
        done = cli("scan", *options, "--cache", top + cache)
        assert done.returncode == 3, done.stderr
        report = json.loads(done.stdout)
        assert len(report["groups"][0]["files"]) == len(odd)
        assert _exact(report["problems"][0]) == top + b"/gone\xe9"
    assert "is a folder" in report["notes"][0]
    assert cli("cache", "info", "--cache", top + b"/c\xe9.db").returncode == 0
    assert cli("cache", "info", "--cache", top + b"/no\xe9.db").returncode == 1


def _lines(printed: bytes) -> bytes:
    """Return what was printed with the same ends of lines on all systems."""
    return printed.replace(b"\r\n", b"\n") if sys.platform == "win32" else printed


def test_b81_no_progress_in_logs(cli: Any, tmp_path: Path) -> None:
    """Nothing but lines goes to standard output and standard error where they are no terminals."""
    for n in range(4):
        write(tmp_path / f"d/{n}", b"x" * (1 << 20))
    for options in ([], ["--progress"], ["--verbose"], ["--no-progress"]):
        done = cli("scan", tmp_path / "d", "--no-cache", *options)
        assert not {b"\r", b"\x1b"} & {bytes([c]) for c in _lines(done.stdout + done.stderr)}


@pytest.mark.parametrize(("env", "shown"), [({}, True), ({"CI": "1"}, False), ({"TERM": "dumb"}, False)])
def test_b81_progress_on_a_terminal_only(tmp_path: Path, env: dict[str, str], shown: bool) -> None:  # noqa: FBT001
    """Progress is drawn on a terminal, and neither in CI nor on a dumb terminal; the result has none of it."""
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    for n in range(2):
        with open(tmp_path / f"{n}", "wb") as file:
            file.truncate(300 << 20)
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **env}
    done = subprocess.run(
        [sys.executable, "-m", "dedupe", "scan", tmp_path, "--no-cache", "--confirm", "blake2b"],
        stdout=subprocess.PIPE, stderr=theirs, env=environment, check=True,
    )  # fmt: skip
    os.close(theirs)
    try:
        drawn = os.read(ours, 1 << 16)
    except OSError:  # nothing was written
        drawn = b""
    os.close(ours)
    assert (b"\r" in drawn.replace(b"\r\n", b"")) == shown
    assert b"\r" not in _lines(done.stdout)


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of many files at rest, since no other is remembered."""
    top = tmp_path_factory.mktemp("settled")
    for n in range(3000):
        write(top / f"{'long' * 20}{n}", b"%d" % (n // 2))
    settle()
    return top


@pytest.mark.parametrize(
    ("form", "unbuffered"), [("text", ""), ("text", "1"), ("csv", "1"), ("json", ""), ("paths", "1")]
)
def test_b82_broken_pipe(program: Any, settled: Path, tmp_path: Path, form: str, unbuffered: str) -> None:
    """A reader that leaves ends the program quietly, with what was learnt kept."""
    env = {"PYTHONUNBUFFERED": unbuffered} if unbuffered else {}
    process = program("scan", settled, "--cache", tmp_path / "c.db", "--format", form, env=env)
    process.stdout.read(10)
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert b"Traceback" not in err
    assert b"Exception ignored" not in err
    database = sqlite3.connect(tmp_path / "c.db")
    assert database.execute("SELECT count(*) FROM files").fetchone()[0] == 3000
    database.close()


@not_on_windows("a shell of POSIX closes and joins the streams")
@pytest.mark.parametrize(
    ("redirection", "code", "out"),
    [
        ("| true", 0, False),
        (">&-", 1, False),
        ("2>&-", 0, True),
        (">&- 2>&-", 1, False),
        ("<&-", 0, True),
        (">/dev/full", 1, False),
        ("2>/dev/full", 0, True),
        ("2> >(true)", 0, True),
    ],
)
def test_b82_streams_closed_or_full(tmp_path: Path, redirection: str, code: int, out: bool) -> None:  # noqa: FBT001
    """A closed, full or broken stream costs a sentence at most; a result that could not be written is no success."""
    need(os.path.exists("/bin/bash"), "bash")
    for n in range(2):
        write(tmp_path / f"d/{n}", b"same")
    script = f'"$0" -m dedupe scan d --no-cache --verbose --format csv {redirection}; exit ${{PIPESTATUS[0]}}'
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        ["/bin/bash", "-c", script, sys.executable], capture_output=True, cwd=tmp_path, env=env, check=False, timeout=30
    )
    assert done.returncode == code
    assert (done.stdout.count(b"\n") == 3) == out
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr
