"""Crashes and hangs while reading: files cut short, pipes and devices, files that vanish or may not be read."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from dedupe import Problem
from dedupe.storage import problems
from tests.cases.common import (
    JOBS,
    LINKS,
    MODES_OF_POSIX,
    find,
    found,
    kinds,
    need_root,
    not_on_windows,
    ordinary_user,
    sparse,
)
from tests.conftest import groups, need, slow, write

_BIG = 40 << 20  # enough for workers to start, which map


@pytest.mark.parametrize("length", [0, 4097, (20 << 20) + 5])
def test_b51_truncated_while_mapped(tmp_path: Path, program: Any, length: int) -> None:
    """A file that is cut short while workers have it mapped costs its own place in the result, and nothing else."""
    import json

    for name in "abc":
        slow(tmp_path / "d" / name, 400 << 20)
    for name in "xy":
        slow(tmp_path / "d" / name, 30 << 20)
    process = program("scan", tmp_path / "d", "--no-cache", "--jobs", "2", "--format", "json", "--confirm", "bytes")
    time.sleep(0.35)
    with contextlib.suppress(OSError if sys.platform == "win32" else ()):  # which lets no mapped file be cut short
        os.truncate(tmp_path / "d/a", length)
    out, err = process.communicate(timeout=30)
    assert process.returncode in (0, 3), err
    report = json.loads(out)
    named = {frozenset(map(os.path.basename, g)) for g in groups(report)}
    assert frozenset("xy") in named
    assert frozenset("bc") in named or frozenset("abc") in named
    if process.returncode == 3:
        assert frozenset("bc") in named
        assert [os.path.basename(p["path"]) for p in report["problems"]] == ["a"]


@not_on_windows("Windows keeps mapped files from being cut short, and its workers share no patched code")
def test_b51_a_killed_reader_costs_a_retry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that dies of a map that was cut short is replaced, and its set read again without a map."""
    from dedupe.storage import readers

    for name in "abc":
        slow(tmp_path / name, _BIG)
    usual, own = readers.MappedReader.window, os.stat(tmp_path / "a")

    def cut(self: readers.MappedReader, offset: int, length: int) -> Any:
        window = usual(self, offset, length)
        if os.path.samestat(os.fstat(self._descriptor or 0), own):
            os.truncate(tmp_path / "a", 0)
        return window

    monkeypatch.setattr(readers.MappedReader, "window", cut)  # workers are forked, so they have it too
    result = find(tmp_path, jobs=2)
    assert found(result, tmp_path) == {frozenset("bc")}
    assert kinds(result) == {"a": "changed"}


@pytest.mark.parametrize("starts", [0, 1])
def test_b51_processes_that_cannot_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, starts: int) -> None:
    """Where no worker, or one only, can be started, as with too little memory, the scan goes on with what there is."""
    from multiprocessing.process import BaseProcess

    for name in "abc":
        slow(tmp_path / name, _BIG)
    usual, left = BaseProcess.start, [None] * starts

    def start(self: BaseProcess) -> None:
        if not left:
            raise OSError(errno.EAGAIN, "no more processes")
        left.pop()
        usual(self)

    monkeypatch.setattr(BaseProcess, "start", start)
    result = find(tmp_path, jobs=2)
    assert found(result, tmp_path) == {frozenset("abc")}
    assert result.problems == []


def _special(path: Path, kind: str) -> None:
    """Put something that is no regular file at a path."""
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        here = Path.cwd()
        os.chdir(path.parent)  # the name of a socket may not be long
        socket.socket(socket.AF_UNIX).bind(path.name)
        os.chdir(here)
    elif kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to("b")
    elif kind == "dangling":
        path.symlink_to("nowhere")
    elif kind == "endless":
        path.symlink_to("/dev/zero")
    else:
        need_root()
        os.mknod(path, 0o20600, os.makedev(1, 5))


_KINDS = [
    "folder",
    *(pytest.param(kind, marks=not_on_windows("Windows has none in folders")) for kind in ("fifo", "socket", "device")),
    *(pytest.param(kind, marks=not_on_windows(LINKS)) for kind in ("link", "dangling", "endless")),
]


@not_on_windows("Windows has no pipes, sockets and devices in folders")
@pytest.mark.filterwarnings("ignore:unclosed")
def test_b53_special_files_are_not_opened(tmp_path: Path, cli: Any) -> None:
    """Pipes, sockets and devices are counted and never opened, also behind links, also where links are followed."""
    write(tmp_path / "d/f", b"A" * 5000)
    write(tmp_path / "d/g", b"A" * 5000)
    for kind in ("fifo", "socket", "endless", *(["device"] if os.geteuid() == 0 else [])):
        _special(tmp_path / "d" / kind, kind)
    (tmp_path / "d/to_fifo").symlink_to("fifo")
    for options in ([], ["--follow-symlinks"], ["--min-size", "0"], ["--min-size", "0", "--follow-symlinks"]):
        done = cli("scan", tmp_path / "d", "--no-cache", *options, timeout=20)
        assert done.returncode == 0
        assert b"1 group, 1 redundant file" in done.stdout
        assert b"special file" in done.stdout
    for root in ("fifo", "to_fifo", "endless"):
        done = cli("scan", tmp_path / "d" / root, "--no-cache", timeout=20)
        assert done.returncode == 1
        assert b"neither a file nor a folder" in done.stderr


