"""Groups of a scan, from columns: just what plain objects would say, in the order of a report."""

from __future__ import annotations

import json
import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.files.classes import Classes
from dedupe.files.groups import FoundFiles, FoundGroups, volumes_of
from dedupe.files.table import FileTable
from dedupe.result import (
    CHUNK,
    File,
    FileColumns,
    FolderCount,
    Group,
    GroupHeader,
    GroupList,
    Groups,
    NameKind,
    Proof,
    VolumeInfo,
)
from dedupe.storage.volume import Mount, Volume
from tests.report_helpers import few, rendered, result

_text = st.text(min_size=1, max_size=6).map(lambda text: text.encode("utf-8", "replace"))
_bytes = st.binary(min_size=1, max_size=6)  # hardly ever valid Unicode
_times = st.integers(-(2**63), 2**63 - 1) | st.integers(2**63, 2**70)  # the latter lie beyond the year 2262
_inodes = st.integers(1, 2**64 - 1) | st.integers(2**64, 2**128 - 1)  # ReFS has the latter
_MANY = CHUNK + 500  # files of one group: more than a chunk has at least


class Found:
    """A table, its classes and further names, and the same as plain groups in no order."""

    def __init__(self) -> None:
        self.table = FileTable()
        self.classes = Classes()
        self.names: dict[int, list[tuple[int, NameKind]]] = {}
        self.plain: list[Group] = []

    def add(self, size: int, digest: bytes | None, files: Iterable[File]) -> None:
        """Add a class."""
        files, members = list(files), []
        for file in files:
            members.append(self._add(file.path, size, file))
            kinds = zip(NameKind, (file.links, file.symlinks, file.mounted), strict=True)
            further = sorted((path, kind) for kind, paths in kinds for path in paths)
            if further:
                self.names[members[-1]] = [(self._add(path, size, file), kind) for path, kind in further]
        self.classes.append(digest, members, [file.proof or Proof.HASHED for file in files])
        volumes = [volume.device for volume in self.table.volumes]
        files = sorted(file._replace(root=file.root or 0, volume=volumes.index(file.device)) for file in files)
        self.plain.append(Group(0, size, "sha256" if digest else "bytes", digest, tuple(files)))

    def _add(self, path: bytes, size: int, file: File) -> int:
        folder, slash, name = path.rpartition(b"/")
        volume = Volume(f"serial:{file.device}", "", "here", file.device, "ext4", "label", b"/mnt")
        number = self.table.enter(folder + slash, Mount(volume, b"/", b""), file.root or 0)
        return self.table.add(number, name, (size, file.modified_ns, 0, file.inode))

    def groups(self) -> FoundGroups:
        """Return the groups as a scan has them."""
        return FoundGroups(self.table, self.classes, self.names, "sha256")

    def expected(self) -> GroupList:
        """Return the plain groups as a report has them."""
        ordered = sorted(self.plain, key=lambda group: (-group.reclaimable_bytes, group.files[0].path))
        return GroupList(replace(group, id=number) for number, group in enumerate(ordered, 1))


@st.composite
def _found(draw: st.DrawFn) -> Found:
    """Return classes of files with any names, numbers and proofs; ties among sizes are common."""
    found = Found()
    # Windows has no name that is not valid Unicode but for lone surrogates
    parts = _text if sys.platform == "win32" else draw(st.sampled_from([_text, _bytes, _text | _bytes]))
    names = parts.map(lambda name: name.replace(b"\0", b"_").replace(b"/", b'"'))
    whole = st.lists(names, min_size=1, max_size=3).map(lambda parts: b"/" + b"/".join(parts))
    paths = draw(st.lists(whole, min_size=2, max_size=24, unique=True))
    width = draw(st.sampled_from([0, 4, 32]))
    while len(paths) > 1:
        files = []
        for _ in range(draw(st.integers(2, len(paths)))):
            own = [[paths.pop() for _ in range(draw(st.integers(0, 1))) if paths] for _ in NameKind]
            if paths:
                numbers = (draw(_times), draw(st.integers(0, 2)), draw(_inodes), draw(st.integers(0, 2)))
                further = (tuple(sorted(names)) for names in own)
                files.append(File(paths.pop(), *numbers, None, draw(st.sampled_from(Proof)), *further))
        if len(files) > 1:
            digest = draw(st.binary(min_size=width, max_size=width)) or None
            found.add(draw(st.sampled_from([0, 5, 10, 2**50])), digest, files)
    return found


