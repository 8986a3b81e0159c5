"""A rename takes a free name or none, on every file system and by each of the three ways it is done."""

from __future__ import annotations

import errno
import multiprocessing
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupe.storage import rename
from dedupe.storage.rename import exchange, rename_no_replace, sync_folder
from dedupe.storage.windows_paths import extended
from tests.conftest import write
from tests.disks import run
from tests.file_system_kinds import KINDS, LINKING, bound, tree

On = Callable[[str], Path]
linux = pytest.mark.skipif(sys.platform != "linux", reason="mounts file systems")
WAYS = ("call", "link", "claim")


def refuse(code: int) -> Callable[..., None]:
    """Return a function that fails with an error number."""

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(code, os.strerror(code))

    return fail


def choose(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this process rename in one of the ways: what comes before it is not offered."""
    if way != "call":
        monkeypatch.setattr(rename, "_rename_with", refuse(errno.EINVAL))
    if way == "claim":
        monkeypatch.setattr(os, "link", refuse(errno.EPERM))


def encoded(path: Path) -> bytes:
    """Return a path as the program holds it."""
    return extended(os.fsencode(path)) if sys.platform == "win32" else os.fsencode(path)


def test_a_free_name_is_taken(tmp_path: Path) -> None:
    """The file has its new name and no other, and is the same file."""
    source = write(tmp_path / "a", b"content")
    before = source.stat()
    rename_no_replace(encoded(source), encoded(tmp_path / "b"))
    assert tree(tmp_path) == {"b": b"content"}
    assert os.path.samestat((tmp_path / "b").stat(), before)


def test_a_taken_name_is_refused(tmp_path: Path) -> None:
    """What has the name keeps it, and the file keeps its own."""
    write(tmp_path / "a", b"new")
    write(tmp_path / "b", b"old")
    with pytest.raises(FileExistsError):
        rename_no_replace(encoded(tmp_path / "a"), encoded(tmp_path / "b"))
    assert tree(tmp_path) == {"a": b"new", "b": b"old"}


@linux
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_way_takes_only_a_free_name(on: On, monkeypatch: pytest.MonkeyPatch, kind: str, way: str) -> None:
    """On each file system each way renames between open folders, and refuses whatever is there: file, link, folder."""
    top = on(kind)
    choose(way, monkeypatch)
    write(top / "from/a", b"content")
    (top / "to").mkdir()
    write(top / "to/file", b"")
    (top / "to/folder").mkdir()
    if kind in LINKING:
        os.symlink("nowhere", top / "to/link")
    source, target = (os.open(top / name, os.O_RDONLY) for name in ("from", "to"))
    try:
        for taken in sorted(os.listdir(top / "to")):
            with pytest.raises(FileExistsError):
                rename_no_replace(b"a", taken.encode(), source_dir=source, target_dir=target)
        assert tree(top / "from") == {"a": b"content"}
        rename_no_replace(b"a", b"b", source_dir=source, target_dir=target)
        assert tree(top / "from") == {}
        assert tree(top / "to").pop("b") == b"content"
        assert set(os.listdir(top / "to")) <= {"b", "file", "folder", "link"}
    finally:
        os.close(source)
        os.close(target)


@linux
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", LINKING)
def test_two_names_of_one_file_stay_two(on: On, monkeypatch: pytest.MonkeyPatch, kind: str, way: str) -> None:
    """Where the new name is the same file's already, it is refused: rename(2) would do nothing and call it done."""
    top = on(kind)
    os.link(write(top / "a", b"x"), top / "b")
    choose(way, monkeypatch)
    for target in (b"b", b"a"):
        with pytest.raises(FileExistsError):
            rename_no_replace(os.fsencode(top / "a"), os.path.join(os.fsencode(top), target))
    assert tree(top) == {"a": b"x", "b": b"x"}


def race(folder: bytes, number: int, way: str, start: Any) -> None:
    """Rename a file of one's own to each of many names that others want too."""
    with pytest.MonkeyPatch.context() as patch:
        choose(way, patch)
        start.wait()
        for n in range(40):
            try:
                rename_no_replace(os.path.join(folder, b"%d-%d" % (number, n)), os.path.join(folder, b"target-%d" % n))
            except FileExistsError:
                continue


@linux
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_racing_processes_replace_nothing(on: On, kind: str, way: str) -> None:
    """Of several processes that want one name one gets it, and all others' files are where they were."""
    top = on(kind)
    for number in range(3):
        for n in range(40):
            write(top / f"{number}-{n}", b"%d %d" % (number, n))
    before = sorted(tree(top).values())
    context = multiprocessing.get_context("fork")
    start = context.Barrier(3)
    racers = [context.Process(target=race, args=(os.fsencode(top), k, way, start)) for k in range(3)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
        assert racer.exitcode == 0
    found = tree(top)
    assert sorted(found.values()) == before
    assert {name for name in found if name.startswith("target")} == {f"target-{n}" for n in range(40)}


@linux
def test_a_file_that_takes_the_name_meanwhile_survives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file put in the source's place between link and unlink is not unlinked."""
    source, target = write(tmp_path / "a", b"old"), tmp_path / "b"
    choose("link", monkeypatch)
    really = os.rename

    def swapped(a: Any, b: Any, **options: Any) -> None:
        monkeypatch.setattr(os, "rename", really)
        os.replace(write(tmp_path / "new", b"new"), source)
        really(a, b, **options)

    monkeypatch.setattr(os, "rename", swapped)
    with pytest.raises(OSError, match="another file took its name"):
        rename_no_replace(os.fsencode(source), os.fsencode(target))
    assert tree(tmp_path) == {"a": b"new", "b": b"old"}


@linux
def test_a_name_removed_meanwhile_leaves_the_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If somebody removes the source between link and unlink, the new name is not taken back: it is the last."""
    source, target = write(tmp_path / "a", b"old"), tmp_path / "b"
    choose("link", monkeypatch)
    really = os.rename

    def removed(a: Any, b: Any, **options: Any) -> None:
        source.unlink()
        really(a, b, **options)

    monkeypatch.setattr(os, "rename", removed)
    with pytest.raises(FileNotFoundError):
        rename_no_replace(os.fsencode(source), os.fsencode(target))
    assert tree(tmp_path) == {"b": b"old"}


@linux
@pytest.mark.parametrize("way", WAYS)
def test_failures_leave_no_name_behind(on: On, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """A missing or immutable source, and another mount of the same folder, fail without a trace."""
    top = on("ext4")
    write(top / "a", b"x")
    (top / "again").mkdir()
    choose(way, monkeypatch)
    with pytest.raises(FileNotFoundError):
        rename_no_replace(os.fsencode(top / "missing"), os.fsencode(top / "b"))
    with bound(top, top / "again"), pytest.raises(OSError, match="cross-device") as told:
        rename_no_replace(os.fsencode(top / "a"), os.fsencode(top / "again/b"))
    assert told.value.errno == errno.EXDEV
    run("chattr", "+i", top / "a")
    try:
        with pytest.raises(PermissionError):
            rename_no_replace(os.fsencode(top / "a"), os.fsencode(top / "b"))
    finally:
        run("chattr", "-i", top / "a")
    assert tree(top) == {"a": b"x"}


@linux
@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(
        st.binary(min_size=1, max_size=255).filter(lambda n: not {0, 47} & set(n) and n not in {b".", b".."}),
        min_size=2,
        max_size=2,
        unique=True,
    ),
    way=st.sampled_from(WAYS),
)
def test_names_are_bytes(tmp_path_factory: pytest.TempPathFactory, names: list[bytes], way: str) -> None:
    """Any bytes that a file system takes as a name are taken as they are."""
    folder = os.fsencode(tmp_path_factory.mktemp("names"))
    with open(os.path.join(folder, names[0]), "wb") as file:
        file.write(b"x")
    with pytest.MonkeyPatch.context() as patch:
        choose(way, patch)
        rename_no_replace(os.path.join(folder, names[0]), os.path.join(folder, names[1]))
    assert os.listdir(folder) == [names[1]]


def test_a_zero_byte_is_no_name(tmp_path: Path) -> None:
    """What C would cut short is refused."""
    write(tmp_path / "a", b"x")
    with pytest.raises(OSError) as told:  # noqa: PT011 - in the system's words
        rename_no_replace(encoded(tmp_path / "a"), encoded(tmp_path / "b") + b"\0c")
    assert not isinstance(told.value, FileExistsError)
    assert tree(tmp_path) == {"a": b"x"}


@linux
@pytest.mark.parametrize("kind", KINDS)
def test_exchange_or_a_plain_no(on: On, kind: str) -> None:
    """Two files get each other's names, or the file system says that it never does that and nothing changes."""
    top = on(kind)
    a, b = write(top / "a", b"1"), write(top / "b", b"2")
    if kind == "exfat":
        with pytest.raises(OSError) as told:  # noqa: PT011 - by its number
            exchange(os.fsencode(a), os.fsencode(b))
        assert told.value.errno in rename.NOT_OFFERED
        assert tree(top) == {"a": b"1", "b": b"2"}
    else:
        exchange(os.fsencode(a), os.fsencode(b))
        assert tree(top) == {"a": b"2", "b": b"1"}


@pytest.mark.skipif(sys.platform != "win32", reason="Windows' answer")
def test_windows_exchanges_nothing(tmp_path: Path) -> None:
    """Windows has no such call, and says so."""
    with pytest.raises(OSError, match="Windows cannot exchange"):
        exchange(b"a", b"b")


def test_a_folder_is_synced_or_said_not_to_be(tmp_path: Path) -> None:
    """Syncing tells whether it was done; a missing folder is an error where it would have been."""
    assert sync_folder(encoded(tmp_path)) is (sys.platform != "win32")
    if sys.platform != "win32":
        with pytest.raises(FileNotFoundError):
            sync_folder(encoded(tmp_path / "missing"))


def test_temporary_names_are_short_and_never_the_same() -> None:
    """They fit beside names of any length, and can be told from users' own."""
    names = {rename.temporary_name() for _ in range(100)}
    assert len(names) == 100
    assert all(len(name) == 24 and name.startswith(rename.ASIDE) for name in names)
