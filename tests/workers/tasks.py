"""Tasks that do to their process what a test asks for, and what tests of workers ask of the system."""

from __future__ import annotations

import mmap
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from dedupe.workers import counters
from dedupe.workers.pool import Pool
from tests.conftest import write

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and fork")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
forks = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # pytest-xdist has threads


@dataclass(frozen=True)
class Task:
    """Squares numbers, and does to its process what a test asks for."""

    deed: Callable[[int, bool], object] | None = None
    may_mmap: bool = False

    def with_maps(self) -> Task:
        """Return one that may map."""
        return replace(self, may_mmap=True)

    def __call__(self, batch: int) -> tuple[int, bool, int]:
        """Return the square, whether maps were allowed, and who did it."""
        if self.deed is not None:
            self.deed(batch, self.may_mmap)
        counters.advance(batch)
        return batch * batch, self.may_mmap, os.getpid()

    def lost(self, batch: int) -> tuple[int, bool, int]:
        """Return what stands for a batch whose workers died twice."""
        return -batch, False, 0


def die_at_7_mapped(batch: int, may_mmap: bool) -> None:  # noqa: FBT001
    """Be killed over one batch, but only where maps are allowed."""
    if batch == 7 and may_mmap:
        os.kill(os.getpid(), signal.SIGKILL)


def die_at_7(batch: int, _: bool) -> None:  # noqa: FBT001
    """Be killed over one batch each time."""
    if batch == 7:
        os.kill(os.getpid(), signal.SIGKILL)


def truncate_under_a_map(batch: int, may_mmap: bool) -> None:  # noqa: FBT001
    """Read a mapped file that has been cut off, which raises SIGBUS."""
    if batch == 7 and may_mmap:
        with tempfile.TemporaryFile() as file:
            file.write(bytes(8192))
            file.flush()
            view = mmap.mmap(file.fileno(), 8192, access=mmap.ACCESS_READ)
            os.ftruncate(file.fileno(), 0)
            view[5000]


def sleep_long(_: int, __: bool) -> None:  # noqa: FBT001
    """Do what a read from a lost server does."""
    time.sleep(60)


def alive() -> set[int]:
    """Return the workers that run or wait to be buried: this process's children, or its forkserver's."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        parent = int(stat.rpartition(")")[2].split()[1])
        of_ours = parent in (os.getpid(), _forkserver()) and int(pid) != _forkserver()
        if of_ours and b"resource_tracker" not in command:
            found.add(int(pid))
    return found


def _forkserver() -> int | None:
    from multiprocessing import forkserver

    return forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined,no-any-return]


def wait_for(condition: Callable[[], object], seconds: float = 5) -> bool:
    """Wait until a condition holds, and return whether it did."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def results(workers: Pool, task: Task, batches: Iterator[int] | range) -> dict[int, int]:
    """Return what came back for each batch, each exactly once."""
    found: dict[int, int] = {}
    for batch, (value, _, _) in workers.run(task, batches):
        assert batch not in found
        found[batch] = value
    return found


def tree(folder: Path) -> Path:
    """Make a tree in which everything is found by every phase."""
    for n in range(40):
        write(folder / str(n % 7) / f"{n}.bin", bytes([n % 5]) * (500 + n % 3 * 3000))
    return folder


@dataclass(frozen=True)
class UntilWithdrawn:
    """Goes on until a ticket is withdrawn, for so many seconds at most, and returns whether it was."""

    def __call__(self, batch: tuple[int, float]) -> bool:
        """Wait for it."""
        ticket, seconds = batch
        return wait_for(lambda: counters.is_withdrawn(ticket), seconds)

    def lost(self, _: tuple[int, float]) -> bool:
        """Return what cannot have been withdrawn."""
        return False
