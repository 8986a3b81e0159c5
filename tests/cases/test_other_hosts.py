"""Workers that see the same volume under other device numbers, as those of another host do."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from dedupe import ScanConfig, find_duplicates
from dedupe.storage import volumes
from tests.conftest import write
from tests.disks import disk, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mount name spaces are Linux's")
_CLONE_NEWNS = 0x20000


def move_elsewhere(image: str, folder: str) -> None:
    """Give this process a mount name space where the image lies on a device of its own, and another host's name."""
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "unshare")
    run("mount", "--make-rprivate", "/")
    run("umount", folder)
    device = run("losetup", "--find", "--show", "--read-only", image).strip()
    run("mount", "-o", "ro,noload", device, folder)
    run("losetup", "--detach", device)  # takes effect when nobody has it mounted any more
    volumes.forget()
    volumes.host = lambda: f"worker {os.getpid()}"  # type: ignore[assignment]


def device_of(folder: str) -> int:
    """Return the device number that this process sees."""
    return os.stat(folder).st_dev


def test_workers_of_another_host_find_what_those_of_this_one_find(tmp_path: Path) -> None:
    """Other device numbers make no file a changed one, no hard link two files, and no own file a found one."""
    with disk(tmp_path / "image", tmp_path / "mounted") as where:
        top = where.folder / "top"
        for n in range(150):
            write(top / f"{n % 70}" / f"small {n}", b"%d" % (n % 40) * 9)
        large = os.urandom(700_000)
        for name in ("a", "b"):
            write(top / "2" / name, large)
        os.link(top / "2" / "a", top / "69" / "7 names")
        own = write(top / "1" / "report.json", b"0" * 9)
        os.sync()
        config = ScanConfig(roots=sorted(top.iterdir()), own_files=[own])  # so many that workers list them
        expected = find_duplicates(config)
        context = multiprocessing.get_context("fork")
        place = os.fspath(where.folder)
        with ProcessPoolExecutor(2, context, move_elsewhere, (os.fspath(tmp_path / "image"), place)) as executor:
            assert executor.submit(device_of, place).result() != device_of(place)
            result = find_duplicates(config, executor=executor)
    assert result.problems == expected.problems == []
    assert result.totals.groups == expected.totals.groups > 30
    told = [[[(f.path, f.links) for f in g.files] for g in each.groups] for each in (result, expected)]
    assert told[0] == told[1]
    assert result.totals.files == expected.totals.files
