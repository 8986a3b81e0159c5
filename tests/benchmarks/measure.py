"""Measures one run of a program: wall and CPU seconds, peak memory; and sets the page cache and the read-ahead.

It knows neither which programs there are nor what they should print.  Linux only.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LAUNCHER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launch.py")
SAMPLE_SECONDS = 0.02


class RunError(Exception):
    """A program could not be measured: it failed, or ran for too long."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one run took."""

    wall_s: float  # from the start of the program to the end of its first process
    cpu_s: float  # user and system time of the whole process tree
    peak_kib: int  # the largest resident set of any one process
    floor_kib: int  # a peak at or below this one is the launcher's, not the program's
    pss_kib: int | None  # the largest proportional set size of the whole tree, where it was sampled
    exit_code: int


@dataclass(frozen=True, slots=True)
class Measurer:
    """Runs programs in a scratch folder, which holds their output and every cache of theirs."""

    scratch: str
    timeout_s: float = 900.0
    accepted: tuple[int, ...] = (0,)
    sample_memory: bool = False

    def file(self, name: str) -> str:
        """Return the path of a file in the scratch folder."""
        return os.path.join(self.scratch, name)

    def run(self, command: Sequence[str]) -> Run:
        """Run the command to its end, output and errors in the scratch files `stdout` and `stderr`.

        Raises RunError for an exit code that is not accepted, and after the time limit, when the whole group is killed.
        """
        result = self.file("result")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(result)
        with open(self.file("stdout"), "wb") as out, open(self.file("stderr"), "wb") as err:
            launcher = subprocess.Popen(
                [sys.executable, "-I", "-S", LAUNCHER, result, *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=self.scratch,
                env=self.environment(),
                start_new_session=True,
            )
            pss_kib = self._wait(launcher)
        if not os.path.exists(result):
            raise RunError(f"not run: {self._last_words()}")
        with open(result, encoding="ascii") as text:
            wall, cpu, peak, floor, code = text.read().split()
        if int(code) not in self.accepted:
            raise RunError(f"exit {code}: {self._last_words()}")
        return Run(float(wall), float(cpu), int(peak), int(floor), pss_kib, int(code))

    def environment(self) -> dict[str, str]:
        """Return the programs' environment: caches and settings in the scratch folder, plain output."""
        homes = {f"XDG_{kind}_HOME": self.scratch for kind in ("CACHE", "CONFIG", "DATA")}
        return {**os.environ, **homes, "NO_COLOR": "1", "TERM": "dumb", "LC_ALL": "C.UTF-8"}

    def _wait(self, launcher: subprocess.Popen[bytes]) -> int | None:
        """Wait for the launcher, sampling its tree where asked, and return the largest sum seen."""
        peak, deadline = 0, time.monotonic() + self.timeout_s
        try:
            if not self.sample_memory:
                launcher.wait(self.timeout_s)
                return None
            while launcher.poll() is None:
                peak = max(peak, sum(map(pss_of, descendants(launcher.pid))))
                if time.monotonic() > deadline:
                    raise subprocess.TimeoutExpired(launcher.args, self.timeout_s)
                time.sleep(SAMPLE_SECONDS)
        except subprocess.TimeoutExpired:
            raise RunError(f"stopped after {self.timeout_s:g} s") from None
        finally:
            if launcher.poll() is None:
                os.killpg(launcher.pid, signal.SIGKILL)
                launcher.wait()
        return peak

    def _last_words(self) -> str:
        """Return the last line of standard error that says something."""
        with open(self.file("stderr"), encoding="utf-8", errors="replace") as text:
            lines = text.read().split("\n")
        return next((line.strip()[:200] for line in reversed(lines) if line.strip()), "no message")


def descendants(pid: int) -> list[int]:
    """Return the processes below `pid`, without itself."""
    children: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:
            # the name in brackets may itself hold brackets and spaces
            parent = int(stat.read().rpartition(b")")[2].split()[1])
            children.setdefault(parent, []).append(int(name))
    below = list(children.get(pid, []))
    for process in below:
        below.extend(children.get(process, []))
    return below


def pss_of(pid: int) -> int:
    """Return a process's proportional set size in KiB: shared pages count by the share; 0 when it is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup", "rb") as rollup:
        for line in rollup:
            if line.startswith(b"Pss:"):
                return int(line.split()[1])
    return 0


def drop_page_cache() -> None:
    """Write back and forget all cached file contents and names; needs root."""
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as control:
        control.write("3")


def read_ahead_control(folder: str) -> str | None:
    """Return the file that holds the read-ahead, in KiB, of the device below a folder; None where it has none."""
    device = os.stat(folder).st_dev
    numbers = f"{os.major(device)}:{os.minor(device)}"
    # a disk; a partition, whose queue is the disk's; a file system with a device number of its own
    block = f"/sys/dev/block/{numbers}"
    for path in (f"{block}/queue", f"{block}/../queue", f"/sys/class/bdi/{numbers}"):
        if os.path.exists(control := f"{path}/read_ahead_kb"):
            return os.path.realpath(control)
    return None


@contextlib.contextmanager
def read_ahead(control: str | None, kib: int | None) -> Iterator[int | None]:
    """Set the read-ahead for the length of a `with` block, yield what is in force, and put the old value back.

    Raises RunError where it cannot be set because there is nothing to set.
    """
    if control is None:
        if kib is not None:
            raise RunError("the corpora lie on no block device, so there is no read-ahead to set")
        yield None
        return
    with open(control, encoding="ascii") as text:
        before = int(text.read())
    if kib is None:
        yield before
        return
    # a plain SIGTERM would end us without a word, and leave the machine changed
    usual = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with open(control, "w", encoding="ascii") as out:
            out.write(str(kib))
        yield kib
    finally:
        signal.signal(signal.SIGTERM, usual)
        with open(control, "w", encoding="ascii") as out:
            out.write(str(before))
