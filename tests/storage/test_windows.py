"""What Windows tells of files: the judgements anywhere, on faked values; the calls under Windows itself.

Wine, which runs these in `.ci/windows`, has no reparse points before its version 10.19, drops the attributes of cloud
files, and knows no share of a server: what needs them is judged on faked values here, and real Windows never ran it.
"""

from __future__ import annotations

import errno
import mmap
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dedupe.result import ProblemKind
from dedupe.storage import problems, windows
from dedupe.storage.opener import Opener
from dedupe.storage.placeholders import is_cloud_placeholder
from dedupe.storage.windows_paths import extended

on_windows = pytest.mark.skipif(sys.platform != "win32", reason="asks Windows itself: .ci/windows runs it")

ARCHIVE, DIRECTORY, REPARSE_POINT, OFFLINE, RECALL_ON_OPEN, PINNED, RECALL_ON_DATA_ACCESS = (
    0x20,
    0x10,
    0x400,
    0x1000,
    0x40000,
    0x80000,
    0x400000,
)


def encoded(path: Path) -> bytes:
    """Return a path as the program holds it."""
    return extended(os.fsencode(path))


def write(path: Path, content: bytes = b"content") -> bytes:
    """Write a file, and return its path as the program holds it."""
    path.write_bytes(content)
    return encoded(path)


@pytest.mark.parametrize("bit", [OFFLINE, RECALL_ON_OPEN, RECALL_ON_DATA_ACCESS])
def test_each_mark_of_a_placeholder_counts(bit: int) -> None:
    """Any one of the three attributes means that reading would fetch the content."""
    assert is_cloud_placeholder(ARCHIVE | bit)


@pytest.mark.parametrize("attributes", [0, ARCHIVE, DIRECTORY, ARCHIVE | REPARSE_POINT | PINNED])
def test_what_is_here_is_no_placeholder(attributes: int) -> None:
    """Ordinary files, and files that OneDrive has fetched and keeps, are read."""
    assert not is_cloud_placeholder(attributes)


@pytest.mark.parametrize("tag", [0xA000_0003, 0xA000_000C, 0xA000_001D])
def test_junctions_and_links_are_told(tag: int) -> None:
    """Mount points, symbolic links and those of WSL stand for another name."""
    assert windows.is_junction_or_link(DIRECTORY | REPARSE_POINT, tag)


@pytest.mark.parametrize(
    ("attributes", "tag"),
    [(ARCHIVE, 0), (ARCHIVE | REPARSE_POINT, 0x9000_601A), (REPARSE_POINT, 0x8000_0013), (DIRECTORY, 0xA000_0003)],
)
def test_other_reparse_points_are_files(attributes: int, tag: int) -> None:
    """A fetched OneDrive file, a deduplicated one, and a stale tag without the attribute are no links."""
    assert not windows.is_junction_or_link(attributes, tag)


def test_times_are_exact() -> None:
    """FILETIMEs turn into nanoseconds since 1970 without rounding; a time that is not kept is 0."""
    assert windows.unix_ns(116_444_736_000_000_001) == 100
    assert windows.unix_ns(133_484_544_000_000_000) == 1_703_980_800 * 10**9
    assert windows.unix_ns(116_444_736_000_000_000 - 1) == -100
    assert windows.unix_ns(0) == 0


def test_an_inode_that_means_none_is_none() -> None:
    """Where a file system gives all its files the same all-ones number, they must not pass for one file."""
    assert windows.known_inode(2**64 - 1, 64) == 0
    assert windows.known_inode(2**128 - 1, 128) == 0
    assert windows.known_inode(2**64 - 1, 128) == 2**64 - 1
    assert windows.known_inode(5, 64) == 5


@pytest.mark.skipif(sys.platform == "win32", reason="there they work")
def test_elsewhere_the_calls_say_why_not() -> None:
    """On other systems the module can be imported, and each call says what is missing."""
    for call in (windows.status, windows.status_of, windows.open_for_reading, windows.drive_kind):
        with pytest.raises(NotImplementedError, match="this system is not Windows"):
            call(b"")  # type: ignore[operator]
    with pytest.raises(NotImplementedError, match="this system is not Windows"):
        windows.expose_placeholders()


@on_windows
def test_status_tells_what_stat_tells(tmp_path: Path) -> None:
    """Size, modification, file number and links are those of Python's own call."""
    path = write(tmp_path / "a", b"x" * 1000)
    found, known = windows.status(path), os.stat(path)
    assert (found.size, found.modified_ns, found.nlink) == (1000, known.st_mtime_ns, 1)
    assert found.inode == known.st_ino != 0
    assert found.device != 0
    assert (found.attributes, found.reparse_tag) == (known.st_file_attributes, 0)


