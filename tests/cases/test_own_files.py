"""What the program itself writes is never scanned, and never overwrites what it scans."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dedupe.digests import choose
from dedupe.digests.registry import load
from tests.cases.common import LINKS, SIGNALS, find, found, need_root, not_on_windows
from tests.conftest import groups, write
from tests.disks import unmount

_DATA = b"precious" * 1000


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Return a folder with two equal files of a user."""
    for name in ("a.json", "b.bin"):
        write(tmp_path / "d" / name, _DATA)
    return tmp_path / "d"


_PAIR = ("a.json", "b.bin")


def _pair(top: Path) -> set[frozenset[str]]:
    """Return the one group that is there to find."""
    return {frozenset(str(top / name) for name in _PAIR)}


@pytest.mark.parametrize("ending", ["json", "csv", "txt", "jsonl", "html", "db"])
def test_o02_a_report_inside_a_root(cli: Any, scan_json: Any, top: Path, ending: str) -> None:
    """A report inside a scanned folder is not scanned, may be renewed, and leaves nothing else behind."""
    target = top / f"out.{ending}"
    if cli("scan", "d", "--no-cache", "--output", target).stderr.startswith(b"Traceback"):
        pytest.skip("this format is still to come")
    first = target.read_bytes()
    shutil.copy(target, top / "copy")
    done = cli("scan", "d", "--no-cache", "--output", target)
    assert done.returncode == 0, done.stderr
    assert len(target.read_bytes()) > len(first) // 2
    assert sorted(p.name for p in top.iterdir()) == sorted(["a.json", "b.bin", "copy", f"out.{ending}"])
    assert groups(scan_json(top, "--no-cache", "--exclude", "copy")) == _pair(top)


@pytest.mark.parametrize(
    "name",
    [
        "a.json",
        "./a.json",
        "sub/../a.json",
        pytest.param("link.json", marks=not_on_windows(LINKS)),
        pytest.param("way/a.json", marks=not_on_windows(LINKS)),
        "hard.json",
    ],
)
def test_o02_a_report_over_a_scanned_file(cli: Any, top: Path, tmp_path: Path, name: str) -> None:
    """A report that would overwrite a scanned file is refused before anything is read, by whatever name."""
    (top / "sub").mkdir()
    (top / "link.json").symlink_to("a.json")
    (top / "way").symlink_to(".")
    os.link(top / "a.json", top / "hard.json")
    before = sorted(p.name for p in top.iterdir())
    for roots in ([top], [top / "a.json", tmp_path]):
        done = cli("scan", *roots, "--no-cache", "--output", top / name)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"one of the files to be scanned" in done.stderr
        assert (top / "a.json").read_bytes() == _DATA
        assert sorted(p.name for p in top.iterdir()) == before


def test_o02_a_report_over_a_file_through_a_bind_mount(cli: Any, top: Path, tmp_path: Path) -> None:
    """A report that would overwrite a scanned file through another mount point is refused."""
    need_root()
    (tmp_path / "m").mkdir()
    subprocess.run(["mount", "--bind", top, tmp_path / "m"], check=True)
    try:
        assert cli("scan", top, "--no-cache", "--output", tmp_path / "m/a.json").returncode == 2
    finally:
        unmount(tmp_path / "m")
    assert (top / "a.json").read_bytes() == _DATA


@pytest.mark.parametrize("name", ["user.db", "page.html", "data.csv", "more.json", "notes.txt"])
def test_o02_a_users_file_that_looks_like_a_report(cli: Any, top: Path, name: str) -> None:
    """A user's own database, page or table inside a scanned folder is no report of ours, and stays."""
    path = top / name
    if name == "user.db":
        database = sqlite3.connect(path)
        database.execute("CREATE TABLE scan (schema TEXT)")
        database.execute("INSERT INTO scan VALUES ('mine')")
        database.commit()
        database.close()
    else:
        text = {"page.html": "<!doctype html><p>mine", "data.csv": "group,file\n", "more.json": '{"schema": "mine"}'}
        write(path, text.get(name, "Group 1: my friends\n").encode())
    before = path.read_bytes()
    done = cli("scan", top, "--no-cache", "--output", path)
    assert done.returncode == 2
    assert path.read_bytes() == before


