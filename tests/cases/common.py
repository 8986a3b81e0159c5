"""What the cases share: trees, scans by the library, what Windows lacks, and becoming an ordinary user."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from dedupe import Confirm, ScanConfig, ScanResult, find_duplicates
from tests.conftest import SETTLED, need

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
JOBS = (1, 2)
MODES = ("sha256", "sha512", "blake2b", "xxh3", "bytes")
_DROP_FROM_BOUNDING_SET = 24  # PR_CAPBSET_DROP of prctl(2)
_OVERRIDE, _READ_SEARCH = 1, 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


# why tests are left out on Windows
MODES_OF_POSIX = "Windows has no such modes, and as root Wine obeys no access rights"
LINKS = "making links needs a privilege there, and Wine before 10.19 says that it made one and makes none"
SIGNALS = "Windows cannot send this signal to one process"


def not_on_windows(reason: str) -> pytest.MarkDecorator:
    """Leave a test out on Windows, for a reason."""
    return pytest.mark.skipif(sys.platform == "win32", reason=reason)


def find(*roots: Path, confirm: str = "sha256", **options: Any) -> ScanResult:
    """Scan by the library, without a cache unless one is given."""
    return find_duplicates(ScanConfig(roots=roots, confirm=Confirm(confirm), **options))


def found(result: ScanResult, top: Path) -> set[frozenset[str]]:
    """Return the groups as sets of paths below `top`, with slashes on Windows too."""
    return {
        frozenset(os.path.relpath(os.fsdecode(f.path), top).replace(os.sep, "/") for f in g.files)
        for g in result.groups
    }


def kinds(result: ScanResult) -> dict[str, str]:
    """Return the kind of problem of each name."""
    return {os.path.basename(os.fsdecode(p.path)): str(p.kind) for p in result.problems}


def flipped(data: bytes, at: int) -> bytes:
    """Return `data` with one bit changed in the byte at `at`."""
    changed = bytearray(data)
    changed[at] ^= 1
    return bytes(changed)


def sparse(path: Path, size: int, *divergences: tuple[int, bytes]) -> Path:
    """Make a file of holes with some bytes at some places."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)
        for at, data in divergences:
            file.seek(at)
            file.write(data)
    return path


def dated(paths: Iterable[Path], ns: int) -> None:
    """Give files one time of modification."""
    for path in paths:
        os.utime(path, ns=(ns, ns))


def settle() -> None:
    """Wait until all files made so far count as at rest."""
    time.sleep(SETTLED)


def ordinary_user() -> Callable[[], None] | None:
    """Return what makes a new process obey permissions: root's right to pass them by is taken from it."""
    if not ROOT:
        return None
    libc = ctypes.CDLL(None)
    need(hasattr(libc, "prctl"), "Linux, to obey permissions as root")

    def drop() -> None:
        libc.prctl(_DROP_FROM_BOUNDING_SET, _OVERRIDE, 0, 0, 0)
        libc.prctl(_DROP_FROM_BOUNDING_SET, _READ_SEARCH, 0, 0, 0)

    return drop


def need_root() -> None:
    """Skip where the test cannot mount."""
    if sys.platform == "win32":
        pytest.skip("Windows mounts nothing for a test")
    need(ROOT and os.path.exists("/proc/mounts"), "root on Linux, to mount file systems")
