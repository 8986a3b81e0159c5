"""Folders are opened without following a link on the way, and files only where they were planned."""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dedupe.storage import opening
from dedupe.storage.windows_paths import extended
from tests.cases.common import LINKS, not_on_windows
from tests.conftest import need, write
from tests.file_system_kinds import tree

On = Callable[[str], Path]
linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux has more than one way, and mounts")


def encoded(path: Path) -> bytes:
    """Return a path as the program holds it."""
    return extended(os.fsencode(path)) if sys.platform == "win32" else os.fsencode(path)


@pytest.fixture(params=["at once", "by steps"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Open folders by one call and part by part, and leave no descriptor open."""
    if sys.platform != "linux":
        need(request.param == "by steps" or sys.platform == "win32", "Linux' call")
        yield request.param
        return
    if request.param == "by steps":
        monkeypatch.setattr(opening, "open_without_links", lambda *_: None)
    before = len(os.listdir("/proc/self/fd"))
    yield request.param
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_planned_folder_is_opened(tmp_path: Path, way: str) -> None:
    """What is done through it is done in that folder."""
    write(tmp_path / "a/b/file", b"x")
    folder = opening.open_folder(encoded(tmp_path / "a/b"))
    assert opening.stat_at(folder, b"file").st_size == 1
    opening.link_at(folder, b"file", folder, b"second")
    with pytest.raises(FileExistsError):
        opening.link_at(folder, b"file", folder, b"second")
    opening.unlink_at(folder, b"file")
    descriptor = opening.open_nofollow(folder, b"second")
    assert os.read(descriptor, 9) == b"x"
    os.close(descriptor)
    new = opening.create_new(folder, b"third")
    os.write(new, b"y")
    os.close(new)
    with pytest.raises(FileExistsError):
        opening.create_new(folder, b"third")
    os.close(folder)
    assert tree(tmp_path / "a/b") == {"second": b"x", "third": b"y"}


@not_on_windows(LINKS)
@pytest.mark.parametrize("link", ["a", "a/b", "a/b/c"])
def test_a_link_on_the_way_is_refused(tmp_path: Path, way: str, link: str) -> None:
    """Wherever the link lies below the root, the folder behind it is not opened."""
    tmp_path = tmp_path.resolve(strict=True)  # macOS' temporary folder lies behind a link
    (tmp_path / "elsewhere/b/c").mkdir(parents=True)
    (tmp_path / "elsewhere/c").mkdir(parents=True)
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    os.symlink(tmp_path / "elsewhere", tmp_path / link)
    path = os.fsencode(tmp_path / "a/b/c")
    assert os.path.isdir(path)
    for root in (None, os.fsencode(tmp_path)):
        with pytest.raises(OSError, match="a symbolic link is on the way") as told:
            opening.open_folder(path, root)
        assert told.value.errno == errno.ELOOP
        assert told.value.filename == path


@not_on_windows(LINKS)
def test_links_up_to_the_root_are_the_users_own(tmp_path: Path, way: str) -> None:
    """A root that was typed through a link is opened as it was typed."""
    (tmp_path / "real/below").mkdir(parents=True)
    os.symlink("real", tmp_path / "typed")
    root = os.fsencode(tmp_path / "typed")
    for path, same in ((root + b"/below", "real/below"), (root, "real"), (root + b"/", "real")):
        folder = opening.open_folder(path, root)
        assert os.path.samestat(os.fstat(folder), os.stat(tmp_path / same))
        os.close(folder)


def test_what_is_no_planned_folder_is_refused(tmp_path: Path, way: str) -> None:
    """Missing folders, files, paths with steps back, relative ones and those beside the root are errors."""
    write(tmp_path / "file", b"x")
    top, step = encoded(tmp_path), os.fsencode(os.sep)
    for path, root, code in (
        (top + step + b"missing", None, errno.ENOENT),
        (top + step + b"file", None, errno.EINVAL if sys.platform == "win32" else errno.ENOTDIR),
        (top + step + b".." + step + os.fsencode(tmp_path.name), top, errno.EINVAL),
        (top + b"-beside", top, errno.EINVAL),
    ):
        with pytest.raises(OSError) as told:  # noqa: PT011 - by its number
            opening.open_folder(path, root)
        assert told.value.errno == code
    with pytest.raises(OSError):  # noqa: PT011 - there is none of that name on Windows
        opening.open_folder(b"relative")


@linux
def test_a_path_longer_than_the_call_takes_is_opened(tmp_path: Path) -> None:
    """A tree deeper than 4,096 bytes is entered part by part."""
    here = os.open(tmp_path, os.O_RDONLY)
    path = os.fsencode(tmp_path)
    for _ in range(25):
        os.mkdir(b"x" * 200, dir_fd=here)
        below = os.open(b"x" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here, path = below, path + b"/" + b"x" * 200
    folder = opening.open_folder(path)
    assert os.path.samestat(os.fstat(folder), os.fstat(here))
    os.close(folder)
    os.close(here)


@linux
def test_a_link_swapped_in_again_and_again_never_leads_elsewhere(tmp_path: Path, way: str) -> None:
    """While a folder turns into a link and back, what is opened is the folder or nothing."""
    (tmp_path / "real/below").mkdir(parents=True)
    (tmp_path / "wrong/below").mkdir(parents=True)
    os.symlink("wrong", tmp_path / "link")
    stop = threading.Event()

    def swap() -> None:
        from dedupe.storage.rename import exchange

        while not stop.is_set():
            exchange(os.fsencode(tmp_path / "real"), os.fsencode(tmp_path / "link"))

    wrong, opened = os.stat(tmp_path / "wrong/below"), 0
    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(2000):
            try:
                folder = opening.open_folder(os.fsencode(tmp_path / "real/below"))
            except OSError:
                continue
            assert not os.path.samestat(os.fstat(folder), wrong)
            os.close(folder)
            opened += 1
    finally:
        stop.set()
        swapper.join()
    assert opened


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    """A folder, a link, a pipe that took the file's place, and a path for a name are refused at once."""
    write(tmp_path / "a/file", b"x")
    folder = opening.open_folder(encoded(tmp_path))
    names = [b"a", b"missing", b"a/file", b"..", b"."]
    if sys.platform != "win32":
        os.symlink("a/file", tmp_path / "link")
        os.mkfifo(tmp_path / "pipe")
        names += [b"link", b"pipe"]
    for name in names:
        with pytest.raises(OSError) as told:  # noqa: PT011 - by its number
            opening.open_nofollow(folder, name)
        assert told.value.errno == {b"missing": errno.ENOENT, b"link": errno.ELOOP}.get(name, told.value.errno)
    os.close(folder)


@not_on_windows(LINKS)
def test_a_link_is_never_followed_by_a_hard_link(tmp_path: Path) -> None:
    """Linking a symbolic link gives another name to the link, not to what it points at."""
    write(tmp_path / "file", b"x")
    os.symlink("file", tmp_path / "link")
    folder = opening.open_folder(os.fsencode(tmp_path))
    opening.link_at(folder, b"link", folder, b"second")
    os.close(folder)
    assert os.path.islink(tmp_path / "second")
    assert os.stat(tmp_path / "file").st_nlink == 1


@linux
def test_an_open_file_is_linked_whatever_has_its_name(tmp_path: Path) -> None:
    """The file that was proven gets the name, not the one that took its place; a file without a name gets none."""
    write(tmp_path / "a", b"proven")
    folder = opening.open_folder(os.fsencode(tmp_path))
    descriptor = opening.open_nofollow(folder, b"a")
    os.rename(tmp_path / "a", tmp_path / "moved")
    write(tmp_path / "a", b"another")
    opening.link_open(descriptor, folder, b"b")
    assert (tmp_path / "b").read_bytes() == b"proven"
    with pytest.raises(FileExistsError):
        opening.link_open(descriptor, folder, b"a")
    for name in ("moved", "b"):
        (tmp_path / name).unlink()
    with pytest.raises(FileNotFoundError):
        opening.link_open(descriptor, folder, b"c")
    os.close(descriptor)
    os.close(folder)


@linux
def test_one_file_has_only_so_many_names(on: On) -> None:
    """The last name that ext4 gives is a name; the next one is refused with EMLINK."""
    top = on("ext4")
    write(top / "a", b"x")
    folder = opening.open_folder(os.fsencode(top))
    for n in range(2, 65_001):
        opening.link_at(folder, b"a", folder, b"%d" % n)
    with pytest.raises(OSError, match="Too many links") as told:
        opening.link_at(folder, b"a", folder, b"one too many")
    os.close(folder)
    assert told.value.errno == errno.EMLINK
    assert os.stat(top / "a").st_nlink == 65_000


@linux
def test_how_long_a_name_may_be(tmp_path: Path) -> None:
    """The file system says it."""
    folder = opening.open_folder(os.fsencode(tmp_path))
    assert opening.longest_name(folder) == 255
    os.close(folder)


@pytest.mark.skipif(sys.platform != "win32", reason="Windows pins folders")
def test_an_open_folder_is_pinned(tmp_path: Path) -> None:
    """While it is open on Windows it can be neither renamed nor removed."""
    (tmp_path / "a").mkdir()
    folder = opening.open_folder(encoded(tmp_path / "a"))
    with pytest.raises(PermissionError):
        os.rename(tmp_path / "a", tmp_path / "b")
    with pytest.raises(PermissionError):
        os.rmdir(tmp_path / "a")
    os.close(folder)
    os.rmdir(tmp_path / "a")
