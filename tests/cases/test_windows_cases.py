r"""Cases of Windows: what its files, its shells, its consoles and its digests do to a finder of duplicates.

Most ask Windows itself, or Wine in `.ci/windows`.  What Wine cannot show (placeholders in a cloud, junctions, folders
that differ in case only) is walked for real with another attribute standing for it, and judged on faked values.
"""

from __future__ import annotations

import csv
import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dedupe.checksums.hash_files import HashConfig, Hashing
from dedupe.compare.tuning import MEASURED
from dedupe.config import ScanConfig
from dedupe.digests import cng
from dedupe.digests.cng import CngBackend
from dedupe.progress import Silent
from dedupe.storage import file_stat, placeholders, readers, windows
from dedupe.storage.paths import absolute
from dedupe.walk import scanner
from dedupe.walk.filters import Filters
from tests.cases.common import find, found, kinds, not_on_windows, settle, sparse
from tests.conftest import groups, write
from tests.strict_bcrypt import StrictBcrypt

on_windows = pytest.mark.skipif(sys.platform != "win32", reason="asks Windows itself: .ci/windows runs it")
ARCHIVE, DIRECTORY, REPARSE_POINT, HIDDEN = 0x20, 0x10, 0x400, 0x2
_N = 5000
_NAMES = ["é", "日本", "😀", "a\u202eb", "[x]", "100% &", "e\u0301", "ﬁ", "x\u2028y", "-rf", "Ж", "%PATH%", " lead"]