@on_windows
def test_name_and_descriptor_agree(tmp_path: Path) -> None:
    """Hundreds of fresh files, asked by name and by descriptor, in all fields alike: both sides of a comparison."""
    for i in range(300):
        path = write(tmp_path / f"{i}", os.urandom(i))
        before = windows.status(path)
        fd = windows.open_for_reading(path)
        opened = windows.status_of(fd)
        os.close(fd)
        assert before == opened == windows.status(path)


@on_windows
def test_a_change_shows_though_the_time_is_put_back(tmp_path: Path) -> None:
    """Same size, same modification time, other content: the time of change tells them apart."""
    path = write(tmp_path / "a", b"old")
    before = windows.status(path)
    time.sleep(0.05)
    write(tmp_path / "a", b"new")
    os.utime(path, ns=(before.modified_ns, before.modified_ns))
    after = windows.status(path)
    assert (after.size, after.modified_ns, after.inode) == (before.size, before.modified_ns, before.inode)
    assert after.changed_ns > before.changed_ns


@on_windows
def test_names_of_one_file_share_its_identity(tmp_path: Path) -> None:
    """Hard links show one identity and their number; a copy shows another."""
    one, other = write(tmp_path / "a"), write(tmp_path / "copy")
    os.link(tmp_path / "a", tmp_path / "b")
    first, second = windows.status(one), windows.status(encoded(tmp_path / "b"))
    assert first == second
    assert first.nlink == 2
    assert (first.device, first.inode) != windows.status(other)[3:5]


@on_windows
def test_drives_are_told_apart(tmp_path: Path) -> None:
    """Files on C: and D: lie on different devices."""
    on_d = Path("D:\\dedupe-device")
    try:
        assert windows.status(write(on_d)).device != windows.status(write(tmp_path / "a")).device
    finally:
        on_d.unlink()


@on_windows
def test_status_is_fresh_while_a_file_is_written(tmp_path: Path) -> None:
    """What another handle has flushed shows at once, as no directory listing promises."""
    with (tmp_path / "a").open("wb") as file:
        file.write(b"x" * 5000)
        file.flush()
        assert windows.status(encoded(tmp_path / "a")).size == 5000


@on_windows
def test_sizes_beyond_four_gigabytes(tmp_path: Path) -> None:
    """Both halves of a size count."""
    path = encoded(tmp_path / "large")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(5 * 2**30 + 3)
    assert windows.status(path).size == 5 * 2**30 + 3


@on_windows
def test_folders_and_roots_have_a_status(tmp_path: Path) -> None:
    """Identity can be asked of a folder and of a drive's root."""
    for path in (encoded(tmp_path), b"\\\\?\\C:\\", b"\\\\?\\D:\\"):
        assert windows.status(path).attributes & DIRECTORY


@on_windows
@pytest.mark.parametrize("name", ["NUL", "CON.txt", "x.", "x ", "e\u0301", "\U0001f600", "y" * 255])
def test_special_names_are_files(tmp_path: Path, name: str) -> None:
    """In an extended-length path every name that a directory can hold is an ordinary file's."""
    path = encoded(tmp_path / "folder") + b"\\" + os.fsencode(name)
    (tmp_path / "folder").mkdir()
    with open(path, "wb") as file:
        file.write(b"12345")
    assert os.listdir(tmp_path / "folder") == [name]
    fd = windows.open_for_reading(path)
    try:
        assert os.read(fd, 100) == b"12345"
        assert windows.status(path) == windows.status_of(fd)
    finally:
        os.close(fd)
        os.remove(path)


@on_windows
def test_paths_beyond_260_characters(tmp_path: Path) -> None:
    """Long paths need no setting of the system."""
    folder = encoded(tmp_path) + b"\\" + b"\\".join([b"z" * 100] * 6)
    os.makedirs(folder)
    path = folder + b"\\" + b"file"
    with open(path, "wb") as file:
        file.write(b"123")
    assert windows.status(path).size == 3
    os.close(windows.open_for_reading(path))


