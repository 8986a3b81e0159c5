"""The line that says how far a run is: plain words, right at every width, one system of units, gone at the end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.cli.progress_line import STEPS, ProgressLine, State, sentence
from dedupe.find import find_duplicates
from tests.conftest import need, write

HALF = State("3 of 4", "confirm", 33 << 28, 40 << 30, in_bytes=True, rate=float(300 << 20))


@pytest.mark.parametrize(
    ("width", "told"),
    [
        (120, "3 of 4, comparing: 8.2 of 40.0 GiB, 300.0 MiB/s, 2 min left"),
        (80, "3 of 4, comparing: 8.2 of 40.0 GiB, 300.0 MiB/s, 2 min left"),
        (50, "3 of 4, comparing: 8.2 of 40.0 GiB, 2 min left"),
        (40, "comparing: 8.2 of 40.0 GiB, 2 min left"),
        (30, "comparing: 8.2 of 40.0 GiB"),
        (12, "comparing"),
        (4, "comp"),
    ],
)
def test_what_matters_least_goes_first_where_room_is_short(width: int, told: str) -> None:
    """First the speed, then the step, then the time that is left; the words last."""
    assert sentence(HALF, width) == told


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (State("1 of 3", "walk", 1_234_567, None, in_bytes=False, rate=9.0), "1 of 3, finding files: 1,234,567"),
        (State("2 of 3", "recall", 0, None, in_bytes=False), "2 of 3, asking the cache"),
        (State("2 of 3", "fingerprint", 12, 4000, in_bytes=False, rate=1.0), "2 of 3, sampling: 12 of 4,000 files, 1 h 6 min left"),  # noqa: E501
        (State("", "hash", 512, 900, in_bytes=True, rate=100.0), "reading: 512 of 900 bytes, 100 bytes/s, 4 s left"),
        (State("4 of 4", "write", 3 << 20, None, in_bytes=True), "4 of 4, writing reports: 3.0 MiB"),
        (State("", "confirm", 0, 5 << 40, in_bytes=True, rate=2.0**20), "comparing: 0.0 of 5.0 TiB, 1.0 MiB/s, 60 days left"),  # noqa: E501
        (State("", "chunks", 3, 80, in_bytes=False), "chunks: 3 of 80"),
    ],
)  # fmt: skip
def test_each_phase_says_what_it_does_and_counts(state: State, told: str) -> None:
    """In the units of the reports, with the time that is left where that can be known."""
    assert sentence(state, 200) == told


@given(
    st.builds(
        State,
        st.sampled_from(["", "2 of 4"]),
        st.sampled_from([*(phase for steps in STEPS.values() for step in steps for phase in step), "else"]),
        st.integers(0, 1 << 70),
        st.none() | st.integers(0, 1 << 70),
        st.booleans(),
        st.floats(0, 1e15),
    ),
    st.integers(1, 300),
)
def test_no_state_breaks_the_line(state: State, width: int) -> None:
    """Whatever the numbers are, it fits and says something."""
    assert 0 < len(sentence(state, width)) <= width


def test_what_is_read_twice_does_not_count_beyond_the_end() -> None:
    """A file that failed is read again."""
    line = ProgressLine()
    line.reach(1)
    line.begin("confirm", 100, in_bytes=True)
    line.reach(250)
    assert line._line is not None
    assert line._line.n == 100
    line.end()
    line.end()


def test_every_phase_of_a_scan_belongs_to_a_step() -> None:
    """Steps are counted for the whole run: what has none would make the number jump."""
    names = {name for step in STEPS["scan"] for name in step}
    source = Path(find_duplicates.__code__.co_filename).parent / "scan"
    used = {
        name
        for file in source.glob("*.py")
        for name in re.findall(r'\.phase\(\s*"([\w ]+)"', file.read_text(encoding="utf-8"))
    }
    assert used - {"hash"} == names


class Screen:
    """What a terminal of some width shows after what was written to it: one line at a time."""

    def __init__(self, written: str, columns: int) -> None:
        self.lines, self.seen, line, at = [""], set[str](), [" "] * columns, 0
        for part in re.split(r"(\r\n|\r|\n|\x1b\[K|\x1b\[A)", written):
            if part in ("\r\n", "\n"):
                self.lines.append("".join(line).rstrip())
                line, at = [" "] * columns, 0
            elif part == "\r":
                self.seen.add("".join(line).rstrip())
                at = 0
            elif part == "\x1b[K":
                line[at:] = [" "] * (columns - at)
            else:
                assert at + len(part) <= columns, "it wrapped"
                line[at : at + len(part)] = part
                at += len(part)
        self.last = "".join(line).rstrip()


def at_terminal(columns: int, command: list[str | Path], stop: signal.Signals) -> tuple[int, str]:
    """Run a command on a terminal, as its controlling one, and stop it; return its exit code and what it wrote."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def take_terminal() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    everything = os.environ | {"TERM": "xterm"}
    with subprocess.Popen(command, **streams, env=everything, preexec_fn=take_terminal) as running:  # noqa: PLW1509
        os.close(theirs)
        written, begun, stopped = b"", time.monotonic(), False
        try:
            while piece := os.read(ours, 4096):
                written += piece
                if not stopped and time.monotonic() - begun > 2.5 and b"comparing" in written:
                    stopped = True
                    os.write(ours, b"\x03") if stop == signal.SIGINT else os.killpg(running.pid, stop)
        except OSError:  # its end has been closed
            pass
    os.close(ours)
    return running.returncode, written.decode()