@pytest.mark.parametrize("append", [False, True])
def test_o02_standard_output_inside_a_root(top: Path, tmp_path: Path, append: bool) -> None:  # noqa: FBT001
    """A result that the shell writes into a scanned folder is not scanned, neither is what goes to standard error."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    mode = "ab" if append else "wb"
    for name in ("out.json", "err.txt"):
        write(top / name, _DATA if append else b"")
    with (top / "out.json").open(mode) as out, (top / "err.txt").open(mode) as err:
        command = [sys.executable, "-m", "dedupe", "scan", top, "--no-cache", "--format", "json", "--verbose"]
        subprocess.run([*command, "--min-size", "0"], stdout=out, stderr=err, env=env, check=True)
    report = json.loads((top / "out.json").read_bytes().removeprefix(_DATA))
    assert groups(report) == _pair(top)
    assert report["totals"]["skipped"]["own-output"] == 2


def test_o02_the_cache_inside_a_root(cli: Any, scan_json: Any, top: Path) -> None:
    """A cache inside a scanned folder, with its log, is not scanned, nor is a hard link to it."""
    cache = top / "deep" / "c.db"
    for _ in range(2):
        report = scan_json(top, "--cache", cache)
        assert groups(report) == _pair(top)
        assert report["totals"]["files"] == 2
        assert report["totals"]["skipped"]["own-output"] >= 1
    os.link(cache, top / "hard.db")
    assert scan_json(top, "--cache", cache)["totals"]["files"] == 2


class _Rival:
    """Another backend beside hashlib, so that there is something to measure on every system."""

    name = "rival"
    algorithms = frozenset({"sha256"})

    def hasher(self, algorithm: str, data: bytes = b"", /, **_: object) -> Any:
        """Return a hasher of hashlib's."""
        return hashlib.new(algorithm, data)


@pytest.mark.parametrize("ours", [True, False])
def test_o02_measurements_of_backends(top: Path, monkeypatch: pytest.MonkeyPatch, ours: bool) -> None:  # noqa: FBT001
    """How fast backends are is kept beside a cache of ours only, is not scanned, and overwrites no file of a user."""
    monkeypatch.setattr(choose, "_contenders", lambda _: ([load("hashlib"), _Rival()], []))
    write(top / "backends.json", _DATA)
    cache = top / ("c.db" if ours else "b.bin")
    for _ in range(2):
        result = find(top, cache=cache, jobs=1, confirm="sha256")
        assert found(result, top) == {frozenset({*_PAIR, "backends.json"})}
        assert result.totals.files == 3
        assert "measured here" in result.backend.reason
    assert (top / "backends.json").read_bytes() == _DATA
    assert (top / "c.db-backends").exists() is ours
    assert len(list(top.iterdir())) == (5 if ours else 3)


@not_on_windows(LINKS)
def test_o02_the_cache_inside_a_root_by_a_link(scan_json: Any, top: Path) -> None:
    """A cache inside a scanned folder is not scanned where it is named by a link, nor where links are followed."""
    cache = top / "deep" / "c.db"
    scan_json(top, "--cache", cache)
    (top / "soft.db").symlink_to(cache)
    assert scan_json(top, "--cache", cache)["totals"]["files"] == 2
    assert scan_json(top, "--cache", top / "soft.db")["totals"]["files"] == 2
    assert scan_json(top, "--cache", cache, "--follow-symlinks")["totals"]["files"] == 2


