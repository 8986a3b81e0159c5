"""What a reviewer doubted: a number given to another file, a user's file taken for a cache, a lock held too long."""

from __future__ import annotations

import mmap
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dedupe import ScanConfig, find_duplicates
from dedupe.cache import store
from dedupe.cache.store import Cache
from dedupe.compare.method import Method
from dedupe.compare.split_sets import SetSplitter
from dedupe.files.columns import Column
from dedupe.files.table import FileTable
from dedupe.storage import readers
from dedupe.walk import scanner
from tests.conftest import groups, write
from tests.made_volumes import MOUNT

Cli = Callable[..., subprocess.CompletedProcess[bytes]]


def test_no_lock_is_held_between_two_lessons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program may write at once, however long the next file takes."""
    table = FileTable()
    table.add(table.enter(b"/", MOUNT), b"f", (1, 1, 1, 1))
    one = Cache(os.fspath(tmp_path / "c.db"), "sha256", time.time_ns())
    for seconds in (1e9, -1.0):  # until the next commit, and with one each time
        monkeypatch.setattr(store, "_COMMIT", seconds)
        one.remember(table, [0], {0: b"F" * 16}.get)
        with sqlite3.connect(tmp_path / "c.db", timeout=0) as other:
            deleted = other.execute("DELETE FROM files").rowcount
        other.close()
        assert deleted == (seconds < 0)
    one.close()


@pytest.mark.parametrize("command", [["scan", "t"], ["cache", "info"], ["cache", "clear"], ["hash", "t/a"]])
def test_a_users_file_named_as_the_cache_stays(cli: Cli, tmp_path: Path, command: list[str]) -> None:
    """What is no database, by content and by name, is no cache: it is neither moved nor changed."""
    write(tmp_path / "t" / "a", b"x")
    thesis = write(tmp_path / "u" / "thesis.txt", b"my only copy")
    done = cli(*command, "--cache", thesis)
    assert done.returncode in (0, 1)
    assert b"thesis.txt" in done.stderr
    assert thesis.read_bytes() == b"my only copy"
    assert os.listdir(thesis.parent) == ["thesis.txt"]


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_report_over_a_file_reached_by_a_link_is_refused(cli: Cli, tmp_path: Path) -> None:
    """With links followed, any file may be one of those to be scanned."""
    data = write(tmp_path / "out" / "x.csv", b"precious")
    write(tmp_path / "ff" / "copy.csv", b"precious")
    (tmp_path / "ff" / "x.csv").symlink_to(data)
    assert cli("scan", "--follow-symlinks", "ff", "--output", data, "--no-cache").returncode == 2
    assert data.read_bytes() == b"precious"


@pytest.mark.parametrize("ending", ["txt", "csv", "json", "html"])
def test_a_report_without_groups_can_be_renewed_inside_a_root(cli: Cli, tmp_path: Path, ending: str) -> None:
    """The second scan replaces the first one's report, whatever it had to tell."""
    write(tmp_path / "n" / "a", b"1")
    for _ in range(2):
        assert cli("scan", "n", "--no-cache", "--output", f"n/r.{ending}").returncode == 0


def test_a_wide_folder_is_listed_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files, folders and what is left out are the same however many entries are held at a time."""
    for i in range(10):
        write(tmp_path / "r" / f"f{i}", b"same" if i % 2 else b"")
        write(tmp_path / "r" / f"d{i}" / "g", b"same")
    whole = find_duplicates(ScanConfig(roots=[tmp_path / "r"], jobs=1))
    monkeypatch.setattr(scanner, "_SLICE", 3)
    sliced = find_duplicates(ScanConfig(roots=[tmp_path / "r"], jobs=1))
    assert [list(g.files) for g in sliced.groups] == [list(g.files) for g in whole.groups]
    assert len(sliced.groups[0].files) == 15
    assert dict(sliced.folders) == dict(whole.folders)


def test_a_file_that_cannot_be_mapped_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems map nothing: their files are read like any other."""

    def refuse(*_: Any, **__: Any) -> mmap.mmap:
        raise OSError(19, "No such device")

    path = write(tmp_path / "f", bytes(range(256)) * 1024)
    monkeypatch.setattr(readers.mmap, "mmap", refuse)
    reader = readers.MappedReader(os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0)))
    window = reader.window(0, 65536)
    assert window is not None
    assert bytes(window) == path.read_bytes()[:65536]
    del window
    reader.close()


def test_a_remembered_group_costs_in_proportion() -> None:
    """Four times the remembered copies take at most some four times as many steps, not sixteen."""

    def steps(count: int) -> int:
        table, digests = FileTable(), Column(32)
        folder = table.enter(b"/d", MOUNT)
        once = [5] * count, [1] * count, [1] * count
        table.add_all(folder, [b"%d" % i for i in range(count)], (*once, range(1, count + 1)))
        digests.put_all(range(count), [b"D" * 32] * count)
        splitter = SetSplitter(table, Method.of("sha256", "hashlib"), digests)
        taken = 0

        def count_line(*_: object) -> Any:
            nonlocal taken
            taken += 1
            return count_line

        before = sys.gettrace()
        sys.settrace(count_line)
        try:
            assert not list(splitter.batches([range(count)]))
        finally:
            sys.settrace(before)
        assert len(splitter.done) == 1
        return taken

    assert steps(16_000) < 5 * steps(4_000)


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_problem_below_a_root_does_not_make_the_root_unusable(cli: Cli, scan_json: Any, tmp_path: Path) -> None:
    """A root that was read is scanned, even if there is nothing in it but what cannot be read."""
    (tmp_path / "nu").mkdir()
    (tmp_path / "nu" / "self").symlink_to("self")
    assert cli("scan", "--follow-symlinks", "nu", "--no-cache").returncode in (0, 3)
    assert groups(scan_json("--follow-symlinks", "nu", "--no-cache")) == set()