def plain_chunks(groups: Groups) -> list[tuple[list[GroupHeader], list[list[object]]]]:
    """Return chunks as lists, which are equal whatever kind of sequence their columns are."""
    return [(list(chunk.headers), list(map(list, chunk.files))) for chunk in groups.chunks()]


@few
@given(_found())
def test_groups_are_those_of_plain_objects(found: Found) -> None:
    """Walked through, asked for one by one, sliced or in runs: order, numbers and files are those of plain groups."""
    groups, expected = found.groups(), found.expected()
    assert groups == expected
    assert list(groups) == list(expected)
    assert [groups[n] for n in range(-len(groups), 0)] == groups[:] == list(expected)
    assert plain_chunks(groups) == plain_chunks(expected)
    assert groups.proofs() == expected.proofs() == Counter(group.proof for group in expected)
    assert groups.redundant_files == sum(max(each.copies - 1, 0) for each in expected)
    assert groups.reclaimable_bytes == sum(each.reclaimable_bytes for each in expected)


@few
@given(_found())
def test_folders_are_those_of_all_names(found: Found) -> None:
    """The folders of a scan's groups are those of their names and links, and of no file that has no copy."""
    found._add(b"/no/copy", 5, File(b"/no/copy", 1, 1, 1))
    assert found.groups().folders() == found.expected().folders()


def _path(key: str, path: bytes) -> dict[str, Any]:
    try:
        return {key: path.decode()}
    except UnicodeDecodeError:
        return {key: path.decode("utf-8", "backslashreplace"), key + "_base64": b64encode(path).decode()}


def _paths(key: str, paths: tuple[bytes, ...]) -> dict[str, Any]:
    each = [_path("path", path) for path in paths]
    exact = [one.get("path_base64") for one in each]
    return {key: [one["path"] for one in each], **({key + "_base64": exact} if any(exact) else {})}


def _object(group: Group) -> dict[str, Any]:
    """Return a group as the contract of the JSON report has it, by the plainest means."""
    return {
        "id": group.id,
        "size": group.size,
        "algorithm": group.algorithm,
        "digest": group.digest.hex() if group.digest is not None else None,
        "proof": group.proof,
        "reclaimable_bytes": group.reclaimable_bytes,
        "files": [
            {
                **_path("path", file.path),
                "modified_ns": file.modified_ns,
                "device": str(file.device),
                "inode": str(file.inode),
                "root": file.root,
                "volume": file.volume,
                "proof": file.proof,
                **_paths("links", file.links),
                **_paths("symlinks", file.symlinks),
                **_paths("mounted", file.mounted),
            }
            for file in group.files
        ],
    }


@few
@given(_found())
def test_json_from_columns_is_what_plain_objects_give(found: Found) -> None:
    """A scan's JSON is byte for byte that of the same plain groups, and says what `json.dumps` of them would."""
    counts: Mapping[bytes, FolderCount] = {b"/": FolderCount(1, 2, 3)}
    expected = found.expected()
    plain = result(list(expected), folders=counts)
    report = rendered("json", replace(plain, groups=found.groups()))
    assert report == rendered("json", plain)
    assert json.dumps(json.loads(report)["groups"]) == json.dumps(list(map(_object, expected)))


