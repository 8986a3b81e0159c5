"""What a file has beside its content is read whole, compared in words, kept exactly and given back."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.storage import metadata
from dedupe.storage.metadata import Metadata, differences, from_json, restore, to_json
from tests.conftest import need, write
from tests.disks import run
from tests.file_system_kinds import LINKING, as_nobody, mounted

if sys.platform == "linux":
    from dedupe.storage import linux_flags

On = Callable[[str], Path]
linux = pytest.mark.skipif(sys.platform != "linux", reason="owners, attributes and flags as Linux has them")
CAPABILITY = bytes.fromhex("0100000200040000000000000000000000000000")  # cap_net_bind_service, as setcap writes it
EQUAL = Metadata(0o644, 1, 1, 2, 3)


def of(path: Path) -> Metadata:
    """Return the metadata of a file by its path."""
    return metadata.of(os.fsencode(path))


def set_access(path: Path, *entries: str) -> None:
    """Give a file or folder an access list."""
    need(shutil.which("setfacl"), "setfacl of the package acl")
    run("setfacl", *entries, path)


@linux
@pytest.mark.parametrize("kind", LINKING)
def test_each_difference_is_told(on: On, kind: str) -> None:
    """Owner, group, mode, access list and each extended attribute are told, and nothing else."""
    top = on(kind)
    first = write(top / "first", b"x")
    plain = of(first)

    def told(change: Callable[[Path], object]) -> list[str]:
        other = write(top / "other", b"x")
        change(other)
        found = differences(plain, of(other))
        assert bool(found) == bool(differences(of(other), plain))
        other.unlink()
        return found

    assert told(lambda _: None) == []
    assert told(lambda path: os.chown(path, 12, -1)) == ["owner (0, 12)"]
    assert told(lambda path: os.chown(path, -1, 12)) == ["group (0, 12)"]
    assert told(lambda path: os.chmod(path, 0o4711)) == ["mode (644, 4711)"]
    assert told(lambda path: set_access(path, "-m", "u:12:r")) == ["access list"]
    assert told(lambda path: os.setxattr(path, "user.a b", b"\0\xff")) == ["extended attribute user.a b"]
    assert told(lambda path: os.setxattr(path, "trusted.x", b"")) == ["extended attribute trusted.x"]
    assert told(lambda path: os.setxattr(path, "security.capability", CAPABILITY)) == [
        "extended attribute security.capability"
    ]


@linux
@pytest.mark.parametrize(
    ("kind", "letter", "word"),
    [
        ("ext4", "i", "immutable"),
        ("btrfs", "i", "immutable"),
        ("xfs", "a", "append only"),
        ("tmpfs", "d", "no dump"),
        ("ext4", "A", "no access time"),
        ("ext4", "S", "synchronous"),
    ],
)
def test_flags_are_told_by_name(on: On, kind: str, letter: str, word: str) -> None:
    """A flag that chattr sets is told, and one that the file system sets by itself is not."""
    top = on(kind)
    first, other = write(top / "first", b"x"), write(top / "other", b"x" * 1_000_000)
    assert differences(of(first), of(other)) == []
    run("chattr", f"+{letter}", other)
    try:
        assert differences(of(first), of(other)) == [f"flag {word}"]
    finally:
        run("chattr", f"-{letter}", other)


def test_times_count_where_they_are_asked_for(tmp_path: Path) -> None:
    """The time of the last write is no obstacle to a link, but can be asked for; that of the last read never counts."""
    a, b = write(tmp_path / "a", b"x"), write(tmp_path / "b", b"x")
    os.utime(a, ns=(1_000_000_000, 2_000_000_000))
    os.utime(b, ns=(5_000_000_000, 3_000_000_000))
    assert [d for d in differences(of(a), of(b)) if "time" in d] == []
    assert [d for d in differences(of(a), of(b), times=True) if "time" in d] == ["time of the last write"]
    os.utime(b, ns=(5_000_000_000, 2_000_000_000))
    assert [d for d in differences(of(a), of(b), times=True) if "time" in d] == []


@linux
@pytest.mark.parametrize("kind", LINKING)
def test_everything_is_given_back(on: On, kind: str) -> None:
    """A new file gets owner, rights, access list, attributes, flags and times of another, to the nanosecond."""
    top = on(kind)
    old = write(top / "old", b"x")
    os.chown(old, 12, 34)
    set_access(old, "-m", "u:12:r,g:99:rw")
    os.chmod(old, 0o6751)
    for name, value in (("user.x", b"\0\n"), ("trusted.y", b""), ("security.capability", CAPABILITY)):
        os.setxattr(old, name, value)
    os.utime(old, ns=(1_234_567_891, 9_876_543_219))
    run("chattr", "+id", old)
    wanted = of(old)
    run("chattr", "-i", old)
    old.unlink()
    (top / "strict").mkdir()
    set_access(top / "strict", "-d", "-m", "u:77:rwx")  # which new files inherit
    new = write(top / "strict/new", b"x")
    os.setxattr(new, "user.stray", b"1")
    descriptor = os.open(new, os.O_RDONLY)
    try:
        assert restore(descriptor, wanted) == []
        assert metadata.of(descriptor) == wanted
    finally:
        os.close(descriptor)
        run("chattr", "-i", new)


@linux
def test_what_cannot_be_given_back_is_said(tmp_path: Path) -> None:
    """An ordinary user cannot give a file away, nor set what the file system does not know: both are told."""
    file = write(tmp_path / "a", b"x")
    os.chown(file, 65534, 65534)
    wanted = replace(of(file), uid=0, mode=0o640, xattrs={"security.capability": CAPABILITY})
    descriptor = os.open(file, os.O_RDWR)
    told = as_nobody(lambda: restore(descriptor, wanted))
    os.close(descriptor)
    assert told == str(["owner (0, 65534)", "extended attribute security.capability"])
    assert of(file).mode == 0o640


@linux
def test_a_file_system_without_rights_says_so(tmp_path: Path) -> None:
    """On exFAT mode and owner stay the mount's, and the words name them."""
    with mounted(tmp_path, "exfat") as top:
        file = write(top / "a", b"x")
        assert of(file).xattrs == {}
        descriptor = os.open(file, os.O_RDWR)
        told = restore(descriptor, replace(of(file), uid=5, gid=6, mode=0o600))
        os.close(descriptor)
        assert {word.split()[0] for word in told} == {"owner", "group", "mode"}


