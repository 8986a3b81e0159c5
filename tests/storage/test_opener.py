"""Opening by name: links only where they are followed, and as much as there is."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

import pytest

from dedupe.storage import file_stat
from dedupe.storage.opener import Opener, read_at
from tests.conftest import write


@pytest.mark.parametrize("length", [0, 3, 4, 10])
def test_reading_gives_the_first_bytes_and_the_stat_after_them(tmp_path: Path, length: int) -> None:
    """Fewer bytes than asked for come only where the file ends."""
    path = os.fsencode(write(tmp_path / "f", b"data"))
    opener = pickle.loads(pickle.dumps(Opener()))
    assert opener.read(path, length) == b"data"[:length]
    data, seen = opener.read_with_stat(path, length)
    assert (data, tuple(seen)) == (b"data"[:length], tuple(opener.stat(path)))


def test_a_part_is_read_from_its_place(tmp_path: Path) -> None:
    """Whatever was read before, and beyond the end nothing."""
    descriptor = Opener().open(os.fsencode(write(tmp_path / "f", b"0123456789")))
    try:
        assert [read_at(descriptor, 3, at) for at in (4, 0, 8, 20)] == [b"456", b"012", b"89", b""]
    finally:
        os.close(descriptor)


@pytest.mark.skipif(sys.platform == "win32", reason="making links needs a privilege there")
@pytest.mark.parametrize("follow", [False, True])
def test_a_link_stands_for_its_target_only_where_links_are_followed(tmp_path: Path, *, follow: bool) -> None:
    """All that an opener does with a name agrees about what the name means."""
    target = os.fsencode(write(tmp_path / "f", b"data"))
    (tmp_path / "link").symlink_to("f")
    link, opener = os.fsencode(tmp_path / "link"), Opener(follow=follow)
    assert (opener.stat(link) == file_stat.of_path(target)) == follow
    assert (opener.identity(link) == opener.identity(target)) == follow
    for read in (lambda: opener.read(link, 4), lambda: opener.read_with_stat(link, 4)[0]):
        if follow:
            assert read() == b"data"
        else:
            with pytest.raises(OSError, match="link"):
                read()
