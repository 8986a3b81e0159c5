"""File systems for the tests of storage, mounted once a module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.file_system_kinds import mounts


@pytest.fixture(scope="module")
def on(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """Return a function that gives a new folder on a file system of a kind."""
    count = 0
    with mounts(tmp_path_factory.mktemp("kinds")) as of:

        def folder(kind: str) -> Path:
            nonlocal count
            count += 1
            made = of(kind) / f"test-{count}"
            made.mkdir()
            return made

        yield folder
