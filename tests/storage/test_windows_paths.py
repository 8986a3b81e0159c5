"""Windows' rules for the text of paths: examples by hand, laws by hypothesis, and Windows itself where it is there."""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.errors import UsageError
from dedupe.storage.windows_paths import extended, mended, plain

CURRENT = {".": "C:\\work\\now", "D:": "D:\\photos", "E:": "E:\\"}
on_windows = pytest.mark.skipif(sys.platform != "win32", reason="asks Windows itself: .ci/windows runs it")

names = st.text(st.characters(exclude_characters='\\/:"\0'), min_size=1).filter(lambda name: name not in (".", ".."))
roots = st.sampled_from(["\\\\?\\C:\\", "\\\\?\\UNC\\server\\share\\"])
extended_paths = st.builds(
    lambda root, parts: (root + "\\".join(parts)).encode("utf-8", "surrogatepass"), roots, st.lists(names)
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("D:\\", "\\\\?\\D:\\"),
        ("D:\\a\\b", "\\\\?\\D:\\a\\b"),
        ("D:/a//b/", "\\\\?\\D:\\a\\b"),
        ("D:\\a\\.\\b\\..\\c", "\\\\?\\D:\\a\\c"),
        ("D:\\..\\..\\a", "\\\\?\\D:\\a"),
        ("D:", "\\\\?\\D:\\photos"),
        ("D:2024\\x", "\\\\?\\D:\\photos\\2024\\x"),
        ("D:..", "\\\\?\\D:\\"),
        ("E:x", "\\\\?\\E:\\x"),
        (".", "\\\\?\\C:\\work\\now"),
        ("..\\x", "\\\\?\\C:\\work\\x"),
        ("x/y", "\\\\?\\C:\\work\\now\\x\\y"),
        ("\\x", "\\\\?\\C:\\x"),
        ("\\\\server\\share", "\\\\?\\UNC\\server\\share\\"),
        ("//server/share/a/../b", "\\\\?\\UNC\\server\\share\\b"),
        ("\\\\server\\share\\..\\..", "\\\\?\\UNC\\server\\share\\"),
        ("//?/D:/a/../b", "\\\\?\\D:\\b"),
        ("//?/unc/server/share/a", "\\\\?\\UNC\\server\\share\\a"),
        ("//./PhysicalDrive0", "\\\\.\\PhysicalDrive0"),
        ("D:\\a.\\b \\NUL", "\\\\?\\D:\\a.\\b \\NUL"),
        ("CON", "\\\\?\\C:\\work\\now\\CON"),
        ("D:\\...", "\\\\?\\D:\\..."),
    ],
)
def test_extended(path: str, expected: str) -> None:
    """What Windows works out for a plain path is worked out before the prefix goes on, names stay exact."""
    assert extended(path.encode(), CURRENT.__getitem__) == expected.encode()


@pytest.mark.parametrize("path", ["\\\\?\\D:\\a\\..\\x.", "\\\\?\\", "\\\\.\\PhysicalDrive0", "\\\\?\\Volume{0}\\x"])
def test_extended_leaves_what_windows_takes_as_written(path: str) -> None:
    """A path that is extended already, or names a device, is taken as it is."""
    assert extended(path.encode(), CURRENT.__getitem__) == path.encode()


def test_extended_below_a_share() -> None:
    r"""Where the current directory is on a share, `\x` and `x` lie on that share."""
    here = {".": "\\\\server\\share\\now"}.__getitem__
    assert extended(b"\\x", here) == b"\\\\?\\UNC\\server\\share\\x"
    assert extended(b"x", here) == b"\\\\?\\UNC\\server\\share\\now\\x"


def test_extended_keeps_lone_surrogates() -> None:
    """A name that is no valid UTF-16 passes through."""
    name = "D:\\\ud800".encode("utf-8", "surrogatepass")
    assert plain(extended(name)) == name


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("\\\\?\\D:\\", "D:\\"),
        ("\\\\?\\D:\\a.\\NUL", "D:\\a.\\NUL"),
        ("\\\\?\\UNC\\server\\share\\x", "\\\\server\\share\\x"),
        ("\\\\?\\unc\\server\\share\\x", "\\\\server\\share\\x"),
        ("\\\\?\\Volume{0}\\x", "\\\\?\\Volume{0}\\x"),
        ("D:\\x", "D:\\x"),
        ("x", "x"),
    ],
)
def test_plain(path: str, expected: str) -> None:
    """People see no prefix, except where there is no other way to write the path."""
    assert plain(path.encode()) == expected.encode()


@given(extended_paths)
def test_plain_loses_nothing(path: bytes) -> None:
    """A path that a report shows leads back to the very same file."""
    assert extended(plain(path), CURRENT.__getitem__) == path


@given(st.text(st.sampled_from("ab.:/\\ ?D"), max_size=12))
def test_extended_is_final(text: str) -> None:
    """Whatever is written, the outcome is fully worked out, and working it out again changes nothing."""
    path = extended(text.encode(), lambda drive: "C:\\work" if drive == "." else drive + "\\")
    assert extended(path) == path
    if not text.startswith(("\\\\?\\", "\\\\.\\")) and path.startswith(b"\\\\?\\"):
        parts = path[4:].removesuffix(b"\\").split(b"\\")
        names = parts[3:] if parts[0] == b"UNC" else parts[1:]
        assert b"/" not in path[4:]
        assert not {b"", b".", b".."} & set(names)


@on_windows
def test_extended_agrees_with_windows(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """For paths without special names, Windows' own working out gives the same."""
    monkeypatch.chdir(str(tmp_path))
    for path in (b".", b"x", b"x/../y", b"\\x", b"C:", b"C:x", b"C:\\", b"D:/x//y/.", b"..\\..\\x"):
        assert plain(extended(path)).rstrip(b"\\") == os.path.abspath(path).rstrip(b"\\")  # Wine leaves one after C:


@pytest.mark.parametrize(
    ("argument", "path"),
    [('D:"', "D:\\"), ('D:\\my photos"', "D:\\my photos\\"), ('D:\\x\\"', "D:\\x\\"), ('D:" ', "D:\\"), ('"', "\\")],
)
def test_mended(argument: str, path: str) -> None:
    r"""What a shell makes of `"D:\"` is read as it was meant, and said in one sentence."""
    fixed, note = mended(argument)
    assert fixed == path
    assert note is not None
    assert note.count(". ") == 0
    assert path in note


@pytest.mark.parametrize("argument", ['D:" --output out.csv', 'D:" E:"'])
def test_swallowed_arguments_are_refused(argument: str) -> None:
    r"""Where `"D:\"` took in what follows it, nothing is guessed: the cause is named."""
    with pytest.raises(UsageError, match="took in the arguments after it"):
        mended(argument)


def test_a_bare_drive_gets_a_warning() -> None:
    """`D:` stays what Windows means by it, and the user learns what that is."""
    path, note = mended("D:")
    assert path == "D:"
    assert note is not None
    assert "D:\\" in note


@pytest.mark.parametrize("argument", ["D:\\", "D:\\photos", "photos", ".", "\\\\server\\share", ""])
def test_ordinary_arguments_pass(argument: str) -> None:
    """There is no note where there is nothing to tell."""
    assert mended(argument) == (argument, None)
