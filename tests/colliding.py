"""Two disks that a program of FUSE shows as one, where different files have one device and one inode number."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dedupe.storage import volumes
from tests import disks
from tests.cases.common import need_root
from tests.conftest import need


@contextmanager
def bound(folder: Path, target: Path, *options: str) -> Iterator[Path]:
    """Show a folder once more by bindfs, which passes on the inode numbers of its files."""
    need_root()
    need(shutil.which("bindfs"), "bindfs")
    target.mkdir()
    disks.run("bindfs", *options, folder, target)
    volumes.forget()
    try:
        yield target
    finally:
        disks.unmount(target)
        volumes.forget()


@contextmanager
def two_disks(top: Path, *options: str) -> Iterator[Path]:
    """Yield a folder with d1 and d2, fresh disks whose files have equal numbers in the order in which they are made."""
    (top / "real").mkdir()
    with (
        disks.disk(top / "1.img", top / "real" / "d1"),
        disks.disk(top / "2.img", top / "real" / "d2"),
        bound(top / "real", top / "bind", *options) as bind,
    ):
        yield bind


def collide(*files: Path) -> bool:
    """Return whether files have one device and one number."""
    return len({(seen.st_dev, seen.st_ino) for seen in map(os.lstat, files)}) == 1
