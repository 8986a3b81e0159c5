"""Run one command and write what it took to a file: `python -I -S launch.py RESULT COMMAND...`.

A process of its own, and a small one: a child's peak memory, as the kernel counts it, starts at its parent's size, so
that a large harness would be measured instead of a small tool.  It never looks at what the command prints.
"""

import ctypes
import os
import resource
import sys
import time

# prctl(2): orphans of the command become our children, so that workers which outlive their parent are counted too
PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """Write wall seconds, CPU seconds, peak KiB, our own peak KiB and the exit code of the command."""
    result, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    start = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ)
    _, status, _ = os.wait4(child, 0)
    wall = time.perf_counter() - start
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    figures = (wall, used.ru_utime + used.ru_stime, used.ru_maxrss, own_peak(), os.waitstatus_to_exitcode(status))
    with open(result, "w", encoding="ascii") as out:
        out.write(" ".join(map(str, figures)))


def own_peak() -> int:
    """Return the peak of this program alone in KiB; `getrusage` would give that of the harness that forked it."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main()
