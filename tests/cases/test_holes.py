"""Files that are hardly more than holes, by the real program: found in no time, told without a digest."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from pathlib import Path

import pytest

from dedupe.config import ScanConfig
from dedupe.find import find_duplicates
from dedupe.result import Proof
from dedupe.storage import mounts
from tests.conftest import need

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="holes are believed on Linux only")
HUGE = 20 << 30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder where files may be huge holes."""
    need(mounts.file_system(os.fsencode(tmp_path)) in {b"ext4", b"xfs", b"btrfs", b"tmpfs"}, "a file system with holes")
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.mark.parametrize("confirm", ["sha256", "bytes"])
def test_two_huge_holes_cost_next_to_nothing(folder: Path, confirm: str) -> None:
    """Hashing 20 GiB of zeros takes 11 s; seeing that both are one hole takes none."""
    for name in "ab":
        with (folder / name).open("wb") as file:
            file.truncate(HUGE)
    begun = time.process_time()
    result = find_duplicates(ScanConfig(roots=[folder], confirm=confirm, jobs=1))
    assert time.process_time() - begun < 5  # a generous bound: reading them took 44 s
    (group,) = result.groups
    assert (group.size, group.digest, group.algorithm, group.proof) == (HUGE, None, "bytes", Proof.COMPARED)
    assert result.totals.bytes_read < 1 << 20


def test_groups_with_and_without_a_digest_stand_beside_each_other(folder: Path, tmp_path: Path) -> None:
    """Cold and warm say the same of both, whatever their order."""
    for name in "ab":
        with (folder / name).open("wb") as file:
            file.truncate(HUGE)
        (folder / f"{name}-small").write_bytes(b"content")
        (folder / f"{name}-large").write_bytes(b"content" * 100_000)
    config = ScanConfig(roots=[folder], cache=tmp_path / "cache.db", jobs=2)
    cold, warm = find_duplicates(config), find_duplicates(config)
    wanted = [None, hashlib.sha256(b"content" * 100_000).digest(), hashlib.sha256(b"content").digest()]
    for result in (cold, warm):
        assert [group.digest for group in result.groups] == wanted
        assert [group.algorithm for group in result.groups] == ["bytes", "sha256", "sha256"]
