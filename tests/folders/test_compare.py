"""Whole folders: identical ones and held ones, against a naive reading of the same rules."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dedupe
from dedupe.folders.compare import ContainedFolder, FolderReport, IdenticalFolders, compare_folders
from dedupe.folders.counts import FolderCounts
from dedupe.result import File, FolderCount, Group, ScanResult
from tests.conftest import write
from tests.report_helpers import result

Tree = dict[bytes, tuple[int, int]]  # path -> (content, physical file); the content is its size, too


def above(path: bytes) -> list[bytes]:
    """Return the folders above a path that these trees list: all below /."""
    parts = path.split(b"/")
    return [b"/".join(parts[:i]) for i in range(2, len(parts))]


def scanned(tree: Tree, left_out: tuple[bytes, ...] = ()) -> ScanResult:
    """Return what a scan of this tree finds."""
    contents: dict[int, dict[int, list[bytes]]] = defaultdict(lambda: defaultdict(list))
    for path, (content, physical) in sorted(tree.items()):
        contents[content][physical].append(path)
    groups = []
    for content, files in contents.items():
        if len(files) > 1:
            made = tuple(File(names[0], 1, 1, physical, links=tuple(names[1:])) for physical, names in files.items())
            groups.append(Group(len(groups) + 1, content, "sha256", b"x" * 32, made))
    direct = [(folder, 0, 0, 0) for path in tree for folder in above(path)]
    direct += [(path.rpartition(b"/")[0] + b"/", 1, content, 0) for path, (content, _) in tree.items()]
    return replace(result(groups), folders=FolderCounts(lambda: direct, left_out))


def copies(*paths: bytes, content: int = 100) -> Tree:
    """Return separate files of the same content."""
    return {path: (content, hash((path, content))) for path in paths}


class Naive:
    """The rules of `compare_folders`, read word by word over sets of paths."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.folders = sorted({folder for path in tree for folder in above(path)})
        kinds = defaultdict(set)
        for content, physical in tree.values():
            kinds[content].add(physical)
        self.grouped = {content for content, files in kinds.items() if len(files) > 1}

    def below(self, folder: bytes) -> dict[bytes, tuple[int, int]]:
        """Return the names below a folder, relative to it."""
        return {p[len(folder) + 1 :]: v for p, v in self.tree.items() if p.startswith(folder + b"/")}

    def shape(self, folder: bytes) -> frozenset[tuple[bytes, int]] | None:
        """Return names and contents of a folder that holds nothing unique."""
        below = self.below(folder)
        if any(content not in self.grouped for content, _ in below.values()):
            return None
        return frozenset((name, content) for name, (content, _) in below.items())

    def reclaimable(self, folders: list[bytes]) -> int:
        """Return the sizes of physical files that the first folder does not hold."""
        kept = set(self.below(folders[0]).values())
        return sum(content for content, _ in {v for f in folders[1:] for v in self.below(f).values()} - kept)

    def sets(self) -> list[list[bytes]]:
        """Return all sets of identical folders with something to win, told or not."""
        by_shape = defaultdict(list)
        for folder in self.folders:
            if (shape := self.shape(folder)) is not None:
                by_shape[shape].append(folder)
        return [each for each in by_shape.values() if len(each) > 1 and self.reclaimable(each)]

    def identical(self) -> set[tuple[bytes, ...]]:
        """Return the sets that are told: not those whose parents are distinct and identical, too."""
        told = set()
        for members in self.sets():
            parents = [member.rpartition(b"/")[0] for member in members]
            shapes = {self.shape(parent) if parent else None for parent in parents}
            if len(set(parents)) < len(parents) or len(shapes) > 1 or None in shapes:
                told.add(tuple(members))
        return told

    def holder(self, folder: bytes) -> bytes | None:
        """Return the holder of a folder."""
        mine = list(self.below(folder).values())
        beside = [
            f for f in self.folders if not (f + b"/").startswith(folder + b"/") and not folder.startswith(f + b"/")
        ]
        votes = {}
        for other in beside:
            theirs = self.below(other).values()
            votes[other] = sum(any(c == content and p != physical for c, p in theirs) for content, physical in mine)
        most = max(votes.values(), default=0)
        if not most or sum(content in self.grouped for content, _ in mine) < 0.5 * len(mine):
            return None
        best = min((f for f in beside if votes[f] == most), key=lambda f: (len(self.below(f)), f.split(b"/")))
        while below := [f for f in beside if f.rpartition(b"/")[0] == best and votes[f] >= 0.9 * most]:
            best = min(below, key=lambda f: (-votes[f], len(self.below(f)), f))
        return best

    def contained(self) -> set[tuple[bytes, bytes, int, int, int]]:
        """Return (folder, holder, held names, their bytes, linked names) of every told folder."""
        covered = {folder for each in self.sets() for folder in each}
        told: dict[bytes, bytes] = {}
        whole: set[bytes] = set()
        found = set()
        for folder in sorted(self.folders, key=lambda f: f.split(b"/")):
            over = above(folder + b"/x")
            if covered & set(over) or whole & set(over) or (holder := self.holder(folder)) is None:
                continue
            theirs = set(self.below(holder).values())
            held = [
                v for v in self.below(folder).values() if v[0] in self.grouped and any(c == v[0] for c, _ in theirs)
            ]
            linked = sum({v} == {t for t in theirs if t[0] == v[0]} for v in held)
            size = len(self.below(folder))
            if len(held) < 0.5 * size or not sum(c for c, _ in held) or len(held) == linked:
                continue
            inherited = next((told[f] for f in reversed(over) if f in told), None)
            if inherited is None or not (holder + b"/").startswith(inherited + b"/"):
                told[folder] = holder
                found.add((folder, holder, len(held), sum(c for c, _ in held), linked))
            if len(held) == size:
                whole.add(folder)
        return found


