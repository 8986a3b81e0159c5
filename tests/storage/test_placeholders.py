"""Files whose content lies elsewhere are told by what their folder says of them, on invented values of each system."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from dedupe import ScanConfig, find_duplicates
from dedupe.storage import placeholders
from dedupe.storage.opener import Opener
from tests.conftest import write

_DATALESS, _HIDDEN, _COMPRESSED = 0x4000_0000, 0x8000, 0x20  # SF_DATALESS, UF_HIDDEN, UF_COMPRESSED
_FAR = 3000  # bytes of files that are to be placeholders


class _Stat:
    """A stat result of another system."""

    def __init__(self, **fields: int) -> None:
        vars(self).update(fields)


@pytest.mark.parametrize(
    ("system", "fields", "wanted"),
    [
        ("darwin", {"st_flags": _DATALESS}, True),
        ("darwin", {"st_flags": _DATALESS | _HIDDEN}, True),
        ("darwin", {"st_flags": _HIDDEN | _COMPRESSED}, False),
        ("darwin", {"st_flags": 0}, False),
        ("win32", {"st_file_attributes": 0x40_0000}, True),
        ("win32", {"st_file_attributes": 0x20}, False),
        ("linux", {}, False),
        ("freebsd14", {"st_flags": _DATALESS}, False),  # its flags are not macOS's
    ],
)
def test_each_system_marks_them_in_its_own_way(
    monkeypatch: pytest.MonkeyPatch,
    system: str,
    fields: dict[str, int],
    wanted: bool,  # noqa: FBT001
) -> None:
    """Windows by attributes, macOS by the flag "dataless"; other flags mean nothing, and other systems have none."""
    seen: Any = _Stat(**fields)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "platform", system)
        answer = placeholders.would_download(seen)
    assert answer is wanted


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Make files of a certain size placeholders, and return the names of all files that are opened from now on."""
    names: list[bytes] = []

    def watched(name: str) -> None:
        usual = getattr(Opener, name)

        def open_it(opener: Opener, path: bytes, *args: Any) -> Any:
            names.append(os.path.basename(path))
            return usual(opener, path, *args)

        monkeypatch.setattr(Opener, name, open_it)

    for name in ("open", "read", "read_with_stat"):
        watched(name)
    monkeypatch.setattr(placeholders, "EXIST", True)
    monkeypatch.setattr(placeholders, "would_download", lambda seen: seen.st_size == _FAR)
    return names


def test_a_walk_opens_no_placeholder(tmp_path: Path, opened: list[bytes]) -> None:
    """Listed or named, they are counted and not opened, until they are asked for."""
    for name in ("d/a", "d/b"):
        write(tmp_path / name, b"x" * 2000)
    for name in ("d/far1", "d/sub/far2"):
        write(tmp_path / name, b"x" * _FAR)
    roots = [tmp_path / "d"]
    result = find_duplicates(ScanConfig(roots=roots, jobs=1))
    assert result.totals.skipped == {"cloud-placeholder": 2}
    named = find_duplicates(ScanConfig(roots=[tmp_path / "d" / "far1", tmp_path / "d" / "a"], jobs=1))
    assert named.totals.skipped == {"cloud-placeholder": 1}
    assert set(opened) == {b"a", b"b"}
    asked = find_duplicates(ScanConfig(roots=roots, jobs=1, cloud_files=True))
    assert [len(group.files) for group in asked.groups] == [2, 2]


@pytest.mark.skipif(sys.platform == "win32", reason="making links needs a privilege there")
def test_a_link_to_a_placeholder_is_judged_by_what_it_leads_to(tmp_path: Path, opened: list[bytes]) -> None:
    """Where links are followed, one that leads to a placeholder is left out; one that leads nowhere is a link."""
    for name in ("d/a", "d/b"):
        write(tmp_path / name, b"x" * 2000)
    for name in ("away/far1", "away/far2"):
        write(tmp_path / name, b"x" * _FAR)
        (tmp_path / "d" / Path(name).name).symlink_to(tmp_path / name)
    (tmp_path / "d" / "dangling").symlink_to("nowhere")
    result = find_duplicates(ScanConfig(roots=[tmp_path / "d"], jobs=1, follow_symlinks=True))
    assert result.totals.skipped == {"cloud-placeholder": 2, "symlink": 1}
    assert set(opened) == {b"a", b"b"}
