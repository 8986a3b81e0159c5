"""What Windows does with a file by the handle that it was opened with: `.ci/windows` runs this, by Wine."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.conftest import write
from tests.file_system_kinds import tree

if sys.platform != "win32":
    pytest.skip("asks Windows itself", allow_module_level=True)

from dedupe.storage import opening, windows_acts
from dedupe.storage.windows_paths import extended


def encoded(path: Path) -> bytes:
    """Return a path as the program holds it."""
    return extended(os.fsencode(path))


def test_the_proven_file_is_renamed_and_nothing_replaced(tmp_path: Path) -> None:
    """An open file moves to a free name, not to one that is taken, while nobody else can touch it."""
    source = write(tmp_path / "a", b"proven")
    write(tmp_path / "taken", b"old")
    descriptor = windows_acts.open_denying_writers(encoded(source), may_move=True)
    with pytest.raises(FileExistsError):
        windows_acts.move_open(descriptor, encoded(tmp_path / "taken"))
    with pytest.raises(PermissionError):
        source.write_bytes(b"x")
    windows_acts.move_open(descriptor, encoded(tmp_path / "b ü"))
    assert windows_acts.path_of(descriptor).endswith("b ü".encode())
    os.close(descriptor)
    assert tree(tmp_path) == {"b ü": b"proven", "taken": b"old"}


def test_the_proven_file_is_removed(tmp_path: Path) -> None:
    """Its name is gone when it is closed."""
    descriptor = windows_acts.open_denying_writers(encoded(write(tmp_path / "a", b"x")), may_move=True)
    windows_acts.delete_open(descriptor)
    os.close(descriptor)
    assert os.listdir(tmp_path) == []


def test_without_the_right_it_stays(tmp_path: Path) -> None:
    """A keeper, opened without the right to move it, cannot be removed by its descriptor (Wine renames it)."""
    descriptor = windows_acts.open_denying_writers(encoded(write(tmp_path / "a", b"x")))
    with pytest.raises(PermissionError):
        windows_acts.delete_open(descriptor)
    os.close(descriptor)
    assert tree(tmp_path) == {"a": b"x"}


def test_an_open_file_is_linked(tmp_path: Path) -> None:
    """A file that is pinned gets a second name, by its own path as it is now."""
    (tmp_path / "to").mkdir()
    file = write(tmp_path / "a", b"x")
    descriptor, folder = windows_acts.open_denying_writers(encoded(file)), opening.open_folder(encoded(tmp_path / "to"))
    opening.link_open(descriptor, folder, b"b")
    os.close(descriptor)
    os.close(folder)
    assert os.path.samefile(file, tmp_path / "to/b")


def test_a_name_beyond_260_characters(tmp_path: Path) -> None:
    """Long paths are renamed, by name and by handle (Wine does not tell the long path of a handle)."""
    folder = tmp_path
    for _ in range(4):
        folder = folder / ("x" * 100)
    os.makedirs(encoded(folder))
    with open(encoded(folder / "a"), "wb"):
        pass
    windows_acts.move(encoded(folder / "a"), encoded(folder / "b"))
    descriptor = windows_acts.open_denying_writers(encoded(folder / "b"), may_move=True)
    windows_acts.move_open(descriptor, encoded(folder / "c"))
    os.close(descriptor)
    assert os.listdir(encoded(folder)) == [b"c"]
