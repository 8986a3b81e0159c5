"""A file that has its name only when it is complete: what was there stays until then, and for good if it fails."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dedupe.cli.whole_file import WholeFile
from tests.conftest import write

Run = Callable[..., subprocess.CompletedProcess[bytes]]
posix = pytest.mark.skipif(sys.platform == "win32", reason="modes and links as POSIX has them")


def _failing() -> Iterator[bytes]:
    yield b"half"
    raise OSError(28, "No space left on device")


def test_what_was_there_stays_until_all_is_written(tmp_path: Path) -> None:
    """And for good where that fails; nothing else is left in the folder."""
    path = write(tmp_path / "a", b"old")
    with WholeFile(str(path)) as whole:
        with pytest.raises(OSError, match="No space"):
            whole.commit(_failing())
        assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    with WholeFile(str(path)) as whole:
        whole.commit([b"n", b"ew"])
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"new", [path])


@posix
def test_it_takes_the_mode_of_what_it_replaces_and_leaves_links(tmp_path: Path) -> None:
    """A new one has that of any new file."""
    path = write(tmp_path / "a", b"old")
    path.chmod(0o604)
    (tmp_path / "link").symlink_to("a")
    with WholeFile(str(tmp_path / "link")) as whole:
        whole.commit([b"new"])
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o604)
    assert (tmp_path / "link").is_symlink()
    mask = os.umask(0o027)
    try:
        with WholeFile(str(tmp_path / "b")) as whole:
            whole.commit([b""])
    finally:
        os.umask(mask)
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o640


@posix
def test_a_report_goes_into_a_pipe_by_its_name(cli: Run, tmp_path: Path) -> None:
    """/dev/stdout leads to something without a name of its own."""
    write(tmp_path / "t/a", b"a")
    done = cli("scan", "t", "--no-cache", "-q", "-o", "/dev/stdout", "-f", "paths", env={"A": "1"})
    assert done.returncode == 2  # no ending that names a format
    (tmp_path / "out.json").symlink_to("/dev/stdout")
    assert cli("scan", "t", "--no-cache", "-q", "-o", "out.json").stdout.startswith(b'{"schema"')
