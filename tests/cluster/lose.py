"""A program that scans with a cluster and kills a process in the midst of it.

python -m tests.cluster.lose PID AFTER ROOT ADDRESS [WORKER HERE]...: kills PID when progress was told AFTER times, and
prints a JSON report of the whole scan.
"""

from __future__ import annotations

import os
import signal
import sys

from dedupe import ScanConfig, find_duplicates
from dedupe.progress import Silent
from dedupe.report import FORMATS, Style
from tests.naive import LOW


class Killer(Silent):
    """Kills a process when progress was told so many times.

    Args:
        pid: of the process.
        after: how many times.
    """

    def __init__(self, pid: int, after: int) -> None:
        self._pid = pid
        self._left = after

    def reach(self, count: int) -> None:  # noqa: ARG002
        """Count this, and kill if it is time."""
        self._left -= 1
        if not self._left:
            os.kill(self._pid, signal.SIGKILL)


def main() -> None:
    """Scan, kill and print."""
    pid, after, root, address, *pairs = sys.argv[1:]
    worker_roots = list(zip(pairs[::2], pairs[1::2], strict=True))
    config = ScanConfig(roots=[root], cluster=address, worker_roots=worker_roots)
    result = find_duplicates(config, progress=Killer(int(pid), int(after)), tuning=LOW)
    for piece in FORMATS["json"].render(result, Style()):
        sys.stdout.buffer.write(piece)


if __name__ == "__main__":
    main()
