"""What is known of the insides of executors holds for each Python that this machine has."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

from dedupe.workers import executor_internals
from dedupe.workers.executor_internals import ExecutorInternals

PROGRAM = """
import runpy, sys
from concurrent.futures import ProcessPoolExecutor
Internals = runpy.run_path(sys.argv[1])["ExecutorInternals"]
if __name__ == "__main__":
    with ProcessPoolExecutor(2) as executor:
        executor.submit(abs, -1).result()
        found = Internals(executor)
        print(found.max_workers, any(p.is_alive() for p in found.processes), found.manager.is_alive())
    print(found.manager.is_alive(), any(p.is_alive() for p in found.processes))
    later = Internals(executor)
    print(list(later.processes), later.manager)
"""


def pythons() -> list[str]:
    """Return this Python and the others, from 3.11 on, that this machine has."""
    names = [shutil.which(f"python3.{minor}") for minor in range(11, 15)]
    pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    names += glob.glob(os.path.join(glob.escape(pyenv), "versions", "3.1[1-4]*", "bin", "python"))
    return [sys.executable, *(name for name in names if name and _starts(name))]


def _starts(python: str) -> bool:
    """Return whether a command runs at all: pyenv has some that only say that they cannot."""
    return not subprocess.run([python, "-c", "import _multiprocessing"], capture_output=True, check=False).returncode


def test_every_python_here_has_them_where_they_are_looked_for(tmp_path: Path) -> None:
    """Processes and the thread that buries them are found while they run, and outlive no shutdown."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    for python in pythons():
        command = [python, program, executor_internals.__file__]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        assert done.stdout.splitlines() == ["2 True True", "False False", "[] None"], python


def test_where_they_are_missing_nothing_is_found() -> None:
    """An executor of another make, or another Python's, has none of them, which is no error."""
    found = ExecutorInternals(Executor())
    assert (found.max_workers, list(found.processes), found.manager) == (None, [], None)


def test_threads_have_a_width_and_no_processes() -> None:
    """An executor of threads says how many there are at most."""
    with ThreadPoolExecutor(3) as threads:
        found = ExecutorInternals(threads)
    assert (found.max_workers, list(found.processes), found.manager) == (3, [], None)