@on_windows
@pytest.mark.parametrize("call", ["status", "open_for_reading"])
def test_errors_carry_cause_and_path(tmp_path: Path, call: str) -> None:
    """What is not there raises what the os module raises, with Windows' number and the path."""
    for path, codes in (
        (encoded(tmp_path / "gone"), {2}),
        (encoded(tmp_path / "gone" / "file"), {3}),
        (encoded(tmp_path) + b"\\a\0b", {123}),
    ):
        with pytest.raises(OSError, match=r".") as raised:
            getattr(windows, call)(path)
        assert raised.value.winerror in codes
        assert raised.value.filename == path


@on_windows
def test_a_closed_descriptor_is_an_oserror() -> None:
    """A descriptor that is not open raises OSError too."""
    with pytest.raises(OSError, match=r"."):
        windows.status_of(4321)


@on_windows
def test_folders_are_not_opened_for_reading(tmp_path: Path) -> None:
    """Only what has content is opened."""
    with pytest.raises(PermissionError):
        windows.open_for_reading(encoded(tmp_path))


@on_windows
def test_devices_are_not_opened_for_reading() -> None:
    """A device, which could wait for ever, is refused, and the handle to it is not kept."""
    with pytest.raises(PermissionError):
        windows.open_for_reading(b"\\\\.\\NUL")


@on_windows
def test_reading_is_binary(tmp_path: Path) -> None:
    """Neither line ends nor the old end-of-file sign are translated."""
    content = bytes(range(256)) + b"\r\n\x1a\n"
    fd = windows.open_for_reading(write(tmp_path / "a", content))
    assert os.read(fd, 1000) == content
    assert not os.get_inheritable(fd)
    os.close(fd)


@on_windows
def test_our_reading_blocks_nobody(tmp_path: Path) -> None:
    """While we hold a file open, others write to it, rename it and delete it."""
    path = write(tmp_path / "a")
    fd = windows.open_for_reading(path)
    (tmp_path / "a").write_bytes(b"CONTENT")
    (tmp_path / "a").rename(tmp_path / "b")
    assert os.read(fd, 100) == b"CONTENT"
    (tmp_path / "b").unlink()
    os.close(fd)
    assert os.listdir(tmp_path) == []


@on_windows
def test_python_open_would_block(tmp_path: Path) -> None:
    """The reason for an open of our own: Python's lets nobody rename what it reads."""
    write(tmp_path / "a")
    with (tmp_path / "a").open("rb"), pytest.raises(PermissionError):
        (tmp_path / "a").rename(tmp_path / "b")


@on_windows
def test_a_closed_map_blocks_nobody(tmp_path: Path) -> None:
    """A descriptor of ours can be mapped, and when map and descriptor are closed the file can be cut and deleted."""
    path = write(tmp_path / "a", b"x" * 100_000)
    fd = windows.open_for_reading(path)
    with mmap.mmap(fd, 0, access=mmap.ACCESS_READ) as view:
        assert view[:3] == b"xxx"
    os.close(fd)
    os.truncate(path, 10)
    os.remove(path)


@on_windows
def test_read_only_files_are_read(tmp_path: Path) -> None:
    """The read-only attribute is no hindrance to reading."""
    path = write(tmp_path / "a")
    os.chmod(path, 0o444)
    os.close(windows.open_for_reading(path))
    assert windows.status(path).attributes & 1
    os.chmod(path, 0o666)


@on_windows
def test_a_file_that_another_program_locks_is_an_error(tmp_path: Path) -> None:
    """Who opened a file for itself alone keeps us from reading it, but not from asking about it."""
    import ctypes

    path = write(tmp_path / "a")
    kernel32 = ctypes.WinDLL("kernel32")
    kernel32.CreateFileW.restype = ctypes.c_void_p
    handle = kernel32.CreateFileW(os.fsdecode(path), 0x8000_0000, 0, None, 3, 0, None)
    try:
        with pytest.raises(PermissionError) as raised:
            windows.open_for_reading(path)
        assert raised.value.winerror == 32
        assert windows.status(path).size == 7
    finally:
        kernel32.CloseHandle(ctypes.c_void_p(handle))


@on_windows
def test_no_handle_is_left(tmp_path: Path) -> None:
    """Neither success nor failure leaves a handle open: numbers of closed ones are given out again."""
    import msvcrt

    path = write(tmp_path / "a")

    def next_handle() -> int:
        with open(path, "rb") as file:
            return msvcrt.get_osfhandle(file.fileno())

    def use() -> None:
        windows.status(path)
        os.close(windows.open_for_reading(path))
        for bad in (path + b"?", encoded(tmp_path), b"\\\\.\\NUL"):
            with pytest.raises(OSError, match=r"."):
                windows.open_for_reading(bad)
        for bad in (path + b"?", b"\\\\.\\NUL"):
            with pytest.raises(OSError, match=r"."):
                windows.status(bad)

    use()
    before = next_handle()
    for _ in range(50):
        use()
    assert next_handle() - before < 4 * 25  # handles are numbered by fours