def _slow(folder: Path) -> list[str | Path]:
    """Return a scan that takes a while: two sparse files of which all is compared."""
    need(sys.platform != "win32", "a terminal as POSIX has it")
    for name in ("a", "b"):
        write(folder / "root" / name, b"")
        os.truncate(folder / "root" / name, 60 << 30)
    return [sys.executable, "-m", "dedupe", "scan", folder / "root", "--cache", folder / "c.db", "-j", "1"]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_ctrl_c_clears_the_line_and_says_how_to_go_on(tmp_path: Path, columns: int) -> None:
    """The line fits; neither a part of it nor the ^C of the terminal stays; what is kept is told."""
    code, written = at_terminal(columns, _slow(tmp_path), signal.SIGINT)
    before, _, told = written.partition("dedupe: interrupted")
    screen = Screen(before, columns)
    assert code == 130
    assert any(re.fullmatch(r"(3 of 3, )?comparing: [\d.]+ of 120.0 GiB.*", line) for line in screen.seen), screen.seen
    assert (screen.lines, screen.last) == ([""], "")
    assert told == "; what was read is kept: the same command goes on from there\r\n"


def test_without_a_cache_an_interruption_says_that_nothing_is_kept(tmp_path: Path) -> None:
    """It does not promise what is not so."""
    command = [*_slow(tmp_path)[:-4], "--no-cache", "-j", "1"]
    code, written = at_terminal(80, command, signal.SIGTERM)
    assert code == 130
    assert written.endswith("dedupe: interrupted; nothing is kept, as there is no cache\r\n")


def test_a_terminal_that_goes_away_ends_a_run_in_order(tmp_path: Path) -> None:
    """All of its processes are hung up at once: exit code 130, and nothing is left behind."""
    code, _ = at_terminal(80, [*_slow(tmp_path)[:-1], "2"], signal.SIGHUP)
    assert code == 130
    assert sorted(p.name for p in tmp_path.iterdir() if not p.name.startswith("c.db")) == ["root"]


def test_writing_reports_is_a_phase(tmp_path: Path) -> None:
    """It is among the times that --verbose tells, after the others."""
    write(tmp_path / "root/a", b"a")
    command = [sys.executable, "-m", "dedupe", "scan", tmp_path / "root", "--no-cache", "-v", "-o", tmp_path / "r.json"]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    phases = re.findall(r"^([a-z ]+?) +\d+\.\d{3} s", done.stderr, re.MULTILINE)
    assert phases[-2:] == ["write", "all"]


def test_workers_leave_a_hang_up_to_the_main_process(tmp_path: Path) -> None:
    """One that died of it would be taken for one that a broken file has killed."""
    need(sys.platform == "linux", "children are asked of /proc")
    with subprocess.Popen([*_slow(tmp_path)[:-1], "2"], stderr=subprocess.DEVNULL) as running:
        deadline, children = time.monotonic() + 20, ""
        while len(children.split()) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
            children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text(encoding="ascii")
        time.sleep(0.5)  # they have begun
        for child in children.split():
            os.kill(int(child), signal.SIGHUP)
        time.sleep(0.5)
        states = [
            Path(f"/proc/{child}/stat").read_text(encoding="utf-8").rpartition(") ")[2][0] for child in children.split()
        ]
        running.terminate()
        assert running.wait(20) == 130
    assert len(states) >= 2
    assert "Z" not in states
