"""The trash is the one that the specification names, other programs find what lies in it, and nothing is replaced."""

from __future__ import annotations

import errno
import multiprocessing
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import need, write
from tests.disks import run, unmount
from tests.file_system_kinds import as_nobody, bound, mounts, tree

if sys.platform != "linux":
    pytest.skip("the trash of Linux desktops; `test_trash_elsewhere` has the rest", allow_module_level=True)

from dedupe.actions.trash_slots import Slot, Trash
from dedupe.actions.trash_xdg import NoTrashError, Trashes, data_home, find_trash, open_trash

WHEN = datetime(2026, 12, 2, 23, 30, 1, tzinfo=UTC)


_found: list[Trash] = []  # open ones: a volume with an open folder cannot be unmounted


def close_all() -> None:
    """Close the trashes that a test found."""
    while _found:
        _found.pop().close()


@pytest.fixture(scope="module")
def of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """Return a function that gives a mounted file system of a kind."""
    with mounts(tmp_path_factory.mktemp("kinds")) as of:
        yield of
        close_all()


@pytest.fixture
def volume(tmp_path: Path) -> Iterator[Path]:
    """Return the top of a volume of its own, which no other test uses."""
    with mounts(tmp_path) as of:
        yield of("tmpfs")
        close_all()


def find(path: Path, home: Path) -> Trash:
    """Return the trash of a file."""
    _found.append(find_trash(os.fsencode(path), device=os.lstat(path).st_dev, home=os.fsencode(home)))
    return _found[-1]


def throw(path: Path, home: Path) -> Slot:
    """Put a file into its trash."""
    trash = find(path, home)
    slot = trash.reserve(os.fsencode(path.name), os.fsencode(path), WHEN)
    folder = os.open(path.parent, os.O_RDONLY)
    slot.put(folder, os.fsencode(path.name))
    os.close(folder)
    return slot


def told(slot: Slot) -> tuple[bytes, str]:
    """Return original path and date as the info file has them; its form is checked."""
    path = os.path.join(slot.trash.folder, b"info", slot.name + b".trashinfo")
    text = Path(os.fsdecode(path)).read_text(encoding="ascii")
    found = re.fullmatch(r"\[Trash Info\]\nPath=([\w.~/%-]+)\nDeletionDate=([\d-]+T[\d:]+)\n", text)
    assert found, text
    return unquote_to_bytes(found[1]), found[2]


def test_a_file_of_the_home_volume_goes_to_the_home_trash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trash is made for this user alone; the info has the whole path and the local time."""
    file = write(tmp_path / "docs/a.txt", b"content")
    home = tmp_path / "share"
    slot = throw(file, home)
    assert slot.path == os.fsencode(home / "Trash/files/a.txt")
    assert Path(os.fsdecode(slot.path)).read_bytes() == b"content"
    assert not file.exists()
    assert told(slot) == (os.fsencode(file), WHEN.astimezone().strftime("%Y-%m-%dT%H:%M:%S"))
    for folder in ("Trash", "Trash/files", "Trash/info"):
        assert stat.S_IMODE((home / folder).stat().st_mode) == 0o700
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert data_home() == os.fsencode(Path.home() / ".local/share")
    monkeypatch.setenv("XDG_DATA_HOME", os.fspath(home))
    assert data_home() == os.fsencode(home)


def test_a_file_of_another_volume_goes_to_that_ones(volume: Path, tmp_path: Path) -> None:
    """Without a trash for all, the user's own in the top folder is made; the info has the path from there."""
    slot = throw(write(volume / "deep/er/a", b"x"), tmp_path)
    assert slot.path == os.fsencode(volume / f".Trash-{os.geteuid()}/files/a")
    assert told(slot)[0] == b"deep/er/a"
    assert stat.S_IMODE((volume / f".Trash-{os.geteuid()}").stat().st_mode) == 0o700
    assert not (tmp_path / "Trash").exists()


def test_a_trash_for_all_is_used_if_it_is_safe(volume: Path, tmp_path: Path) -> None:
    """A real folder with the sticky bit is; a link to one, one without the bit, and a file are not."""
    shared, own = volume / ".Trash", volume / f".Trash-{os.geteuid()}"
    file = write(volume / "a", b"x")
    shared.mkdir()
    os.chmod(shared, 0o777)
    assert find(file, tmp_path).folder == os.fsencode(own)
    os.chmod(shared, 0o1777)
    assert find(file, tmp_path).folder == os.fsencode(shared / str(os.geteuid()))
    assert throw(file, tmp_path).path == os.fsencode(shared / f"{os.geteuid()}/files/a")
    os.rename(shared, volume / "real")
    os.symlink("real", shared)
    file = write(volume / "b", b"x")
    assert find(file, tmp_path).folder == os.fsencode(own)
    shared.unlink()
    shared.write_bytes(b"")
    assert find(file, tmp_path).folder == os.fsencode(own)


