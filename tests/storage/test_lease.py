"""A lease is given only while nobody writes, and whoever wants to write afterwards waits."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dedupe.storage import lease
from dedupe.storage.lease import WriterError, is_kept, open_denying_writers, read_lease
from dedupe.storage.windows_paths import extended
from tests.conftest import write
from tests.file_system_kinds import LINKING, as_nobody

On = Callable[[str], Path]
linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux lends files")
windows = pytest.mark.skipif(sys.platform != "win32", reason="Windows has share modes")


@linux
@pytest.mark.parametrize("kind", LINKING)
def test_a_lease_survives_our_own_acts(on: On, kind: str) -> None:
    """Linking, renaming and unlinking the file, and others reading it, leave the lease as it is."""
    top = on(kind)
    file = write(top / "a", b"x")
    descriptor = os.open(file, os.O_RDONLY)
    with read_lease(descriptor) as taken:
        assert taken
        os.link(file, top / "b")
        os.rename(file, top / "c")
        os.unlink(top / "b")
        assert (top / "c").read_bytes() == b"x"
        assert is_kept(descriptor)
    assert not is_kept(descriptor)
    os.close(descriptor)


@linux
@pytest.mark.parametrize("kind", LINKING)
@pytest.mark.parametrize("mapped", [False, True])
def test_who_writes_already_is_told(on: On, kind: str, mapped: bool) -> None:  # noqa: FBT001
    """A file that is open for writing, or mapped for it and closed again, gets no lease but an error."""
    file = write(on(kind) / "a", b"x" * 4096)
    code = "import mmap, os, sys; fd = os.open(sys.argv[1], os.O_RDWR); "
    code += "m = mmap.mmap(fd, 0); os.close(fd); " if mapped else ""
    code += "print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        descriptor = os.open(file, os.O_RDONLY)
        with pytest.raises(WriterError, match="open for writing"), read_lease(descriptor):
            pass
        os.close(descriptor)
        writer.communicate()


@linux
def test_a_writer_waits_and_nobody_is_killed(tmp_path: Path) -> None:
    """Whoever opens the file for writing waits for the lease's end, which the holder can see, and is not killed by."""
    file = write(tmp_path / "a", b"old")
    descriptor = os.open(file, os.O_RDONLY)
    code = "import sys; print(flush=True); open(sys.argv[1], 'wb').write(b'new')"
    with read_lease(descriptor) as taken:
        assert taken
        with subprocess.Popen([sys.executable, "-c", code, file], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            while is_kept(descriptor):  # ends by the signal that would kill us, if it did
                time.sleep(0.01)
            assert file.read_bytes() == b"old"
            assert writer.poll() is None
            lease.fcntl.fcntl(descriptor, lease.fcntl.F_SETLEASE, lease.fcntl.F_UNLCK)
            assert writer.wait(60) == 0
    os.close(descriptor)
    assert file.read_bytes() == b"new"


@linux
def test_where_there_is_no_lease_it_is_said(tmp_path: Path) -> None:
    """What the file system does not lend, and others' files without the right, are no error."""
    reader, writer = os.pipe()
    with read_lease(reader) as taken:
        assert not taken
    os.close(reader)
    os.close(writer)
    descriptor = os.open(write(tmp_path / "a", b"x"), os.O_RDONLY)

    def ask() -> bool:
        with read_lease(descriptor) as taken:
            return taken

    assert as_nobody(ask) == "False"
    assert ask()
    os.close(descriptor)


@linux
def test_a_server_that_lends_nothing_is_no_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer that means "somebody writes" on local file systems means nothing on a network's."""
    descriptor = os.open(write(tmp_path / "a", b"x"), os.O_RDWR)  # its own writer
    monkeypatch.setattr(lease.mounts, "is_network", lambda folder: folder == os.fsencode(tmp_path))
    with read_lease(descriptor) as taken:
        assert not taken
    os.close(descriptor)


@pytest.mark.skipif(sys.platform == "win32", reason="there it works")
def test_opening_denies_nobody_elsewhere(tmp_path: Path) -> None:
    """Where share modes do not exist, that is said in a sentence."""
    with pytest.raises(OSError, match="does not keep writers away") as told:
        open_denying_writers(os.fsencode(write(tmp_path / "a", b"x")))
    assert told.value.errno == errno.ENOTSUP


@windows
def test_windows_denies_writers(tmp_path: Path) -> None:
    """While a file is open so nobody can write it, rename or remove it; a writer who was first is told."""
    file = write(tmp_path / "a", b"x")
    descriptor = open_denying_writers(extended(os.fsencode(file)))
    for attempt in (lambda: file.open("r+b"), file.unlink, lambda: file.rename(tmp_path / "b")):
        with pytest.raises(PermissionError):
            attempt()
    assert os.read(descriptor, 9) == b"x"
    os.close(descriptor)
    with file.open("r+b"), pytest.raises(WriterError):
        open_denying_writers(extended(os.fsencode(file)))
    with pytest.raises(PermissionError):
        open_denying_writers(extended(os.fsencode(tmp_path)))


@pytest.mark.skipif(sys.platform == "linux", reason="there it lends")
def test_no_lease_elsewhere(tmp_path: Path) -> None:
    """A system without leases says so, and goes on."""
    with write(tmp_path / "a", b"x").open("rb") as file, read_lease(file.fileno()) as taken:
        assert not taken
        assert not is_kept(file.fileno())