@pytest.fixture
def drive_d(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Return a new folder on D:, and remove it in the end.  One that is there already is a user's and stays alone."""
    top = Path("D:\\", "photos" if request.node.name == "test_first_use_on_a_drive" else request.node.name)
    try:
        top.mkdir()
    except OSError:
        pytest.skip(f"this machine has no drive D:, or {top} is there already")
    yield top
    shutil.rmtree(top)


def _hide(path: Path) -> None:
    """Set the attribute of hidden files."""
    assert ctypes.WinDLL("kernel32").SetFileAttributesW(str(path), HIDDEN)


def _as_typed(line: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the program with a command line as a shell of Windows hands it over, quotes and all."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = f'"{sys.executable}" -m dedupe {line}'
    return subprocess.run(command, capture_output=True, check=False, env=env, timeout=60, **options)


@on_windows
def test_first_use_on_a_drive(cli: Any, drive_d: Path, tmp_path: Path) -> None:
    """A scan of a folder on D: with SHA-256 into a CSV gives each group, digest and path as a spreadsheet reads it."""
    data = b"sunset" * 9000
    for name, content in (("2011/a.jpg", data), ("2012/é 日.jpg", data), ("other.jpg", data[:-1] + b"!")):
        write(drive_d / name, content)
    done = cli("scan", str(drive_d), "--confirm", "sha256", "--output", "out.csv", "--cache", tmp_path / "c.db")
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    with (tmp_path / "out.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["path"] for row in rows] == ["D:\\photos\\2011\\a.jpg", "D:\\photos\\2012\\é 日.jpg"]
    assert {(row["group"], row["size"]) for row in rows} == {("1", str(len(data)))}
    assert hashlib.sha256(data).hexdigest() in rows[0].values()


@pytest.mark.parametrize("length", [999, 1000, 1001, 2000, 12_345])
def test_b06_lengths_of_cng_are_32_bits(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    """However long an update is, no call of CNG gets more than a block, and a block fits into 32 bits many times."""
    assert cng.BLOCK < 1 << 31
    monkeypatch.setattr(cng, "BLOCK", 1000)
    dll, data = StrictBcrypt(), os.urandom(length)
    assert CngBackend(dll).hasher("sha256", data).digest() == hashlib.sha256(data).digest()
    assert dll.largest <= 1000


def test_b07_no_file_is_hashed_in_one_piece(tmp_path: Path) -> None:
    """A file goes through CNG piece by piece, so that memory does not grow with it."""
    dll = StrictBcrypt()
    files = [absolute(os.fsencode(sparse(tmp_path / name, 96 << 20, (70 << 20, b"x")))) for name in "ab"]
    with Hashing(HashConfig(jobs=1, backend="hashlib"), Silent(), sys.stdin.buffer) as hashing:
        hashing._backend = CngBackend(dll)
        digests = {hashed.digest for hashed in hashing.digests(files)}
    with (tmp_path / "a").open("rb") as file:
        assert digests == {hashlib.file_digest(file, "sha256").digest()}
    assert dll.largest <= MEASURED.window


@on_windows
def test_cng_agrees_with_hashlib(cli: Any, tmp_path: Path) -> None:
    """`hash --backend cng` gives hashlib's digests for every size to 130 and around the edges of blocks and reads."""
    edges = (256, 4096, 1 << 16, MEASURED.small, MEASURED.step, MEASURED.window, cng.BLOCK)
    sizes = [*range(131), *(edge + by for edge in edges for by in (-1, 0, 1))]
    for size in sizes:
        write(tmp_path / f"{size}", os.urandom(min(size, 1 << 20)) + bytes(max(0, size - (1 << 20))))
    for algorithm in ("sha256", "md5"):
        options = ("--backend", "cng", "--algorithm", algorithm, "--no-cache")
        done = cli("hash", *options, *map(str, sizes))
        assert done.returncode == 0, done.stderr
        told = {int(name): digest for digest, name in map(str.split, done.stdout.decode().splitlines())}
        for size in sizes:
            with (tmp_path / f"{size}").open("rb") as file:
                assert told[size] == hashlib.file_digest(file, algorithm).hexdigest()
        assert len(told) == len(sizes)


def test_b24_b26_a_second_scan_reads_nothing(scan_json: Any, tmp_path: Path) -> None:
    """Both sides of every comparison of dates come from one kind of call: hundreds of untouched files all stand."""
    for n in range(300):
        write(tmp_path / f"d/{n % 7}/{n}", b"%04d" % (n // 2) * 99)
    settle()
    cache = ("--cache", tmp_path / "c.db")
    first, second = (scan_json(tmp_path / "d", *cache) for _ in range(2))
    assert groups(first) == groups(second)
    assert len(second["groups"]) == 150
    assert (second["totals"]["cache_hits"], second["totals"]["bytes_read"]) == (300, 0)


def test_b25_a_file_that_is_being_written(tmp_path: Path) -> None:
    """The size of a file that is still open for writing, or was written by another name, is not old news."""
    write(tmp_path / "b", b"A" * _N)
    write(tmp_path / "c", b"")
    os.link(tmp_path / "c", tmp_path / "sub_c")
    with (tmp_path / "a").open("wb") as a, (tmp_path / "c").open("wb") as c:
        for file in (a, c):
            file.write(b"A" * _N)
            file.flush()
        result = find(tmp_path, min_size=0)
    assert found(result, tmp_path) == {frozenset("abc")}
    assert [[os.path.basename(p) for p in f.links] for f in result.groups[0].files] == [[], [], [b"sub_c"]]


@on_windows
def test_b25_a_listing_is_not_asked_for_sizes(tmp_path: Path) -> None:
    """Size, dates and number of a listed file come from a handle, whatever the listing says."""

    def old_news(**_: object) -> None:
        raise AssertionError("the listing was asked")

    path = absolute(os.fsencode(write(tmp_path / "a", b"A" * _N)))
    entry: Any = SimpleNamespace(path=path, stat=old_news)
    *stat, device = [value for (value,) in file_stat.columns([entry], follow=False)]
    assert stat == list(file_stat.of_path(path))
    assert device == file_stat.identity(path)[0]


@on_windows
def test_o08_the_time_of_change_is_no_time_of_creation(tmp_path: Path) -> None:
    """A rewrite whose date was put back shows in the status, and so does a new file under the old name."""
    path = absolute(os.fsencode(write(tmp_path / "a", b"A" * _N)))
    seen = [file_stat.of_path(path)]
    for remake in (False, True):  # Windows gives a name that returns within 15 seconds its old creation time
        time.sleep(0.05)
        if remake:
            (tmp_path / "a").unlink()
        (tmp_path / "a").write_bytes(b"B" * _N)
        os.utime(tmp_path / "a", ns=(seen[0].modified_ns,) * 2)
        seen.append(file_stat.of_path(path))
    assert len({(s.size, s.modified_ns) for s in seen}) == 1
    assert seen[0].changed_ns < seen[1].changed_ns < seen[2].changed_ns


def test_o08_a_file_made_anew_is_read_again(tmp_path: Path) -> None:
    """A file that was deleted and made again with its size and date is not served from the cache."""
    top, cache = tmp_path / "d", tmp_path / "c.db"
    for name in "ab":
        write(top / name, b"A" * _N)
    settle()
    for _ in range(2):
        assert found(find(top, cache=cache), top) == {frozenset("ab")}
    assert find(top, cache=cache).totals.bytes_read == 0
    date = os.stat(top / "a").st_mtime_ns
    (top / "a").unlink()
    write(top / "a", b"B" * _N)
    os.utime(top / "a", ns=(date, date))
    assert not find(top, cache=cache).groups


def test_b42_a_name_that_changed_its_case(tmp_path: Path) -> None:
    """Files and folders that were renamed in case only are no duplicates of what they were called before."""
    top, cache = tmp_path / "d", tmp_path / "c.db"
    write(top / "dl/x", os.urandom(_N))
    write(top / "y", os.urandom(_N))
    settle()
    for source, target in (("dl/x", "dl/X"), ("dl", "DL")):
        assert not find(top, cache=cache).groups
        os.rename(top / source, top / target)
    result = find(top, cache=cache)
    assert not result.groups
    assert result.totals.files == 2
    shutil.copy(top / "DL/X", top / "z")
    (listed,) = (path.relative_to(top).as_posix() for path in top.rglob("*") if path.name.lower() == "x")
    assert listed == "DL/X" or sys.platform == "win32"  # Wine 8 leaves a name as it was
    assert found(find(top, cache=cache), top) == {frozenset({listed, "z"})}


@not_on_windows("folders there differ in more than case unless one was told otherwise, which Wine cannot do")
def test_b42_folders_that_differ_in_case_only(tmp_path: Path, scan_json: Any) -> None:
    """Two files whose paths differ in case only are two files, under the names that were listed."""
    if sys.platform == "darwin":
        pytest.skip("folders there differ in more than case too")
    for name in ("Dl/f", "dl/f"):
        write(tmp_path / name, b"A" * _N)
    want = {frozenset(str(tmp_path / name) for name in ("Dl/f", "dl/f"))}
    assert groups(scan_json(tmp_path, "--no-cache")) == want


def _lister(**options: Any) -> scanner.FolderScanner:
    """Return what lists folders by the rules of a scan."""
    config = ScanConfig(roots=["x"], **options)
    rules = {"one_file_system": False, "follow": config.follow_symlinks, "cloud_files": config.cloud_files}
    return scanner.FolderScanner(Filters.of(config), frozenset(), frozenset(), **rules)


_TAGS = [
    (DIRECTORY | REPARSE_POINT, 0xA000_0003, "symlink"),  # a junction
    (ARCHIVE | REPARSE_POINT, 0xA000_000C, "symlink"),
    (ARCHIVE | REPARSE_POINT | 0x40_0000, 0x9000_601A, "cloud-placeholder"),  # in OneDrive only
    (ARCHIVE | 0x1000, 0, "cloud-placeholder"),
    (DIRECTORY | 0x4_0000, 0, "cloud-placeholder"),
    (ARCHIVE | REPARSE_POINT, 0x9000_601A, None),  # of OneDrive, and here
    (ARCHIVE | 0x8_0000, 0, None),
    (DIRECTORY, 0, None),
]


@pytest.mark.parametrize(("attributes", "tag", "reason"), _TAGS)
def test_b49_b86_attributes_keep_entries_out(
    monkeypatch: pytest.MonkeyPatch, attributes: int, tag: int, reason: str | None
) -> None:
    """Junctions and files in a cloud are left out by what their folder tells of them, before anything opens them."""
    seen = SimpleNamespace(st_file_attributes=attributes, st_reparse_tag=tag)
    entry: Any = SimpleNamespace(stat=lambda **_: seen, is_symlink=lambda: False)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "platform", "win32")
        plain = _lister()._left_out_unopened(entry)
        asked = _lister(cloud_files=True, follow_symlinks=True)._left_out_unopened(entry)
    assert plain == reason
    assert asked is None


@on_windows
def test_b49_a_junction_that_loops(tmp_path: Path) -> None:
    """A junction that leads back up is left out and counted; where links are followed it shows no file twice."""
    for name in ("d/a", "d/b"):
        write(tmp_path / name, b"A" * _N)
    loop = tmp_path / "d" / "loop"
    subprocess.run(["cmd", "/c", "mklink", "/J", str(loop), str(tmp_path / "d")], check=False, capture_output=True)
    if not os.path.lexists(loop) or not os.lstat(loop).st_reparse_tag:
        pytest.skip("this Wine cannot make junctions")
    for follow in (False, True):
        result = find(tmp_path / "d", follow_symlinks=follow)
        assert found(result, tmp_path / "d") == {frozenset("ab")}
        assert result.totals.skipped == {"symlink": 1}


@on_windows
def test_b49_a_walk_leaves_junctions_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The walk asks of each folder whether it is a junction, and enters none: hidden ones stand for junctions here."""
    for name in ("a", "b", "junction/c"):
        write(tmp_path / name, b"A" * _N)
    _hide(tmp_path / "junction")
    monkeypatch.setattr(windows, "is_junction_or_link", lambda attributes, _: bool(attributes & HIDDEN))
    result = find(tmp_path, jobs=1)
    assert found(result, tmp_path) == {frozenset("ab")}
    assert result.totals.skipped == {"symlink": 1}


@on_windows
def test_b86_a_walk_leaves_placeholders_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and folders in a cloud are counted and never opened, until asked for: hidden ones stand for them here."""
    for name in ("a", "b", "far", "folder/c"):
        write(tmp_path / name, b"A" * _N)
    for name in ("far", "folder"):
        _hide(tmp_path / name)
    opened: list[bytes] = []
    usual = windows.open_for_reading

    def open_it(path: bytes, *, follow: bool) -> int:
        opened.append(os.path.basename(path))
        return usual(path, follow=follow)

    monkeypatch.setattr(windows, "open_for_reading", open_it)
    monkeypatch.setattr(placeholders, "_CLOUD", HIDDEN)
    result = find(tmp_path, jobs=1)
    assert found(result, tmp_path) == {frozenset("ab")}
    assert result.totals.skipped == {"cloud-placeholder": 2}
    assert find(tmp_path / "far", tmp_path / "a", jobs=1).totals.skipped == {"cloud-placeholder": 1}
    assert set(opened) <= {b"a", b"b"}
    assert found(find(tmp_path, jobs=1, cloud_files=True), tmp_path) == {frozenset({"a", "b", "far", "folder/c"})}


def test_b68_others_rename_and_delete_what_we_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a file is read another program may write to it, rename it and delete it, and the rest is still found."""
    for name in "abcde":
        sparse(tmp_path / name, 1 << 20)
    usual, begun = readers.PlainReader.window, []

    def window(self: readers.PlainReader, offset: int, length: int) -> Any:
        if not begun:
            begun.append(offset)
            os.rename(tmp_path / "c", tmp_path / "c2")
            (tmp_path / "d").unlink()
            with (tmp_path / "e").open("r+b") as file:
                file.write(b"new")
        return usual(self, offset, length)

    monkeypatch.setattr(readers.PlainReader, "window", window)
    result = find(tmp_path, jobs=1)
    assert begun
    assert any({"a", "b"} <= group for group in found(result, tmp_path))
    assert "e" in kinds(result)
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c2", "e"]


@pytest.mark.parametrize("mode", ["sha256", "bytes"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_b68_nothing_is_held_after_a_scan(tmp_path: Path, mode: str, jobs: int) -> None:
    """As soon as a scan has ended its files can be renamed, cut, replaced and deleted: no map and no handle is left."""
    for name in "abcd":
        sparse(tmp_path / "d" / name, 34 << 20)
    assert len(find(tmp_path / "d", confirm=mode, jobs=jobs).groups) == 1
    os.truncate(tmp_path / "d/a", 5)
    os.replace(tmp_path / "d/a", tmp_path / "d/b")
    os.rename(tmp_path / "d/c", tmp_path / "d/c2")
    shutil.rmtree(tmp_path / "d")
    assert os.listdir(tmp_path) == []


def test_b83_patterns_are_not_expanded(scan_json: Any, tmp_path: Path) -> None:
    """What looks like a pattern reaches the program as it was typed: no file names come in its place."""
    for name in ("a.tmp", "b.tmp", "c", "d", "[2011] x/e.tmp", "[2011] x/f", "2/g"):
        write(tmp_path / name, b"A" * _N)
    want = {frozenset(str(tmp_path / name).replace("/", os.sep) for name in ("c", "d", "[2011] x/f", "2/g"))}
    assert groups(scan_json(".", "--no-cache", "--exclude", "*.tmp")) == want
    report = scan_json("[2011] x", "--no-cache")
    assert (report["totals"]["files"], report["problems"]) == (2, [])


@on_windows
def test_b84_a_backslash_before_the_closing_quote(drive_d: Path, tmp_path: Path) -> None:
    r"""`"D:\"` at the end of a line is mended with a note; where it swallows arguments, a sentence says so."""
    for name in "ab":
        write(drive_d / name, b"A" * _N)
    done = _as_typed(f'scan --no-cache --format paths "{drive_d}\\"', cwd=tmp_path)
    assert done.returncode == 0
    assert b"stands for a quote" in done.stderr
    assert done.stdout.decode().split() == [str(drive_d / name) for name in "ab"]
    root = _as_typed('scan --no-cache --min-size 1T "D:\\"', cwd=tmp_path)
    assert root.returncode in (0, 3)  # other tests come and go there
    assert b"as D:\\, because" in root.stderr
    swallowed = _as_typed('scan "D:\\" --no-cache --output out.json', cwd=tmp_path)
    assert (swallowed.returncode, swallowed.stdout) == (2, b"")
    assert b"took in the arguments after it" in swallowed.stderr
    assert os.listdir(tmp_path) == []


@on_windows
def test_b84_a_drive_without_a_backslash(drive_d: Path) -> None:
    """`D:` is the current folder of that drive, and the program says so."""
    for name in ("a", "b", "below/c"):
        write(drive_d / name, b"A" * _N)
    done = _as_typed("scan D: --no-cache --format paths", cwd=drive_d)
    assert done.returncode == 0
    assert b"means the current directory on that drive" in done.stderr
    assert sorted(done.stdout.decode().split()) == [str(drive_d / name) for name in ("a", "b", "below\\c")]


@on_windows
@pytest.mark.parametrize("jobs", [1, 2])
def test_o10_files_that_are_locked(tmp_path: Path, jobs: int) -> None:
    """A file that its owner shares with nobody is told once, at once, and all else is found."""
    for name in "abc":
        sparse(tmp_path / name, 34 << 20)
    kernel32 = ctypes.WinDLL("kernel32")
    kernel32.CreateFileW.restype = ctypes.c_void_p
    handle = kernel32.CreateFileW(str(tmp_path / "a"), 0x8000_0000, 0, None, 3, 0, None)
    try:
        begun = time.perf_counter()
        result = find(tmp_path, jobs=jobs)
        assert time.perf_counter() - begun < 20
    finally:
        kernel32.CloseHandle(ctypes.c_void_p(handle))
    assert found(result, tmp_path) == {frozenset("bc")}
    assert kinds(result) == {"a": "permission"}


@pytest.mark.parametrize("encoding", ["cp437", "cp932", "cp1252"])
def test_consoles_of_any_code_page_take_any_name(cli: Any, tmp_path: Path, encoding: str) -> None:
    """Names that a code page lacks end neither a scan nor a list of checksums: one line each."""
    for name in _NAMES:
        write(tmp_path / "d" / f"{name}.bin", b"A" * _N)
    env = {"PYTHONIOENCODING": encoding}
    scanned = cli("scan", "d", "--no-cache", "--verbose", env=env)
    hashed = cli("hash", "--recursive", "d", "--no-cache", env=env)
    for done in (scanned, hashed):
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr
        assert sum(b".bin" in line for line in done.stdout.split(b"\n")) == len(_NAMES)
    missing = cli("scan", "d", *(f"gone {name}.bin" for name in _NAMES), "--no-cache", env=env)
    assert missing.returncode == 3
    assert b"Traceback" not in missing.stderr


def _processes() -> dict[int, int]:
    """Return the parent of each process, as Windows lists them."""

    class Entry(ctypes.Structure):
        """PROCESSENTRY32W."""

        _fields_ = (
            ("size", ctypes.c_uint32),
            ("usage", ctypes.c_uint32),
            ("process", ctypes.c_uint32),
            ("heap", ctypes.c_size_t),
            ("module", ctypes.c_uint32),
            ("threads", ctypes.c_uint32),
            ("parent", ctypes.c_uint32),
            ("priority", ctypes.c_int32),
            ("flags", ctypes.c_uint32),
            ("name", ctypes.c_wchar * 260),
        )

    kernel32 = ctypes.WinDLL("kernel32")
    kernel32.CreateToolhelp32Snapshot.restype = ctypes.c_void_p
    snapshot = ctypes.c_void_p(kernel32.CreateToolhelp32Snapshot(2, 0))
    entry = Entry(size=ctypes.sizeof(Entry))
    parents: dict[int, int] = {}
    going_on = kernel32.Process32FirstW(snapshot, ctypes.byref(entry))
    while going_on:
        parents[entry.process] = entry.parent
        going_on = kernel32.Process32NextW(snapshot, ctypes.byref(entry))
    kernel32.CloseHandle(snapshot)
    return parents


def _below(process: int) -> set[int]:
    """Return the processes that one started, and those that they started."""
    parents, found = _processes(), {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {process}


def _until(true: Callable[[], object], seconds: float) -> bool:
    """Wait until something is so, and tell whether it came to be."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@on_windows
def test_b94_no_worker_outlives_a_killed_program(tmp_path: Path, program: Any) -> None:
    """After the main process was ended from outside none of its workers is left, and the cache opens again."""
    top, cache = tmp_path / "d", tmp_path / "c.db"
    for n in range(20):
        sparse(top / f"{n}", 1 << 30)
    process = program("scan", top, "--cache", cache, "--jobs", "2")
    assert _until(lambda: len(_below(process.pid)) >= 2, 30)
    workers = _below(process.pid)
    process.kill()
    process.communicate(timeout=20)
    assert _until(lambda: not workers & _processes().keys(), 10)
    assert not find(top / "1", cache=cache).notes
    shutil.rmtree(top)
