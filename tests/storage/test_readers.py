"""Windows over a file: mapped or read, they show the same bytes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from dedupe.storage.opener import Opener
from dedupe.storage.readers import GRANULARITY, MappedReader, PlainReader, reader
from tests.conftest import write


@pytest.mark.parametrize("may_mmap", [False, True])
@pytest.mark.parametrize("size", [1, GRANULARITY, GRANULARITY + 1, 3 * GRANULARITY - 1])
def test_windows_in_order_are_the_file(tmp_path: Path, size: int, *, may_mmap: bool) -> None:
    """Put together they give all its bytes; beyond the end there is none, and closing gives the descriptor up."""
    data = os.urandom(size)
    descriptor = Opener().open(os.fsencode(write(tmp_path / "f", data)))
    opened = reader(descriptor, may_mmap=may_mmap)
    assert isinstance(opened, MappedReader if may_mmap else PlainReader)
    seen = b""
    for offset in range(0, size, GRANULARITY):
        window = opened.window(offset, min(GRANULARITY, size - offset))
        assert window is not None
        seen += bytes(window)
        del window
    assert seen == data
    opened.close()
    with pytest.raises(OSError, match=r"^\[(Errno 9|WinError 6)\]"):
        os.fstat(descriptor)


@pytest.mark.skipif(sys.platform == "win32", reason="a mapped file cannot be cut off there")
@pytest.mark.parametrize("may_mmap", [False, True])
@pytest.mark.parametrize("left", [0, 100, GRANULARITY, GRANULARITY + 5])
def test_a_file_that_ends_before_its_window_has_none(tmp_path: Path, left: int, *, may_mmap: bool) -> None:
    """A file that shrank since it was measured is noticed, and nothing is made up for what is missing."""
    path = write(tmp_path / "f", bytes(3 * GRANULARITY))
    opened = reader(Opener().open(os.fsencode(path)), may_mmap=may_mmap)
    if left >= GRANULARITY:
        assert opened.window(0, GRANULARITY) is not None
    os.truncate(path, left)
    assert opened.window(GRANULARITY if left >= GRANULARITY else 0, GRANULARITY) is None
    opened.close()
