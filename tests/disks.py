"""Disks for tests: loop devices over images in memory, said to rotate, with real file systems."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cases.common import need_root
from tests.conftest import need

# kind of file system -> size of its image and how it is made
KINDS = {
    "ext4": ("64M", ("mkfs.ext4", "-q", "-F", "-N", "8192")),
    "xfs": ("320M", ("mkfs.xfs", "-q", "-f")),
    "btrfs": ("128M", ("mkfs.btrfs", "-q", "-f", "-m", "single")),
}


@dataclass(frozen=True)
class Disk:
    """A loop device with a mounted file system."""

    device: str  # such as /dev/loop0
    folder: Path

    def rotate(self, yes: bool) -> None:  # noqa: FBT001
        """Have the kernel say that the disk rotates, or that it does not."""
        queue = Path("/sys/block", os.path.basename(self.device), "queue/rotational")
        queue.write_text(f"{int(yes)}\n", encoding="ascii")


def run(*command: str | Path) -> str:
    """Run a program that must succeed, and return what it printed."""
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


def unmount(folder: str | Path) -> None:
    """Unmount a folder, also where the system still holds a file there for a moment after it was closed."""
    for patience in (0.1, 0.3, 1, 3, 0):
        done = subprocess.run(["umount", folder], capture_output=True, check=False, text=True)
        if not done.returncode:
            return
        time.sleep(patience)
    raise AssertionError((folder, done.stderr))


def places(files: list[Path]) -> list[int]:
    """Return where on its disk each file begins, in bytes, as e2fsprogs says."""
    need(shutil.which("filefrag"), "filefrag of e2fsprogs, to compare with")
    # one answer a file: the first extent's line is "0: first..last logical: first..last physical: ..."
    told = run("filefrag", "-b1", "-v", *files)
    found = dict(re.findall(r"of (\S+) is .*?\n +0: +\d+\.\. +\d+: +(\d+)\.\.", told, re.DOTALL))
    return [int(found[str(file)]) for file in files]


@contextmanager
def mounted(folder: Path, *arguments: str | Path) -> Iterator[Path]:
    """Mount what the arguments of `mount` say, on a folder that is made if need be."""
    need_root()
    folder.mkdir(exist_ok=True)
    run("mount", *arguments, folder)
    try:
        yield folder
    finally:
        unmount(folder)


@contextmanager
def memory(folder: Path) -> Iterator[Path]:
    """Mount a file system in memory, which lies on no disk."""
    with mounted(folder, "-t", "tmpfs", "-o", "size=1g", "tmpfs"):
        yield folder


@contextmanager
def attached(image: Path, *options: str) -> Iterator[str]:
    """Attach an image to a loop device of its own, and return that one's path."""
    need_root()
    need(os.path.exists("/dev/loop-control") and shutil.which("losetup"), "loop devices")
    device = run("losetup", "--find", "--show", *options, image).strip()
    try:
        yield device
    finally:
        run("losetup", "--detach", device)


def make_image(image: Path, kind: str = "ext4", *options: str) -> Path:
    """Make an image with a file system."""
    size, maker = KINDS[kind]
    need(shutil.which(maker[0]), f"{maker[0]}, to make a file system of that kind")
    run("truncate", "-s", size, image)
    run(*maker, *options, image)
    return image


@contextmanager
def disk(image: Path, folder: Path, kind: str = "ext4") -> Iterator[Disk]:
    """Make an image, attach and mount it; whatever happens, unmount and detach it in the end."""
    need_root()
    with attached(make_image(image, kind)) as device, mounted(folder, "-t", kind, device):
        yield Disk(device, folder)