@pytest.mark.filterwarnings("ignore:unclosed")
@pytest.mark.parametrize("jobs", JOBS)
@pytest.mark.parametrize("phase", ["group_by_fingerprint", "confirm"])
@pytest.mark.parametrize("size", [5000, 100_000, 300_000, _BIG])
@pytest.mark.parametrize("kind", _KINDS)
def test_b53_replaced_after_the_walk(tmp_path: Path, between: Any, kind: str, size: int, phase: str, jobs: int) -> None:
    """A file that became a pipe, device, folder or link after the walk is told as changed, and hangs nothing."""
    for name in "abc":
        sparse(tmp_path / name, size)
    between(phase, lambda: _special(tmp_path / "a", kind))
    result = find(tmp_path, jobs=jobs)
    assert found(result, tmp_path) == {frozenset("bc")}
    # Windows gives one and the same error for a folder and for a file that may not be read
    assert kinds(result) == {"a": "permission" if sys.platform == "win32" else "changed"}


@not_on_windows("Windows has no pipes, sockets and devices in folders")
@pytest.mark.parametrize("phase", ["group_by_fingerprint", "confirm"])
@pytest.mark.parametrize("size", [5000, 100_000, 300_000])
def test_b53_a_pipe_keeps_its_data(tmp_path: Path, between: Any, phase: str, size: int) -> None:
    """Nothing is read from a pipe that took a file's place: its data is still there for its reader."""
    for name in "abc":
        sparse(tmp_path / name, size)
    ends: list[int] = []

    def replace() -> None:
        _special(tmp_path / "a", "fifo")
        ends.append(os.open(tmp_path / "a", os.O_RDWR))
        os.write(ends[0], b"x" * 100)

    between(phase, replace)
    result = find(tmp_path)
    assert kinds(result) == {"a": "changed"}
    assert os.read(ends[0], 200) == b"x" * 100
    os.close(ends[0])


@pytest.mark.parametrize("jobs", JOBS)
@pytest.mark.parametrize("size", [5000, 300_000, _BIG])
def test_b53_a_parent_folder_replaced_by_a_link(tmp_path: Path, between: Any, size: int, jobs: int) -> None:
    """A file that is reached through another folder than the walk saw is not taken for the one it saw."""
    for name in ("p/a", "b", "c", "elsewhere/a"):
        sparse(tmp_path / name, size)

    def replace() -> None:
        os.rename(tmp_path / "p", tmp_path / "gone")
        if sys.platform == "win32":  # another folder in its place does as well as a link to one
            os.rename(tmp_path / "elsewhere", tmp_path / "p")
        else:
            (tmp_path / "p").symlink_to("elsewhere")

    between("confirm", replace)
    result = find(tmp_path, jobs=jobs, exclude=["elsewhere"])
    assert found(result, tmp_path) == {frozenset("bc")}
    assert kinds(result) == {"a": "changed"}


@pytest.mark.parametrize("jobs", JOBS)
@pytest.mark.parametrize("phase", ["group_by_size", "group_by_fingerprint", "confirm"])
@pytest.mark.parametrize("size", [5000, 300_000, _BIG])
def test_b57_vanished_after_the_walk(tmp_path: Path, between: Any, phase: str, size: int, jobs: int) -> None:
    """A file that vanished after the walk is counted and listed, and its twins still found."""
    for name in ("x/a", "y", "z", "w/k", "w/l"):
        sparse(tmp_path / name, size)
    between(phase, lambda: shutil.rmtree(tmp_path / "x"))
    result = find(tmp_path, jobs=jobs)
    assert found(result, tmp_path) == {frozenset({"y", "z", "w/k", "w/l"})}
    assert kinds(result) == {"a": "vanished"}


def test_b57_folders_vanish_during_the_scan(tmp_path: Path, program: Any) -> None:
    """Thousands of files that vanish while they are scanned are counted; the text tells a few of them only."""
    for i in range(2000):
        write(tmp_path / f"d/{i % 30}/{i}", b"x" * 20_000)
    process = program("scan", tmp_path / "d", "--no-cache")
    time.sleep(0.25)
    for i in range(0, 30, 2):
        shutil.rmtree(tmp_path / f"d/{i}", ignore_errors=True)
    out, err = process.communicate(timeout=60)
    assert process.returncode in (0, 3), err
    assert b"Traceback" not in err
    assert b"1 group" in out
    assert out.count(b": vanished") <= 5