@linux
def test_no_link_is_followed(tmp_path: Path) -> None:
    """A symbolic link is not taken for what it leads to."""
    write(tmp_path / "a", b"x")
    os.symlink("a", tmp_path / "link")
    with pytest.raises(OSError, match="symbolic link"):
        of(tmp_path / "link")


integers = st.integers(-(2**63), 2**63)


@given(
    st.builds(
        Metadata,
        mode=st.integers(0, 0o7777),
        uid=integers,
        gid=integers,
        accessed_ns=integers,
        modified_ns=integers,
        flags=st.integers(0, 2**32),
        xattrs=st.dictionaries(st.binary(min_size=1).map(os.fsdecode), st.binary()) if sys.platform != "win32"
        else st.just({}),
        security=st.binary(),
        unread=st.lists(st.text()).map(tuple),
    )
)  # fmt: skip
def test_json_is_exact(kept: Metadata) -> None:
    """What is written as JSON in any encoding is read back as it was, names of any bytes too."""
    assert from_json(json.loads(json.dumps(to_json(kept)))) == kept
    if not kept.unread:
        json.dumps(to_json(kept), ensure_ascii=False).encode()


def test_json_that_is_not_ours_is_refused() -> None:
    """A missing field and what is no base64 are errors, not empty values."""
    record = to_json(EQUAL)
    del record["mode"]
    with pytest.raises(KeyError):
        from_json(record)
    with pytest.raises(ValueError, match="base64"):
        from_json({**to_json(EQUAL), "security_base64": "a!b="})


def test_what_was_not_read_counts_as_different() -> None:
    """Two files whose access lists nobody could read are not called alike."""
    unread = replace(EQUAL, unread=("access list",))
    assert differences(EQUAL, EQUAL) == []
    assert differences(unread, unread) == ["access list (not read here)"]
    assert differences(EQUAL, replace(EQUAL, security=b"x")) == ["owner or access list"]


@linux
def test_requests_have_the_numbers_of_the_headers() -> None:
    """The numbers are those that C programs get from linux/fs.h on each kind of processor."""
    assert linux_flags.request(ord("f"), 1, 8, reads=True, machine="x86_64") == 0x8008_6601
    assert linux_flags.request(ord("f"), 1, 8, reads=True, machine="ppc64le") == 0x4008_6601
    assert linux_flags.request(0x94, 9, 4, reads=False, machine="aarch64") == 0x4004_9409
    assert linux_flags.request(0x94, 9, 4, reads=False, machine="ppc64le") == 0x8004_9409


def test_a_file_is_itself_on_every_system(tmp_path: Path) -> None:
    """Its mode and time are those that Python tells; by path and by descriptor they are the same."""
    file = write(tmp_path / "a", b"x")
    descriptor = os.open(file, os.O_RDWR)
    try:
        found = metadata.of(descriptor)
        assert found == of(file)
        assert found.modified_ns == file.stat().st_mtime_ns
        assert found.mode == stat.S_IMODE(file.stat().st_mode)
        assert [d for d in restore(descriptor, replace(found, modified_ns=1_000_000_000)) if "time" in d] == []
        assert file.stat().st_mtime_ns == 1_000_000_000
    finally:
        os.close(descriptor)


@pytest.mark.skipif(sys.platform != "win32", reason="attributes as Windows has them")
def test_windows_attributes_are_told_and_given_back(tmp_path: Path) -> None:
    """A hidden file differs from one that is not, and can be made like it."""
    a, b = write(tmp_path / "a", b"x"), write(tmp_path / "b", b"x")
    run("attrib", "+h", b)
    assert differences(of(a), of(b)) == ["flag hidden"]
    descriptor = os.open(b, os.O_RDWR | os.O_BINARY)
    assert restore(descriptor, of(a)) == []
    os.close(descriptor)
    assert differences(of(a), of(b)) == []