@on_windows
def test_kinds_of_drives(tmp_path: Path) -> None:
    """The drives of this machine are fixed ones; a share is remote, without asking its server."""
    assert windows.drive_kind(encoded(tmp_path)) == "fixed"
    assert windows.drive_kind(b"\\\\?\\D:\\not\\there") == "fixed"
    assert windows.drive_kind(b"\\\\?\\UNC\\server\\share\\x") == "remote"
    assert windows.drive_kind(b"\\\\?\\Q:\\x") in ("unknown", "missing")


@on_windows
def test_exposing_placeholders_is_harmless() -> None:
    """Windows before 10 1803, and Wine, have no such call: that is no error."""
    shown = windows.expose_placeholders()
    assert shown is (os.environ.get("DEDUPE_LANE") != "wine")


@on_windows
def test_junctions_are_not_followed(tmp_path: Path) -> None:
    """A junction shows itself, with `follow` what it leads to."""
    (tmp_path / "target").mkdir()
    junction = tmp_path / "junction"
    made = subprocess.run(["cmd", "/c", "mklink", "/J", str(junction), str(tmp_path / "target")], check=False)
    if made.returncode or not os.path.lexists(junction) or not os.lstat(junction).st_reparse_tag:
        pytest.skip("this Wine cannot make junctions")
    found, target = windows.status(encoded(junction)), windows.status(encoded(tmp_path / "target"))
    assert windows.is_junction_or_link(found.attributes, found.reparse_tag)
    assert found.inode != target.inode
    assert windows.status(encoded(junction), follow=True) == target


def _tagged(monkeypatch: pytest.MonkeyPatch, tag: int) -> None:
    """Make Windows say of every file that it is a reparse point of this tag."""
    found = windows._Tag(ARCHIVE | REPARSE_POINT, tag)
    monkeypatch.setattr(windows, "_tag", lambda *_: found)


@on_windows
@pytest.mark.parametrize("tag", [0xA000_0003, 0xA000_000C, 0xA000_001D])
def test_a_link_is_opened_only_if_links_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: int) -> None:
    """What stands for another name is refused like a link elsewhere, and no handle to it is kept."""
    path = write(tmp_path / "a")
    _tagged(monkeypatch, tag)
    with pytest.raises(OSError, match="a") as raised:
        Opener().open(path)
    assert raised.value.errno == errno.ELOOP
    assert problems.of_error(path, raised.value).kind == ProblemKind.CHANGED
    fd = Opener(follow=True).open(path)
    assert os.read(fd, 100) == b"content"
    os.close(fd)
    os.remove(path)
    assert not os.path.lexists(path)  # with a handle left it would only be marked as to be removed


@on_windows
@pytest.mark.parametrize("tag", [0x9000_601A, 0x8000_0013])
def test_other_reparse_points_are_opened_for_their_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: int
) -> None:
    """A file that OneDrive has downloaded, or a deduplicated one, is opened again, for its content."""
    path = write(tmp_path / "a")
    _tagged(monkeypatch, tag)
    flags: list[int] = []
    usual = windows._open
    monkeypatch.setattr(windows, "_open", lambda p, access, flag: flags.append(flag) or usual(p, access, flag))
    fd = Opener().open(path)
    assert os.read(fd, 100) == b"content"
    os.close(fd)
    assert [bool(flag & windows._OPEN_REPARSE_POINT) for flag in flags] == [True, False]
    os.remove(path)
    assert not os.path.lexists(path)


@on_windows
def test_a_real_link_is_refused(tmp_path: Path) -> None:
    """A symbolic link that Windows itself made is opened only where links are followed."""
    path = write(tmp_path / "a")
    link = tmp_path / "link"
    try:
        link.symlink_to(tmp_path / "a")
    except OSError:
        pytest.skip("making links needs a privilege")
    if not os.path.lexists(link) or not os.lstat(link).st_reparse_tag:
        pytest.skip("this Wine cannot make links")
    with pytest.raises(OSError, match="link") as raised:
        Opener().open(encoded(link))
    assert raised.value.errno == errno.ELOOP
    fd = Opener(follow=True).open(encoded(link))
    assert windows.status_of(fd) == windows.status(path)
    os.close(fd)