def test_a_trash_that_is_not_ours_is_not_used(volume: Path, tmp_path: Path) -> None:
    """A folder of another user, a link and a file in the trash's place are refused; what is there stays."""
    file, own = write(volume / "a", b"x"), volume / f".Trash-{os.geteuid()}"
    own.mkdir()
    os.chown(own, 12, 12)
    with pytest.raises(NoTrashError, match="another user"):
        find(file, tmp_path)
    own.rmdir()
    (volume / "elsewhere").mkdir()
    os.symlink("elsewhere", own)
    with pytest.raises(NoTrashError, match="no folder"):
        find(file, tmp_path)
    own.unlink()
    own.mkdir()
    os.symlink("../elsewhere", own / "files")
    with pytest.raises(NoTrashError, match="no folder"):
        find(file, tmp_path)
    (own / "files").unlink()
    own.rmdir()
    own.write_bytes(b"kept")
    with pytest.raises(NoTrashError, match="no folder"):
        find(file, tmp_path)
    assert tree(volume) == {"a": b"x", own.name: b"kept"}
    assert os.listdir(volume / "elsewhere") == []


@pytest.mark.parametrize("kind", ["no sticky bit", "link", "file", "user's part"])
def test_a_trash_for_all_that_is_passed_over_is_told(volume: Path, tmp_path: Path, kind: str) -> None:
    """The specification wants the administrator to know; in a dry run too, and a volume without one has no note."""
    file, shared = write(volume / "a", b"x"), volume / ".Trash"
    with Trashes(os.fsencode(tmp_path)) as trashes:
        trashes.look(os.fsencode(file), device=file.stat().st_dev)
        assert not trashes.passed_over
    if kind == "file":
        shared.write_bytes(b"")
    elif kind == "link":
        shared.symlink_to("elsewhere")
    else:
        shared.mkdir()
        shared.chmod(0o777 if kind == "no sticky bit" else 0o1777)
        if kind == "user's part":
            write(shared / str(os.geteuid()), b"x")
    for find_it in (Trashes.look, Trashes.find):
        with Trashes(os.fsencode(tmp_path)) as trashes:
            find_it(trashes, os.fsencode(file), device=file.stat().st_dev)
            (note,) = trashes.passed_over
            assert note.startswith(f"{shared} is not used: ")


def test_a_volume_that_takes_none_is_refused(volume: Path, tmp_path: Path) -> None:
    """A read-only volume, and a top folder that the user may not write to, are told."""
    file = write(volume / "a", b"x")
    os.chmod(volume, 0o755)
    descriptor = os.open(tmp_path, os.O_RDONLY)
    os.chmod(tmp_path, 0o777)

    def search() -> object:
        os.fchdir(descriptor)
        return find(Path("/proc/self/cwd") / file.relative_to(tmp_path), Path("/nowhere"))

    assert "Permission denied" in as_nobody(search)
    run("mount", "-o", "remount,ro", volume)
    with pytest.raises(NoTrashError, match="Read-only file system"):
        find(file, tmp_path)


def test_each_bind_mount_has_a_top_of_its_own(volume: Path, tmp_path: Path) -> None:
    """Below a bind mount the trash lies in its own top folder: a rename out of it is refused, whatever the device."""
    for each in ("inner", "again", "file"):
        (volume / each).mkdir()
    write(volume / "inner/a", b"x")
    with bound(volume / "inner", volume / "again"):
        assert (volume / "again").stat().st_dev == volume.stat().st_dev
        slot = throw(volume / "again/a", tmp_path)
        assert slot.path == os.fsencode(volume / f"again/.Trash-{os.geteuid()}/files/a")
        assert told(slot)[0] == b"a"
        close_all()


