"""Being stopped: Ctrl-C, SIGTERM and SIGKILL at any moment, what is kept, and that no worker stays behind."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cases.common import SIGNALS, find, found, not_on_windows, settle, sparse
from tests.conftest import need, slow, write


def _members(session: int) -> list[int]:
    """Return the live processes of a session."""
    need(os.path.exists("/proc/self/stat"), "Linux, to find the processes of a session")
    alive = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{name}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] not in "ZX":
            alive.append(int(name))
    return alive


def _gone(session: int, seconds: float = 2.0) -> bool:
    """Return whether all processes of a session end within some time."""
    end = time.monotonic() + seconds
    while _members(session):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of large sparse files that take many seconds to confirm, and of small ones."""
    top = tmp_path_factory.mktemp("many")
    for n in range(60):
        slow(top / f"large{n}", 1 << 30)
    for n in range(3500):
        write(top / f"s{n % 50}/{n}", b"%d" % (n % 40) * 3000)
    return top


def _start(program: Any, top: Path, cache: Path, jobs: int) -> subprocess.Popen[bytes]:
    """Start a scan of many files, and return once it has opened its cache."""
    for end in ("", "-wal", "-shm"):
        Path(f"{cache}{end}").unlink(missing_ok=True)
    process: subprocess.Popen[bytes] = program("scan", top, "--cache", cache, "--jobs", str(jobs))
    while not Path(f"{cache}-shm").exists():
        assert process.poll() is None
        time.sleep(0.005)
    return process


_MOMENTS = [0.0, *(random.Random(7).uniform(0.0, 1.4) for _ in range(5))]
_SOON = 5.0  # seconds: one on a machine with nothing else to do; the exit code tells that it did not end by itself


@not_on_windows(SIGNALS)
@pytest.mark.parametrize("jobs", [1, 2, 4])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_b69_stopped_within_a_second(many: Path, tmp_path: Path, program: Any, name: str, jobs: int) -> None:
    """Ctrl-C or SIGTERM at any moment ends the program within a second, with exit code 130 and one sentence."""
    for moment in _MOMENTS[:: 1 if jobs == 2 else 3]:
        process = _start(program, many, tmp_path / "c.db", jobs)
        time.sleep(moment)
        begun = time.monotonic()
        process.send_signal(getattr(signal, name))
        _, err = process.communicate(timeout=20)
        assert time.monotonic() - begun < _SOON
        assert (process.returncode, err.count(b"\n")) == (130, 1)
        assert b"interrupted" in err
        assert _gone(process.pid)


@not_on_windows(SIGNALS)
@pytest.mark.parametrize("jobs", [2, 4])
def test_b69_ctrl_c_reaches_the_whole_group(many: Path, tmp_path: Path, program: Any, jobs: int) -> None:
    """A terminal's Ctrl-C, which goes to the workers too, ends all in the same way."""
    for moment in _MOMENTS[:3]:
        process = _start(program, many, tmp_path / "c.db", jobs)
        time.sleep(moment)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=20)
        assert (process.returncode, err.count(b"\n")) == (130, 1), err
        assert _gone(process.pid)


@not_on_windows(SIGNALS)
def test_b69_a_second_ctrl_c(many: Path, tmp_path: Path, program: Any) -> None:
    """Ctrl-C again and again ends the program no later, without a traceback."""
    process = _start(program, many, tmp_path / "c.db", 2)
    time.sleep(0.8)
    for _ in range(20):
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    _, err = process.communicate(timeout=5)
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert _gone(process.pid)


@not_on_windows(SIGNALS)
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_b69_stopped_while_it_starts(tmp_path: Path, program: Any, name: str) -> None:
    """Being stopped in the first moments, while Python still loads the program, leaves no traceback."""
    write(tmp_path / "d/f", b"x")
    for moment in (0.06, 0.12, 0.18, 0.24, 0.3):
        process = program("scan", tmp_path / "d", "--cache", tmp_path / "c.db")
        time.sleep(moment)
        process.send_signal(getattr(signal, name))
        _, err = process.communicate(timeout=20)
        assert process.returncode in (0, 130, -signal.SIGINT, -getattr(signal, name))
        assert b"Aborted" not in err
        if process.returncode in (0, 130):  # otherwise Python was still starting, or loading the program
            assert b"Traceback" not in err
        assert _gone(process.pid)


@not_on_windows("the workers are looked for in /proc; test_windows_cases.py asks Windows for them")
@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_b94_no_worker_outlives_a_killed_program(many: Path, tmp_path: Path, program: Any, jobs: int) -> None:
    """Two seconds after a SIGKILL of the main process none of its workers is left, and the cache opens again."""
    cache = tmp_path / "c.db"
    for moment in _MOMENTS[:3]:
        process = _start(program, many, cache, jobs)
        time.sleep(moment)
        process.kill()
        process.communicate(timeout=5)
        assert _gone(process.pid)
    small = many / "s1"
    result = find(small, cache=cache)
    assert len(result.groups) > 0
    assert not result.notes


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("SIGINT", marks=not_on_windows(SIGNALS)),
        "SIGTERM",  # on Windows this is a kill
        pytest.param("SIGKILL", marks=not_on_windows(SIGNALS)),
    ],
)
@pytest.mark.parametrize("jobs", [1, 2])
def test_b94_what_was_learnt_is_kept(tmp_path: Path, program: Any, name: str, jobs: int) -> None:
    """A scan that was stopped on its way leaves its digests: the next one reads what is left only."""
    top, cache = tmp_path / "d", tmp_path / "c.db"
    for n in range(8):
        for k in "ab":
            sparse(top / f"{n}{k}", (80 << 20) + n)
    settle()
    process = program("scan", top, "--cache", cache, "--jobs", str(jobs))
    end = time.monotonic() + 30
    while _digests(cache) < 4 and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.2)
    process.send_signal(getattr(signal, name))
    process.communicate(timeout=20)
    kept = _digests(cache)
    assert kept >= 4
    result = find(top, cache=cache, jobs=2)
    assert found(result, top) == {frozenset({f"{n}a", f"{n}b"}) for n in range(8)}
    assert result.totals.bytes_read <= (16 - kept) * (81 << 20)


def _digests(cache: Path) -> int:
    """Return how many digests a cache holds that another process may be writing."""
    if not cache.exists():
        return 0
    database = sqlite3.connect(cache, timeout=5)
    try:
        return int(database.execute("SELECT count(digest) FROM files").fetchone()[0])
    except sqlite3.OperationalError:  # not made yet
        return 0
    finally:
        database.close()


@not_on_windows(SIGNALS)
def test_b69_the_library_gives_the_interrupt_back(many: Path) -> None:
    """The library lets KeyboardInterrupt through once its workers have ended."""
    code = (
        "import sys, multiprocessing, dedupe\n"
        "try:\n"
        f"    dedupe.find_duplicates(dedupe.ScanConfig(roots=[{os.fspath(many)!r}], jobs=4))\n"
        "except KeyboardInterrupt:\n"
        "    print(len(multiprocessing.active_children()))\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, start_new_session=True
    ) as process:
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (out.strip(), err) == (b"0", b"")
    assert _gone(process.pid)


@not_on_windows(SIGNALS)
def test_b69_an_ignored_ctrl_c_stays_ignored(many: Path, tmp_path: Path, program: Any) -> None:
    """A scan that was started to ignore Ctrl-C, as shells do for work in the background, goes on."""
    process = program(
        "scan",
        many / "s1",
        "--cache",
        tmp_path / "c.db",
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    for _ in range(20):
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    process.communicate(timeout=30)
    assert process.returncode == 0