@pytest.mark.parametrize("name", ["jsonl", "csv", "text", "paths"])
@few
@given(found=_found())
def test_other_reports_do_not_tell_columns_from_objects(name: str, found: Found) -> None:
    """Every other text report of a scan is that of the same plain groups too."""
    plain = replace(result(list(found.expected())), roots=(b"/a", b"/b", b"/c"))
    assert rendered(name, replace(plain, groups=found.groups())) == rendered(name, plain)


@pytest.fixture
def large() -> Found:
    """Return a small group before and one after one that has more files than are made at once."""
    found = Found()
    for number, (size, count) in enumerate([(10**6, 2), (100, _MANY), (100, 3)]):
        paths = [b"/%d/%06d" % (number, n) for n in range(count)]
        found.add(size, b"four", [File(path, n, 1, n + 1, proof=Proof.COMPARED) for n, path in enumerate(paths)])
    return found


def test_files_of_a_large_group_are_made_when_looked_at(large: Found) -> None:
    """A group of very many files holds no object for each, and yet is a sequence of them."""
    before, group, after = large.groups()
    first, expected, last = large.expected()
    assert isinstance(group.files, FoundFiles)
    assert tuple(group.files) == expected.files
    assert (before, after) == (first, last)
    assert (group.files[7], group.files[-1]) == (expected.files[7], expected.files[-1])
    assert tuple(group.files[5:2000:3]) == expected.files[5:2000:3]
    with pytest.raises(IndexError):
        group.files[_MANY]


def test_chunks_end_at_a_thousand_files(large: Found) -> None:
    """A chunk has no more groups than it takes for its files, so that many groups never are in memory at once."""
    for groups in (large.groups(), large.expected()):
        assert [(len(c.headers), len(c.files.path)) for c in groups.chunks()] == [(2, 2 + _MANY), (1, 3)]


def test_windows_paths_are_shown_without_the_mark_of_extended_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names, links and folders of a scan on Windows are those that users write there."""
    monkeypatch.setattr("dedupe.files.table._NATIVE", b"\\")
    monkeypatch.setattr("dedupe.storage.paths.sys.platform", "win32")
    found = Found()
    for folder in (rb"\\?\D:", rb"\\?\D:\x", rb"\\?\UNC\server\share"):
        found.table.add(found.table.enter(folder), b"f", (5, 1, 1, len(found.table) + 1))
    found.classes.append(b"four", [2, 0], Proof.HASHED)
    found.names[0] = [(1, NameKind.SYMBOLIC_LINK)]
    (group,) = found.groups()
    assert [(file.path, file.symlinks) for file in group.files] == [
        (rb"D:\f", (rb"D:\x\f",)),
        (rb"\\server\share\f", ()),
    ]
    assert found.groups().folders() == {b"D:\\", b"D:\\x\\", b"\\\\server\\share\\"}
    assert GroupList([group]).folders() == found.groups().folders()


def test_a_root_that_is_a_file_is_its_own() -> None:
    """A file that was named itself has that root, whatever that of its folder; volumes are named as in reports."""
    found = Found()
    found.add(5, b"four", [File(b"/a/%d" % n, 1, n, n + 1, n) for n in range(3)])
    found.table.named_root[2] = 7
    (group,) = found.groups()
    assert [(file.root, file.volume, file.device) for file in group.files] == [(0, 0, 0), (1, 1, 1), (7, 2, 2)]
    assert volumes_of(found.table)[1] == VolumeInfo("serial:1", "label", "ext4", b"/mnt")


def test_columns_are_those_of_a_file() -> None:
    """A chunk's columns become files, and files columns, by their order alone."""
    assert FileColumns._fields == File._fields


def test_groups_are_equal_to_nothing_else() -> None:
    """Groups are those of a result, not any list, and not their first few."""
    one = Found().expected()
    assert one == Found().groups()
    assert one != []
    assert GroupList([Group(1, 5, "bytes", None, ())]) != one