def test_the_home_trash_behind_a_bind_mount_is_another_volumes(tmp_path: Path) -> None:
    """A home that is a bind mount of the same device cannot take files from outside."""
    (tmp_path / "home").mkdir()
    (tmp_path / "mounted").mkdir()
    with bound(tmp_path / "home", tmp_path / "mounted"):
        file = write(tmp_path / "mounted/a", b"x")
        inside = find(file, tmp_path / "mounted/share")
        assert inside.top is None
        outside = find(file, tmp_path / "share")
        assert outside.top == os.fsencode(tmp_path / "mounted")
        close_all()


def test_a_subvolume_has_a_trash_of_its_own(of: Callable[[str], Path], tmp_path: Path) -> None:
    """Files of a btrfs subvolume that is no mount can only be renamed within it."""
    top = of("btrfs")
    run("btrfs", "subvolume", "create", top / "volume")
    slot = throw(write(top / "volume/b/a", b"x"), tmp_path)
    assert slot.path == os.fsencode(top / f"volume/.Trash-{os.geteuid()}/files/a")
    assert told(slot)[0] == b"b/a"


def test_a_link_on_the_way_leads_to_the_real_volume(volume: Path, tmp_path: Path) -> None:
    """A path through a symbolic link belongs to the volume where the file is, and is told from its real top."""
    write(volume / "real/a", b"x")
    os.symlink(volume / "real", tmp_path / "link")
    assert told(throw(tmp_path / "link/a", tmp_path))[0] == b"real/a"


def test_nothing_crosses_volumes(volume: Path, tmp_path: Path) -> None:
    """A file that lies elsewhere than its trash is refused, and stays."""
    trash = find(write(volume / "a", b"x"), tmp_path)
    file = write(tmp_path / "b", b"y")
    slot = trash.reserve(b"b", os.fsencode(volume / "b"), WHEN)
    folder = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(OSError, match="cross-device") as said:
        slot.put(folder, b"b")
    os.close(folder)
    assert said.value.errno == errno.EXDEV
    assert file.read_bytes() == b"y"
    slot.forget()
    assert os.listdir(trash.info) == []
    with pytest.raises(NoTrashError, match="another volume"):
        find_trash(os.fsencode(file), device=os.stat(volume).st_dev)


def test_taken_back_it_is_as_it_was(tmp_path: Path) -> None:
    """The file has its name again and the trash is empty; a name that is taken is left alone and so is the trash."""
    file = write(tmp_path / "a", b"x")
    before = file.stat()
    slot = throw(file, tmp_path)
    folder = os.open(tmp_path, os.O_RDONLY)
    write(file, b"new")
    with pytest.raises(FileExistsError):
        slot.take_back(folder, b"a")
    slot.forget()
    assert told(slot)
    with open_trash(slot.trash.folder) as trash:
        again = trash.slot(slot.name)
        again.take_back(folder, b"b")
        with pytest.raises(FileNotFoundError):
            again.take_back(folder, b"c")
    os.close(folder)
    assert os.path.samestat(before, (tmp_path / "b").stat())
    assert tree(tmp_path) == {"a": b"new", "b": b"x"}
    assert os.listdir(slot.trash.info) == os.listdir(slot.trash.files) == []


def test_a_file_without_an_info_keeps_its_name(tmp_path: Path) -> None:
    """What somebody left in the trash is not replaced: another name is reserved, and a late comer is refused."""
    trash = find(write(tmp_path / "a", b"x"), tmp_path)
    files = tmp_path / "Trash/files"
    write(files / "a", b"orphan")
    slot = trash.reserve(b"a", os.fsencode(tmp_path / "a"), WHEN)
    assert slot.name == b"a.2"
    write(files / "a.2", b"late")
    folder = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(FileExistsError):
        slot.put(folder, b"a")
    os.close(folder)
    assert tree(files) == {"a": b"orphan", "a.2": b"late"}
    assert tree(tmp_path) == {"a": b"x"}


def reserve_many(folder: bytes, start: Any, names: Any) -> None:
    """Reserve one name again and again."""
    trash = open_trash(folder)
    start.wait()
    names.put([trash.reserve(b"a.jpg", b"/a.jpg", WHEN).name for _ in range(60)])


def test_one_name_is_given_once(tmp_path: Path) -> None:
    """Processes that trash equal names at once get different places, all with the ending of the name."""
    trash = find(write(tmp_path / "a.jpg", b"x"), tmp_path)
    context = multiprocessing.get_context("fork")
    start, names = context.Barrier(3), context.Queue()
    racers = [context.Process(target=reserve_many, args=(trash.folder, start, names)) for _ in range(3)]
    for racer in racers:
        racer.start()
    given = [name for _ in racers for name in names.get(timeout=60)]
    for racer in racers:
        racer.join()
    assert len(set(given)) == 180
    assert all(name.startswith(b"a") and name.endswith(b".jpg") for name in given)
    assert set(os.listdir(trash.info)) == {os.fsdecode(name + b".trashinfo") for name in given}


