"""Measuring one run: what a program and all its processes really used, and a machine left as it was found."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.benchmarks.machine import describe
from tests.benchmarks.measure import Measurer, Run, RunError, descendants, read_ahead, read_ahead_control

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the benchmarks read /proc")


@pytest.fixture
def measurer(tmp_path: Path) -> Measurer:
    """Return a measurer with a scratch folder of its own."""
    return Measurer(str(tmp_path), timeout_s=60)


def python(measurer: Measurer, code: str) -> Run:
    """Measure a Python program."""
    return measurer.run([sys.executable, "-I", "-S", "-c", code])


def test_wall_time_is_the_program_s(measurer: Measurer) -> None:
    """The clock runs from the program's start to its end, without the launcher."""
    run = measurer.run(["/bin/sleep", "0.3"])
    assert 0.3 <= run.wall_s < 3
    assert run.cpu_s < 0.2


def test_cpu_time_of_orphans_counts(measurer: Measurer) -> None:
    """Workers that outlive their parent, as those of a fork server do, are waited for and counted."""
    burn = "import os, time\nif os.fork() == 0:\n    while time.process_time() < 0.4: pass"
    run = python(measurer, burn)
    assert run.cpu_s >= 0.4


def test_peak_memory_is_the_largest_process_s(measurer: Measurer) -> None:
    """A child's 64 MiB count, and a program smaller than the launcher is told by the floor."""
    grow = "import os\nif os.fork() == 0:\n    bytearray(64 << 20)\nelse:\n    os.wait()"
    assert 64 << 10 < python(measurer, grow).peak_kib < 128 << 10
    tiny = measurer.run(["/bin/true"])
    assert tiny.peak_kib <= tiny.floor_kib < 32 << 10


def test_sampled_memory_is_the_whole_tree_s(tmp_path: Path) -> None:
    """What each process has of its own adds up; what they share counts once."""
    grow = (
        "import os, time\n"
        "shared = bytearray(b'x') * (64 << 20)\n"
        "children = [os.fork() for _ in range(2)]\n"
        "own = bytearray(b'y') * (32 << 20)\n"
        "time.sleep(1.5)\n"
    )
    run = python(Measurer(str(tmp_path), sample_memory=True), grow)
    assert run.pss_kib is not None
    # two forks in a row make four processes: 64 MiB together and 32 each
    assert 190 << 10 < run.pss_kib < 260 << 10


def test_a_program_that_hangs_is_stopped(tmp_path: Path) -> None:
    """After the time limit the program and its children are gone, and the row says so."""
    start, before = time.monotonic(), descendants(os.getpid())
    with pytest.raises(RunError, match=r"stopped after 0\.5 s"):
        Measurer(str(tmp_path), timeout_s=0.5).run(["/bin/sh", "-c", "sleep 60; true"])
    assert time.monotonic() - start < 20
    assert descendants(os.getpid()) == before


def test_caches_of_the_user_are_out_of_reach(measurer: Measurer, tmp_path: Path) -> None:
    """Programs that keep to the XDG folders leave their caches in the scratch folder."""
    measurer.run(["/bin/sh", "-c", 'echo "$XDG_CACHE_HOME $XDG_CONFIG_HOME"'])
    assert (tmp_path / "stdout").read_text().split() == [str(tmp_path)] * 2


def test_read_ahead_is_put_back(tmp_path: Path) -> None:
    """The old value returns even where the measurement breaks off; without a wish nothing is written."""
    control = tmp_path / "read_ahead_kb"
    control.write_text("4096\n")

    def measure() -> None:
        with read_ahead(str(control), 128) as kib:
            assert (kib, control.read_text()) == (128, "128")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure()
    assert control.read_text() == "4096"
    control.chmod(0o400)
    with read_ahead(str(control), None) as kib:
        assert kib == 4096


def test_read_ahead_is_put_back_when_terminated(tmp_path: Path) -> None:
    """SIGTERM ends a measurement as an interrupt does: the old value returns first."""
    control = tmp_path / "read_ahead_kb"
    control.write_text("4096\n")

    def measure() -> None:
        with read_ahead(str(control), 128):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(10)

    with pytest.raises(SystemExit) as ended:
        measure()
    assert ended.value.code == 143
    assert control.read_text() == "4096"


def test_read_ahead_without_a_device(tmp_path: Path) -> None:
    """Memory file systems have no read-ahead: that is unknown, and a wish for it is refused."""
    assert read_ahead_control("/proc") is None
    with read_ahead(None, None) as kib:
        assert kib is None
    with pytest.raises(RunError, match="no block device"), read_ahead(None, 128):
        pass


def test_the_machine_is_described(tmp_path: Path) -> None:
    """Date, processor, memory, kernel, Python, file system and load all have a value."""
    about = describe(str(tmp_path))
    assert list(about) == [
        "date",
        "processor",
        "flags",
        "memory",
        "system",
        "Python",
        "file system",
        "load at the start",
    ]
    assert all(about.values())
