"""Where a file begins, as e2fsprogs tells it too."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from dedupe.storage import extents
from tests.conftest import write
from tests.disks import KINDS, disk, memory, places


def first_byte(path: Path) -> int:
    """Return where a file begins."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return extents.first_byte(descriptor)
    finally:
        os.close(descriptor)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells where files lie")
@pytest.mark.parametrize("kind", KINDS)
def test_where_a_file_begins(tmp_path: Path, kind: str) -> None:
    """A file begins where its first extent lies, and a file of holes nowhere."""
    with memory(tmp_path / "memory") as top, disk(top / "image", tmp_path / "disk", kind) as made:
        files = [write(made.folder / f"{n}", os.urandom(20_000)) for n in range(5)]
        with files[0].open("wb") as sparse:
            sparse.seek(1 << 20)
            sparse.write(b"x" * 20_000)
        os.sync()
        assert [first_byte(file) for file in files] == places(files)
        os.truncate(files[0], 0)
        os.truncate(files[0], 9000)
        assert first_byte(files[0]) == 0


def test_who_tells_nothing_says_so(tmp_path: Path) -> None:
    """A system or file system that does not tell places raises an error that says that it never does."""
    if sys.platform == "linux":
        with memory(tmp_path / "memory") as top, pytest.raises(OSError) as told:  # noqa: PT011 - by its number
            first_byte(write(top / "file", b"x"))
    else:
        with pytest.raises(OSError) as told:  # noqa: PT011 - by its number
            first_byte(write(tmp_path / "file", b"x"))
    assert told.value.errno in extents.NOT_OFFERED