def test_a_full_volume_keeps_no_half_info(tmp_path: Path) -> None:
    """If the info cannot be written, nothing stays of it and the file is where it was."""
    (tmp_path / "small").mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path / "small")
    try:
        file = write(tmp_path / "small/a", b"x")
        trash = find(file, tmp_path)
        with suppress(OSError), open(tmp_path / "small/filler", "wb", 0) as filler:
            while True:
                filler.write(b"x" * 4096)
        with pytest.raises(OSError, match="No space"):
            trash.reserve(b"a", os.fsencode(file), WHEN)
        assert os.listdir(trash.info) == []
        assert file.read_bytes() == b"x"
    finally:
        close_all()
        unmount(tmp_path / "small")


names = st.binary(min_size=1, max_size=255).filter(lambda n: not {0, 47} & set(n) and n not in {b".", b".."})


@settings(max_examples=60, deadline=None)
@given(name=names | st.sampled_from([b"a" * 255, "ä".encode() * 127, b"%41\n[Trash Info]", b"." + b"x" * 254]))
def test_any_name_goes_in_and_comes_back(tmp_path_factory: pytest.TempPathFactory, name: bytes) -> None:
    """Names of any bytes and length are told exactly, fit with their ending, and come back as they were."""
    top = tmp_path_factory.mktemp("names")
    path = top / os.fsdecode(name)
    path.write_bytes(b"x")
    with Trashes(os.fsencode(top / "home")) as trashes:
        trash = trashes.find(os.fsencode(path), device=path.stat().st_dev)
        assert trashes.find(os.fsencode(top / "b"), device=path.stat().st_dev) is trash
        for _ in range(2):
            slot = trash.reserve(name, os.fsencode(path), WHEN)
            assert told(slot)[0] == os.fsencode(path)
            folder = os.open(top, os.O_RDONLY)
            slot.put(folder, name)
            slot.take_back(folder, name)
            os.close(folder)
    assert path.read_bytes() == b"x"


def test_a_cut_name_is_still_text(tmp_path: Path) -> None:
    """A long name of whole characters is cut between two of them, and keeps its ending."""
    for first in ("", "a"):
        name = throw(write(tmp_path / (first + "ä" * 124 + ".jpeg"), b"x"), tmp_path).name
        assert 240 <= len(name) <= 245
        assert name.decode().endswith("ä.1.jpeg")


@pytest.mark.parametrize("where", ["home", "volume"])
def test_other_programs_find_and_restore_it(volume: Path, tmp_path: Path, where: str) -> None:
    """trash-cli lists what we trashed by its original path, and puts it back."""
    need(shutil.which("trash-list") and shutil.which("trash-restore"), "trash-cli, to agree with")
    home = tmp_path / "share"
    folder = volume / "docs" if where == "volume" else tmp_path / "docs"
    file = write(folder / "a b%20é.txt", b"content")
    throw(file, home)
    env = {**os.environ, "XDG_DATA_HOME": str(home), "TRASH_VOLUMES": str(volume), "LC_ALL": "C.UTF-8"}
    listed = subprocess.run(["trash-list"], env=env, capture_output=True, text=True, check=True).stdout
    assert str(file) in listed, listed
    done = subprocess.run(
        ["trash-restore"], env=env, cwd=folder, input="0\n", capture_output=True, text=True, check=True
    )
    assert file.read_bytes() == b"content", done


def test_gio_finds_and_restores_it(volume: Path, tmp_path: Path) -> None:
    """What GLib's own trash wrote for the same file has the same form as ours."""
    need(shutil.which("gio"), "gio of GLib, to agree with")
    home = tmp_path / "share"
    ours, theirs = write(tmp_path / "ours", b"x"), write(tmp_path / "theirs", b"x")
    slot = throw(ours, home)
    run("env", f"XDG_DATA_HOME={home}", "gio", "trash", theirs)
    other = Slot(slot.trash, b"theirs")
    assert Path(os.fsdecode(other.path)).read_bytes() == b"x"
    assert told(other)[0] == os.fsencode(theirs)
    assert told(slot)[0] == os.fsencode(ours)
