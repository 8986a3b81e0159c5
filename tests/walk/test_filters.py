"""Which names and sizes take part."""

from __future__ import annotations

import pickle
import sys

import pytest

from dedupe.config import ScanConfig
from dedupe.errors import UsageError
from dedupe.result import SkipReason
from dedupe.walk.filters import Filters

posix = pytest.mark.skipif(sys.platform == "win32", reason="paths as POSIX writes them")


@posix
@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.jpg", b"/d/a.jpg", True),
        ("*.jpg", b"/d/a.JPG", False),
        ("*.jpg", b"/d.jpg/a", False),
        ("a?", b"/d/ab", True),
        ("[!a]*", b"/d/ab", False),
        ("d/a", b"/x/d/a", True),
        ("d/a", b"/x/cd/a", False),
        ("/x/*", b"/x/d/a", True),
        ("/x/*", b"/y/x/a", False),
        ("x/**/a", b"/x/a", True),
        ("x/**/a", b"/x/y/z/a", True),
        ("sub/", b"/x/sub", True),
        ("*\udcff*", b"/x/a\xffb", True),
    ],
)
def test_patterns(pattern: str, path: bytes, *, matches: bool) -> None:
    """Without a slash the name counts, with one the end of the path, with one in front the whole path."""
    folder, _, name = path.rpartition(b"/")
    rules = Filters.of(ScanConfig(roots=["."], exclude=[pattern]))
    assert (rules.of_file(folder + b"/", name) == SkipReason.EXCLUDED) is matches
    assert (rules.of_folder(path) == SkipReason.EXCLUDED) is matches
    rules = Filters.of(ScanConfig(roots=["."], include=[pattern]))
    assert (rules.of_file(folder + b"/", name) is None) is matches
    assert rules.of_folder(path) is None


@pytest.mark.parametrize(
    "name",
    [b"$RECYCLE.BIN", b".Trash-1000", b".Trashes", b"System Volume Information", b".snapshots", b".zfs", b"@eaDir"],
)
def test_default_excludes(name: bytes) -> None:
    """Recycle bins and snapshots are left out unless asked for; names that only resemble them are not."""
    rules = Filters.of(ScanConfig(roots=["."]))
    assert rules.of_folder(b"/d/" + name) == SkipReason.DEFAULT_EXCLUDE
    assert rules.of_folder(b"/d/" + name + b"x") is None
    assert Filters.of(ScanConfig(roots=["."], default_excludes=False)).of_folder(b"/d/" + name) is None


@pytest.mark.parametrize(
    ("size", "reason"),
    [(0, SkipReason.EMPTY), (9, SkipReason.TOO_SMALL), (21, SkipReason.TOO_LARGE)],
)
def test_sizes(size: int, reason: SkipReason | None) -> None:
    """What lies outside the bounds is told apart by how."""
    assert Filters.of(ScanConfig(roots=["."], min_size=10, max_size=20)).of_size(size) == reason


def test_no_case_counts_where_it_is_ignored() -> None:
    """Patterns and rules match names in any case, if asked for."""
    rules = Filters.of(ScanConfig(roots=["."], exclude=["*.JPG"], ignore_case=True))
    assert rules.of_file(b"/d/", b"a.jPg") == SkipReason.EXCLUDED
    rules = Filters.of(ScanConfig(roots=["/"], exclude_lines=["*.JPG"], ignore_case=True))
    assert rules.of_file(b"/d/", b"a.jPg") == SkipReason.EXCLUDED


@posix
@pytest.mark.parametrize(
    ("lines", "path", "matches"),
    [
        (["*.tmp"], b"/r/a/x.tmp", True),
        (["*.tmp", "!keep.tmp"], b"/r/keep.tmp", False),
        (["/build"], b"/r/build", True),
        (["/build"], b"/r/a/build", False),
        (["/build"], b"/r/in/build", True),  # of the root inside the root
        (["# note", ""], b"/r/# note", False),
        (["a/**/b"], b"/r/a/x/y/b", True),
        (["\udcff*"], b"/r/\xffa", True),
    ],
)
def test_rules_of_ignore_files_are_those_of_git(lines: list[str], path: bytes, *, matches: bool) -> None:
    """They are for paths below the innermost root; the last that matches counts."""
    folder, _, name = path.rpartition(b"/")
    rules = Filters.of(ScanConfig(roots=["/r", "/r/in"], exclude_lines=lines))
    assert (rules.of_file(folder + b"/", name) == SkipReason.EXCLUDED) is matches
    assert (rules.of_folder(path) == SkipReason.EXCLUDED) is matches


@posix
def test_a_rule_for_folders_leaves_files_alone() -> None:
    """A slash at the end means folders only, and rules travel to workers."""
    rules = pickle.loads(pickle.dumps(Filters.of(ScanConfig(roots=["/r"], exclude_lines=["build/"]))))
    assert rules.of_file(b"/r/", b"build") is None
    assert rules.of_folder(b"/r/a/build") == SkipReason.EXCLUDED


def test_what_is_no_rule_is_wrong_usage() -> None:
    """A line that git would not take is told."""
    with pytest.raises(UsageError, match="--exclude-from"):
        Filters.of(ScanConfig(roots=["."], exclude_lines=["!"]))
