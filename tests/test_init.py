"""The public face of the package."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import dedupe
from tests import conftest


def test_the_list_of_names_is_sorted_and_true() -> None:
    """Everything in `__all__` is there, in order."""
    assert dedupe.__all__ == sorted(dedupe.__all__, key=lambda n: (n.islower(), n.lstrip("_"))) or (
        dedupe.__all__ == sorted(dedupe.__all__)
    )
    assert all(hasattr(dedupe, name) for name in dedupe.__all__)


def test_importing_costs_little() -> None:
    """The library brings neither the command line nor what only some scans need."""
    program = "import sys, dedupe; print(*(m for m in ('typer', 'sqlite_utils', 'tqdm', 'rich') if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b""


def test_tests_cannot_reach_the_users_cache() -> None:
    """The guard raises in this process, and gives processes that tests start a home of their own."""
    from dedupe.cache import store, write_buffer

    with pytest.raises(AssertionError, match="must name its cache"):
        store.default_path()
    assert "home" in os.environ["XDG_CACHE_HOME"]
    assert conftest.SETTLED * 1e9 > write_buffer.RACY_NS
