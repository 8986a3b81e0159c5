"""Linux's list of mounts: names of any bytes, mounts over mounts, lines that no kernel would write."""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

if sys.platform == "win32":
    pytest.skip("only Linux has mountinfo", allow_module_level=True)

from dedupe.storage.mountinfo import Entry, Table, unescaped

names = st.binary(min_size=1, max_size=12).map(lambda name: name.replace(b"/", b"-").replace(b"\0", b"-"))
paths = st.lists(names, max_size=4).map(lambda parts: b"/" + b"/".join(parts))
numbers = st.integers(0, 1 << 19)
words = names.filter(lambda word: word != b"-")
rows = st.builds(
    Entry,
    *(st.integers(1, 9), st.integers(0, 9), st.builds(os.makedev, st.integers(0, 4095), numbers)),
    *(paths, paths, words, st.one_of(words, paths), st.just(b"rw,size=1k")),
)


def escaped(name: bytes) -> bytes:
    """Return a name as the kernel writes it (mangle in fs/proc_namespace.c)."""
    return b"".join(b"\\%03o" % byte if byte in b" \t\n\\#" else bytes([byte]) for byte in name)


def line(entry: Entry, *optional: bytes) -> bytes:
    """Return the line that the kernel writes for a mount."""
    major, minor = os.major(entry.device), os.minor(entry.device)
    place = b"%d %d %d:%d %b %b" % (entry.id, entry.parent, major, minor, escaped(entry.root), escaped(entry.point))
    return b" ".join([place, b"rw", *optional, b"-", escaped(entry.kind), escaped(entry.source), entry.options])


def table(*entries: Entry) -> Table:
    """Return the table of some mounts."""
    return Table(b"".join(line(entry) + b"\n" for entry in entries))


def mount(number: int, parent: int, point: bytes, root: bytes = b"/") -> Entry:
    """Return a mount where only its place matters."""
    return Entry(number, parent, 0, root, point, b"ext4", b"source", b"rw")


@given(st.lists(rows, max_size=5), st.lists(st.sampled_from([b"shared:1", b"master:2", b"unbindable"]), max_size=3))
def test_every_mount_is_read_as_it_was_written(written: list[Entry], optional: list[bytes]) -> None:
    """Whatever bytes names have, and however many optional fields there are, each mount is read as it is."""
    listed = b"\n".join(line(entry, *optional) for entry in written) + b"\n"
    assert Table(listed).entries == written


@given(st.binary(max_size=40))
def test_escapes_are_undone(name: bytes) -> None:
    """A name comes back as it was, also one that looks like an escape itself."""
    assert unescaped(escaped(name)) == name


@given(
    st.lists(
        st.one_of(st.binary(max_size=60), rows.map(line), st.builds(lambda row, cut: line(row)[:cut], rows, numbers)),
        max_size=8,
    ),
    paths,
)
def test_no_list_can_break_it(lines: list[bytes], path: bytes) -> None:
    """Lines of no known form are passed over, and a list that contradicts itself leads to no endless search."""
    found = Table(b"\n".join(lines))
    assert found.find(path) is None or found.find(path) in found.entries
    assert all(entry in found.entries for entry in found.visible())


@given(st.lists(rows, max_size=8), paths)
def test_a_path_lies_on_a_mount_above_it(entries: list[Entry], path: bytes) -> None:
    """What is found begins at the path or at a folder above it."""
    found = table(*entries).find(path)
    assert found is None or os.path.join(path, b"").startswith(os.path.join(found.point, b""))


def test_circles_end() -> None:
    """Mounts that lie on each other in a circle are never reached, or only once."""
    assert table(mount(1, 2, b"/"), mount(2, 1, b"/")).find(b"/a") is None
    assert table(mount(5, 1, b"/"), mount(6, 5, b"/"), mount(5, 6, b"/")).find(b"/a") is not None
    assert table(mount(1, 1, b"/")).find(b"/a") == mount(1, 1, b"/")


def test_the_innermost_mount_is_found_by_whole_names() -> None:
    """`/ab` does not lie on what is mounted at `/a`, and a slash at the end changes nothing."""
    top, inner, deep = mount(1, 0, b"/"), mount(2, 1, b"/a"), mount(3, 2, b"/a/b/c")
    mounts = table(top, inner, deep)
    for path, entry in {b"/": top, b"/ab": top, b"/a": inner, b"/a/": inner, b"/a/b": inner, b"/a/b/c/d": deep}.items():
        assert mounts.find(path) == entry


def test_a_mount_hides_what_was_mounted_below_it() -> None:
    """The last of several mounts in one place is seen, and none that was mounted under it before."""
    top, old, inside, over = mount(1, 0, b"/"), mount(2, 1, b"/a"), mount(3, 2, b"/a/b"), mount(4, 2, b"/a")
    mounts = table(top, old, inside, over)
    assert mounts.find(b"/a/b/c") == over
    assert list(mounts.visible()) == [top, over]


def test_without_a_mount_at_the_root() -> None:
    """In a chroot the list has only what lies below its root: all else is on a mount that is not told."""
    mounts = table(mount(7, 3, b"/data"), mount(8, 3, b"/proc"))
    assert mounts.find(b"/data/x") == mount(7, 3, b"/data")
    assert mounts.find(b"/home") is None


def test_options_have_values() -> None:
    """An option's value is told, an empty one where it has none, and None where it is not set."""
    entry = mount(1, 0, b"/")._replace(options=b"rw,vers=3.1.1,serverino,path=/a\\040b")
    assert entry.option(b"serverino") == b""
    assert entry.option(b"path") == b"/a b"
    assert entry.option(b"server") is None