@pytest.mark.parametrize(
    "end",
    [
        "",
        pytest.param("-wal", marks=not_on_windows(LINKS)),
        pytest.param("-shm", marks=not_on_windows(LINKS)),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_o02_a_report_over_the_cache(cli: Any, top: Path, tmp_path: Path, end: str, inside: bool) -> None:  # noqa: FBT001
    """A report that would overwrite the cache is refused, there or not, by its name or through a link."""
    cache = (top if inside else tmp_path) / "c.json"
    for _ in range(2):
        target = Path(f"{cache}{end}")
        if end:
            target = tmp_path / "l.json"
            target.unlink(missing_ok=True)
            target.symlink_to(f"{cache}{end}")
        done = cli("scan", top, "--cache", cache, "--output", target)
        assert done.returncode == 2
        assert b"is the cache" in done.stderr
        cli("scan", top, "--cache", cache)
        assert cache.read_bytes().startswith(b"SQLite format 3")


def test_o02_two_reports_in_one_file(cli: Any, top: Path, tmp_path: Path) -> None:
    """Two reports cannot go into one file, by one name or by two."""
    (tmp_path / "l.csv").symlink_to("r.csv")
    by_link = [("r.csv", "l.csv"), ("l.csv", "r.csv")] if sys.platform != "win32" else []  # where links are made
    for names in [("r.csv", "r.csv"), ("r.csv", "./r.csv"), *by_link]:
        done = cli("scan", top, "--no-cache", "--output", names[0], "--output", names[1])
        assert done.returncode == 2
        assert not (tmp_path / "r.csv").exists()


@pytest.mark.parametrize("name", ["a.json", "b.bin", pytest.param("link", marks=not_on_windows(LINKS)), "user.db"])
def test_o02_a_scanned_file_named_as_the_cache(cli: Any, scan_json: Any, top: Path, name: str) -> None:
    """A scanned file whose name was given for the cache stays as it is and is scanned; the scan has no cache."""
    (top / "link").symlink_to("a.json")
    database = sqlite3.connect(top / "user.db")
    database.execute("CREATE TABLE mine (x)")
    database.close()
    shutil.copy(top / "user.db", top / "user2.db")
    want = {*_pair(top), frozenset({str(top / "user.db"), str(top / "user2.db")})}
    before = {p.name: p.read_bytes() for p in top.iterdir()}
    report = scan_json(top, "--cache", top / name)
    assert groups(report) == want
    assert len(report["notes"]) == 1
    assert {p.name: p.read_bytes() for p in top.iterdir()} == before


def test_o02_reports_that_cannot_be_written_are_told_first(cli: Any, top: Path, tmp_path: Path) -> None:
    """A report for which there is no place ends the program before anything is read, and leaves no file."""
    for target in ("missing/r.json", "d", "r.unknown", "/proc/r.json"):
        done = cli("scan", top, "--no-cache", "--output", "good.json", "--output", target)
        assert done.returncode in (1, 2)
        assert done.stdout == b""
        assert b"Traceback" not in done.stderr
        assert sorted(p.name for p in tmp_path.iterdir()) == ["d"]


@not_on_windows(SIGNALS)
def test_o02_an_interrupted_run_leaves_no_report(program: Any, top: Path) -> None:
    """A scan that is broken off leaves neither a report nor a part of one, and the old report whole."""
    import signal
    import time

    for n in range(8):
        with (top / f"large{n}").open("wb") as file:
            file.truncate(1 << 30)
    target = write(top / "r.json", b'{"schema": "dedupe-report/1", "old": 1}')
    process = program("scan", top, "--no-cache", "--output", target)
    while not list(top.glob(".r.json.*")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert target.read_bytes() == b'{"schema": "dedupe-report/1", "old": 1}'
    assert not list(top.glob(".r.json.*"))


def test_o02_links_in_a_root_are_no_way_around(top: Path, tmp_path: Path) -> None:
    """The library leaves out the files that it is told are being written, by path or descriptor, with all names."""
    own = write(top / "own", _DATA)
    os.link(own, top / "own2")
    with (top / "b.bin").open("rb") as held:
        assert not find(top, own_files=[own, held.fileno()]).groups
    assert found(find(top, own_files=[own]), top) == {frozenset(_PAIR)}
