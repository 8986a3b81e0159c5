"""Fixtures of the tests of actions: where the journal lies, and file systems to act on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dedupe.storage import durable
from tests import disks


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Return where the journals of a test lie."""
    return tmp_path / "state" / "journal"


@pytest.fixture(params=["here", "tmpfs"])
def top(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Return a folder to act in: on the disk that tests run on, and in memory."""
    if request.param == "here":
        (tmp_path / "top").mkdir()
        yield tmp_path / "top"
    else:
        with disks.mounted(tmp_path / "memory", "-t", "tmpfs", "-o", "size=64m", "tmpfs") as folder:
            (folder / "top").mkdir()
            yield folder / "top"


@pytest.fixture(params=["btrfs", "xfs"])
def sharing_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a file system whose files can share blocks."""
    with disks.disk(tmp_path / "image", tmp_path / "disk", request.param) as made:
        yield made.folder


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return where the names of what is written to its disk are noted."""
    usual, names = os.fsync, list[str]()

    def fsync(descriptor: int) -> None:
        names.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        usual(descriptor)

    monkeypatch.setattr(durable.os, "fsync", fsync)
    return names