_folder = st.sampled_from(
    [b"/r/A", b"/r/B", b"/r/A/x", b"/r/A/x/y", b"/r/B/x", b"/r/C", b"/r/C/x", b"/s/A", b"/s-A", b"/s"]
)
_files = st.tuples(_folder, st.sampled_from([b"1", b"2", b"3", b"4"])).map(b"/".join)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Return small trees with many equal names and contents, and some hard links."""
    tree: Tree = {}
    uses: dict[int, int] = defaultdict(int)
    for number, path in enumerate(draw(st.lists(_files, min_size=2, max_size=24, unique=True))):
        content = draw(st.integers(0, 9))
        if uses[content] == 8:  # more would not all have a vote
            content = 100 + number
        uses[content] += 1
        same = sorted({physical for other, physical in tree.values() if other == content})
        tree[path] = (content, draw(st.sampled_from(same)) if same and draw(st.integers(0, 4)) == 0 else number)
    return tree


@settings(max_examples=150, deadline=None)
@given(trees())
def test_both_answers_equal_the_naive_ones(tree: Tree) -> None:
    """For any tree the folders told are those that the rules tell, with exact counts."""
    naive = Naive(tree)
    report = compare_folders(scanned(tree))
    assert {each.folders for each in report.identical} == naive.identical()
    for each in report.identical:
        below = naive.below(each.folders[0])
        sizes = sum(content for content, _ in below.values())
        assert (each.files, each.bytes) == (len(below), sizes)
        assert each.reclaimable_bytes == naive.reclaimable(list(each.folders))
    assert {
        (c.folder, c.holder, c.held_files, c.held_bytes, c.linked_files) for c in report.contained
    } == naive.contained()
    for held in report.contained:
        below = naive.below(held.folder)
        assert (held.files, held.bytes) == (len(below), sum(content for content, _ in below.values()))


def test_identical_folders_are_told_once_at_the_top() -> None:
    """Folders below identical folders are not told again."""
    tree = copies(b"/r/A/x/1", b"/r/B/x/1", content=10) | copies(b"/r/A/2", b"/r/B/2", content=20)
    assert compare_folders(scanned(tree)) == FolderReport((IdenticalFolders((b"/r/A", b"/r/B"), 2, 30, 30, 0),))


def test_a_unique_file_makes_a_folder_differ() -> None:
    """A folder with one more file is no copy: each side then is told as held, with its share."""
    tree = copies(b"/r/A/1", b"/r/B/1") | copies(b"/r/A/2", b"/r/B/2", content=7) | {b"/r/A/own": (5, 99)}
    report = compare_folders(scanned(tree))
    assert report.identical == ()
    assert report.contained == (
        ContainedFolder(b"/r/A", b"/r/B", 3, 112, 2, 107, 0, 0),
        ContainedFolder(b"/r/B", b"/r/A", 2, 107, 2, 107, 0, 0),
    )


def test_entries_left_out_are_told() -> None:
    """What was skipped or unreadable below a folder stands beside the claim about it."""
    tree = copies(b"/r/A/1", b"/r/B/1")
    (found,) = compare_folders(scanned(tree, left_out=(b"/r/A/locked/deep", b"/r/A/secret"))).identical
    assert found.left_out == 2


def test_hard_links_alone_are_no_win() -> None:
    """Folders that are the same physical files by hard links are not told, a real copy of both is."""
    tree: Tree = {b"/r/A/1": (100, 1), b"/r/B/1": (100, 1), b"/s/deep/other name": (100, 2)}
    report = compare_folders(scanned(tree))
    assert [(each.folder, each.holder) for each in report.contained] == [
        (b"/r", b"/s/deep"),
        (b"/s", b"/r/A"),
    ]
    assert report.identical == ()


def test_the_folder_of_a_file_given_by_itself_is_never_judged() -> None:
    """A folder that was not listed is not told, though all that is known of it has a copy."""
    tree = copies(b"/r/A/1", b"/r/B/1")
    made = scanned(tree)
    known = {path: count for path, count in made.folders.items() if path != b"/r/B"}
    assert compare_folders(replace(made, folders=known)) == FolderReport()


def test_nothing_is_claimed_without_counts() -> None:
    """A foreign report does not say what else lies in a folder, so no folder is judged."""
    assert compare_folders(replace(scanned(copies(b"/r/A/1", b"/r/B/1")), folders={})) == FolderReport()


@pytest.mark.parametrize(
    ("folder", "expected"),
    [(b"C:\\", (3, 30, 1)), (b"C:\\a", (2, 20, 1)), (b"\\\\server\\share", (1, 5, 0))],
)
def test_counts_follow_windows_paths(folder: bytes, expected: tuple[int, int, int]) -> None:
    """Backslash paths, drives and shares are summed by their own separator, here on any system."""
    direct = [
        (b"C:\\", 1, 10, 0),
        (b"C:\\a\\", 1, 10, 0),
        (b"C:\\a\\b", 1, 10, 0),
        (b"\\\\server\\share", 1, 5, 0),
    ]
    counts = FolderCounts(lambda: direct, [b"C:\\a\\locked"])
    assert counts[folder] == FolderCount(*expected)


def counts_of(root: Path, **options: Any) -> dict[bytes, tuple[int, int, int]]:
    """Scan, and return the counts below each folder, by its path below the root."""
    found = dedupe.find_duplicates(dedupe.ScanConfig(roots=[root], **options))
    start = len(os.fsencode(root)) + 1
    return {path[start:]: (c.files, c.bytes, c.left_out) for path, c in found.folders.items()}


def test_a_scan_counts_what_lies_below_each_folder(tmp_path: Path) -> None:
    """Files that took part, unique ones too, and entries of every kind that took none, are counted for all above."""
    write(tmp_path / "a" / "1", b"12345")
    write(tmp_path / "a" / "deep" / "2", b"unique")
    write(tmp_path / "a" / "deep" / "empty", b"")
    write(tmp_path / "b" / "1", b"12345")
    write(tmp_path / "b" / "no.tmp", b"12345")
    write(tmp_path / "b" / "lost+found" / "x", b"12345")
    (tmp_path / "none").mkdir()
    expected = {
        b"": (3, 16, 3),
        b"a": (2, 11, 1),
        b"a/deep": (1, 6, 1),
        b"b": (1, 5, 2),
        b"none": (0, 0, 0),
    }
    native = {path.replace(b"/", os.sep.encode()): counts for path, counts in expected.items()}
    assert counts_of(tmp_path, exclude=["*.tmp"], jobs=1) == native
    assert counts_of(tmp_path, exclude=["*.tmp"], jobs=2) == native


@pytest.mark.skipif(os.name == "nt", reason="symbolic links and modes as POSIX has them")
def test_a_scan_counts_links_as_left_out(tmp_path: Path) -> None:
    """A folder that is reached a second time by a link, and a link that is not followed, count as left out."""
    write(tmp_path / "a" / "1", b"12345")
    (tmp_path / "a" / "link").symlink_to(tmp_path / "b")
    write(tmp_path / "b" / "1", b"12345")
    followed = counts_of(tmp_path, follow_symlinks=True)
    assert followed[b""] == (2, 10, 1)
    assert counts_of(tmp_path)[b"a"] == (1, 5, 1)


def test_roots_inside_roots_are_counted_once(tmp_path: Path) -> None:
    """A root below another is part of that one's counts; the folder of a file given by itself is not judged."""
    write(tmp_path / "a" / "in" / "1", b"12345")
    write(tmp_path / "alone" / "2", b"12345")
    roots = [tmp_path / "a", tmp_path / "a" / "in", tmp_path / "alone" / "2"]
    found = dedupe.find_duplicates(dedupe.ScanConfig(roots=roots)).folders
    assert {path: (c.files, c.left_out) for path, c in found.items()} == {
        os.fsencode(tmp_path / "a"): (1, 0),
        os.fsencode(tmp_path / "a" / "in"): (1, 0),
    }


def test_the_time_grows_with_the_files() -> None:
    """Contents with very many copies do not cost their square."""
    paths = [b"/r/%d/%d" % (folder, name) for folder in range(300) for name in range(20)]
    tree: Tree = {path: (int(path.rpartition(b"/")[2]), i) for i, path in enumerate(paths)}
    for folder in range(300):
        tree[b"/r/%d/own" % folder] = (1000 + folder, 10_000 + folder)
    made = scanned(tree)
    started = time.process_time()
    assert len(compare_folders(made).contained) == 300
    assert time.process_time() - started < 3
