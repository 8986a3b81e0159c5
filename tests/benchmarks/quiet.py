"""Whether a machine is quiet enough to measure on: the cores that one gets, and who else is busy.  Linux only."""

from __future__ import annotations

import os
import subprocess
import sys
import time

BUSY = 0.1  # of a core: what another program may take at most
_LOOK_S = 1.0
_SPIN = "import time\nwhile time.process_time() < 0.5: pass"


def cores_had() -> float:
    """Return CPU time over wall time of two processes that do nothing but count: 2 where they had two cores alone."""
    before, begun = os.times(), time.perf_counter()
    spinning = [subprocess.Popen([sys.executable, "-S", "-c", _SPIN]) for _ in range(2)]
    for process in spinning:
        process.wait()
    after, wall = os.times(), time.perf_counter() - begun
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return used / wall


def busy_programs(seconds: float = _LOOK_S) -> dict[str, float]:
    """Return the programs that take more than `BUSY` of a core, with how much, while this one sleeps.

    Processes of one name count together, as a build is many short ones; those that begin and end meanwhile are missed.
    """
    begun, before = time.perf_counter(), _cpu_times()
    time.sleep(seconds)
    after, wall = _cpu_times(), time.perf_counter() - begun
    taken: dict[str, float] = {}
    for number, (name, used) in after.items():
        if number != os.getpid():
            taken[name] = taken.get(name, 0.0) + (used - before.get(number, (name, 0.0))[1]) / wall
    return {name: share for name, share in sorted(taken.items(), key=lambda item: -item[1]) if share > BUSY}


def complaint() -> str:
    """Return a phrase that names who else is busy; empty where the machine is quiet."""
    return ", ".join(f"{name} takes {share:.2f} of a core" for name, share in busy_programs().items())


def _cpu_times() -> dict[int, tuple[str, float]]:
    """Return name and CPU seconds of each process (man 5 proc_pid_stat)."""
    found, tick = {}, os.sysconf("SC_CLK_TCK")
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                    before, _, rest = file.read().rpartition(")")
            except OSError:  # it has ended
                continue
            fields = rest.split()
            found[int(entry)] = before.partition("(")[2], (int(fields[11]) + int(fields[12])) / tick
    return found