def test_b57_every_file_gone(tmp_path: Path, between: Any) -> None:
    """A scan whose files all vanished ends with no group and all of them listed."""
    for name in "abc":
        write(tmp_path / "d" / name, b"x" * 5000)
    between("group_by_fingerprint", lambda: shutil.rmtree(tmp_path / "d"))
    result = find(tmp_path)
    assert not result.groups
    assert result.totals.problems == 3


@not_on_windows(MODES_OF_POSIX)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_b58_unreadable_files_and_folders(tmp_path: Path, cli: Any, scan_json: Any, jobs: str) -> None:
    """What may not be read is listed, each once and with its reason; all else is found, and the exit code is 3."""
    user = ordinary_user()
    top = tmp_path / "d"
    for name in ("a", "b", "no_file", "no_list/x", "no_enter/y", "no_enter/z", "fine/c"):
        write(top / name, b"A" * 5000)
    for name, mode in (("no_file", 0), ("no_list", 0), ("no_enter", 0o400)):
        (top / name).chmod(mode)
    try:
        report = scan_json(top, "--no-cache", "--jobs", jobs, preexec_fn=user)
        done = cli("scan", top, "--no-cache", "--jobs", jobs, preexec_fn=user)
        alone = cli("scan", top / "no_list", "--no-cache", preexec_fn=user)
        beside = cli("scan", top / "no_list", top / "a", top / "b", "--no-cache", preexec_fn=user)
        inside = cli("scan", top / "no_enter/y", "--no-cache", preexec_fn=user)
    finally:
        for name in ("no_list", "no_enter"):
            (top / name).chmod(0o700)
    assert groups(report) == {frozenset(str(top / n) for n in ("a", "b", "fine/c"))}
    told = [(os.path.relpath(p["path"], top), p["kind"]) for p in report["problems"]]
    assert told == [(n, "permission") for n in ("no_enter/y", "no_enter/z", "no_file", "no_list")]
    assert [r.returncode for r in (done, alone, beside, inside)] == [3, 1, 3, 1]
    assert b"4 entries" in done.stdout
    assert b"Permission denied" in alone.stderr
    assert b"Traceback" not in done.stderr + alone.stderr + beside.stderr + inside.stderr


def test_b58_a_missing_root_is_told(tmp_path: Path, cli: Any) -> None:
    """A root that is not there is a problem beside others, and the end where it is the only one."""
    write(tmp_path / "d/a", b"A" * 5000)
    assert cli("scan", "d", "missing", "--no-cache").returncode == 3
    done = cli("scan", "missing", "--no-cache")
    assert done.returncode == 1
    assert b"does not exist" in done.stderr
    assert cli("scan", "d/a/below", "--no-cache").returncode == 1


@pytest.mark.parametrize("year", [1950, 1969, 2262, 2300, 2400])
def test_b58_files_with_any_date_are_compared(tmp_path: Path, scan_json: Any, year: int) -> None:
    """A file's date, however far off, ends no scan and keeps no copy from being found."""
    for name in "ab":
        path = write(tmp_path / "d" / name, b"A" * 5000)
        os.utime(path, ns=((year - 1970) * 31_556_952 * 10**9 + 123,) * 2)
    want = os.stat(tmp_path / "d/a").st_mtime_ns
    for _ in range(2):
        report = scan_json(tmp_path / "d", "--cache", tmp_path / "c.db")
        assert [f["modified_ns"] for g in report["groups"] for f in g["files"]] == [want, want]


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.EACCES, "permission"),
        (errno.ENOENT, "vanished"),
        (errno.ESTALE, "io"),
        (errno.EIO, "io"),
        (errno.ENAMETOOLONG, "too-long"),
        (errno.EISDIR, "changed"),
    ],
)
def test_b58_every_error_has_a_kind(number: int, kind: str) -> None:
    """Any error of the system becomes a problem of some kind with a message."""
    problem: Problem = problems.of_error(b"/f", OSError(number, os.strerror(number)))
    assert str(problem.kind) == kind
    assert problem.message


@not_on_windows("Windows has no pipes, sockets and devices in folders")
def test_b53_a_pipe_with_a_waiting_writer_does_not_hang(tmp_path: Path, cli: Any) -> None:
    """A pipe whose writer waits for a reader is left alone: the writer still waits after the scan."""
    need(hasattr(os, "mkfifo"), "pipes with names")
    os.mkfifo(tmp_path / "p")
    write(tmp_path / "f", b"A")
    writer = threading.Thread(target=lambda: (tmp_path / "p").write_bytes(b"kept"), daemon=True)
    writer.start()
    assert cli("scan", tmp_path, "--no-cache", timeout=20).returncode == 0
    assert writer.is_alive()
    assert (tmp_path / "p").read_bytes() == b"kept"
    writer.join(5)
