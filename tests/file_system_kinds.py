"""Real file systems of every kind that acting on files meets, each mounted once a test module."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.cases.common import need_root
from tests.conftest import need
from tests.disks import memory, run, unmount

# kind -> size of its image, how it is made, how it is mounted
MAKERS = {
    "ext4": ("96M", ("mkfs.ext4", "-q", "-F"), ("mount", "-t", "ext4")),
    "btrfs": ("160M", ("mkfs.btrfs", "-q", "-f", "-m", "single"), ("mount", "-t", "btrfs")),
    "xfs": ("320M", ("mkfs.xfs", "-q", "-f", "-m", "reflink=1"), ("mount", "-t", "xfs")),
    "xfs-plain": ("320M", ("mkfs.xfs", "-q", "-f", "-m", "reflink=0"), ("mount", "-t", "xfs")),
    "exfat": ("32M", ("mkfs.exfat",), ("mount.exfat-fuse",)),  # by FUSE: knows no links and no flags of rename
}
KINDS = ("tmpfs", *MAKERS)
LINKING = tuple(kind for kind in KINDS if kind != "exfat")
SHARING = ("btrfs", "xfs")


@contextmanager
def mounts(top: Path) -> Iterator[Callable[[str], Path]]:
    """Return a function that gives a mounted folder of a kind, made when first asked for."""
    made: dict[str, Path] = {}
    with ExitStack() as undo:

        def of(kind: str) -> Path:
            need_root()
            if kind not in made:
                made[kind] = undo.enter_context(memory(top / kind) if kind == "tmpfs" else mounted(top, kind))
            return made[kind]

        yield of


@contextmanager
def mounted(top: Path, kind: str, *, image: Path | None = None, options: tuple[str, ...] = ()) -> Iterator[Path]:
    """Mount a new file system of a kind, or an image that has one."""
    need_root()
    size, maker, mount = MAKERS[kind]
    need(shutil.which(maker[0]), f"{maker[0]}, to make a file system of that kind")
    need(shutil.which(mount[0]), f"{mount[0]}, to mount it")
    need(os.path.exists("/dev/loop-control"), "loop devices")
    folder = top / (image.name + "-mounted" if image else kind)
    folder.mkdir()
    if image is None:
        image = top / f"{kind}.image"
        run("truncate", "-s", size, image)
        run(*maker, image)
    with ExitStack() as undo:
        device = run("losetup", "--find", "--show", image).strip()
        undo.callback(run, "losetup", "--detach", device)
        run(*mount, *options, device, folder)
        undo.callback(unmount, folder)
        yield folder


@contextmanager
def bound(source: Path, folder: Path) -> Iterator[Path]:
    """Mount a folder, or a file, a second time elsewhere."""
    need_root()
    run("mount", "--bind", source, folder)
    try:
        yield folder
    finally:
        unmount(folder)


def as_nobody(act: Callable[[], object]) -> str:
    """Return the text of what a function returns in a process of an ordinary user, who owns nothing.

    Hand it open files: that user cannot reach the folders of tests.
    """
    need_root()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            told = str(act())
        except BaseException as error:  # the parent tells
            told = repr(error)
        os.write(writer, told.encode())
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as answer:
        told = answer.read()
    os.waitpid(child, 0)
    return told


def tree(folder: Path) -> dict[str, bytes]:
    """Return the content of each file of a folder by its name; of a link, where it points."""
    return {
        entry.name: os.fsencode(os.readlink(entry)) if entry.is_symlink() else Path(entry).read_bytes()
        for entry in os.scandir(folder)
        if not entry.is_dir(follow_symlinks=False)
    }
