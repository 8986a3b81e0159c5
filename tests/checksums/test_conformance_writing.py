"""Lists are written as sha256sum, b2sum, shasum, xxhsum and openssl write them: the same bytes, the same exit code."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.checksums.conformance import NAMES, ask, dedupe, program, tree

# programs, and our options that mean the same
WRITERS = {
    "md5sum": "-a md5",
    "sha1sum": "-a sha1",
    "sha224sum": "-a sha224",
    "sha256sum": "",
    "sha384sum": "-a sha384",
    "sha512sum": "-a sha512",
    "b2sum": "-a blake2b --untagged",
    "b2sum -l 8": "-a blake2b -l 8 --untagged",
    "b2sum -l 256": "-a blake2b -l 256 --untagged",
    "b2sum -l 504": "-a blake2b-504 --untagged",
    "cksum -a sha256": "--tag",
    "cksum -a blake2b -l 160": "-a blake2b -l 160",
    "shasum": "-a sha1",
    "shasum -a 512224": "-a sha512_224 --untagged",
    "shasum -a 512256": "-a SHA512/256 --untagged",
    "xxhsum -H0": "-a xxh32 --untagged",
    "xxhsum -H1": "-a xxh64",
    "xxhsum -H2": "-a xxh3 --untagged",
    "openssl dgst -r -sha3-512": "-a sha3_512 --untagged --binary",
    "openssl dgst -r -blake2s256": "-a blake2s --untagged --binary",
}
SITUATIONS: dict[str, tuple[str | bytes, ...]] = {
    "two files": ("x", "y"),
    "one is missing": ("x", "gone", "y"),
    "a folder": ("d", "x"),
    "one that may not be read": ("secret", "x"),
    "a link": ("link",),
    "a link to nothing": ("dangling", "x"),
    "binary": ("-b", "x"),
    "text": ("-t", "x"),
    "binary, then text": ("-bt", "x"),
    "text, then binary": ("-tb", "x"),
    "tag": ("--tag", "x"),
    "tag and binary": ("--tag", "-b", "x"),
    "zero": ("-z", "x", "y"),
    "zero and a new line": ("-z", b"new\nline", b"back\\slash"),
    "zero and tag": ("--tag", "--zero", b"new\nline"),
    "standard input": ("-",),
    "standard input by default": (),
    "standard input among files": ("x", "-", "y"),
    "one file twice": ("x", "x"),
    "an empty file": ("empty",),
    "a path with dots": ("d/../x",),
    "options last": ("x", "--tag"),
    **{f"name {name!r}": ("--", name) for name in NAMES},
    **{
        f"name {name!r} with tag": ("--tag", "--", name)
        for name in (b"new\nline", b"back\\slash", b"a) = b", b"caf\xe9")
    },
}
BASIC = ("two files", "one is missing", "a folder", "one that may not be read", "an empty file", "name b'caf\\xe9'")
# what we do otherwise: arguments, our exit code, the end of what we print, and why
DIFFERENCES: dict[str, tuple[tuple[str, ...], int, bytes, str]] = {
    "a device": (("/dev/null",), 1, b"", "reading a device or a pipe by name might never end; - is standard input"),
    "no name": (("",), 2, b"", "an unset variable in a script is wrong usage, which ends with 2 in all our commands"),
    "tag and text": (("--tag", "-t", "x"), 2, b"", "wrong usage ends with 2 in all our commands"),
    "a flag of checking": (("--quiet", "x"), 2, b"", "wrong usage ends with 2 in all our commands"),
    "an unknown option": (("--bogus", "x"), 2, b"", "wrong usage ends with 2 in all our commands"),
    "standard input twice": (("-", "-"), 2, b"", "the second would be the digest of nothing"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tree of hostile names."""
    return tree(tmp_path_factory.mktemp("tree"))


@pytest.mark.parametrize("situation", SITUATIONS)
def test_as_sha256sum(folder: Path, situation: str) -> None:
    """Output and exit code are those of sha256sum, and whoever is silent on standard error is so for both."""
    arguments = SITUATIONS[situation]
    theirs = ask([*program("sha256sum"), *arguments], folder, b"in", obeys=True)
    assert ask(dedupe(*arguments), folder, b"in", obeys=True) == theirs


@pytest.mark.parametrize("situation", BASIC)
@pytest.mark.parametrize("writer", [name for name in WRITERS if name != "sha256sum"])
def test_as_other_programs(folder: Path, writer: str, situation: str) -> None:
    """So are those of other programs, by our options that mean the same."""
    arguments = SITUATIONS[situation]
    if writer.startswith("openssl"):
        arguments = tuple(each for each in arguments if each != "--")
    theirs = ask([*program(writer), *arguments], folder, obeys=True)
    assert ask(dedupe(*WRITERS[writer].split(), *arguments), folder, obeys=True) == theirs


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_what_differs_on_purpose(folder: Path, difference: str) -> None:
    """Each difference from sha256sum has a reason, and is there."""
    arguments, code, out, reason = DIFFERENCES[difference]
    ours = ask(dedupe(*arguments), folder, b"in")
    assert (ours.code, ours.out, ours.silent) == (code, out, False), reason
    theirs = ask([*program("sha256sum"), *arguments], folder, b"in")
    assert (theirs.code, theirs.out) != (code, out), "it is no difference any more"


def test_every_short_length_of_blake2b(folder: Path) -> None:
    """BLAKE2b of each length is b2sum's, with and without a tag."""
    for bits in (8, 16, 136, 248, 384, 512):
        for style in ("--tag", "--untagged"):
            theirs = ask([*program(f"b2sum -l {bits}"), *(["--tag"] if style == "--tag" else []), "x"], folder)
            assert ask(dedupe("-a", "blake2b", "-l", str(bits), style, "x"), folder).out == theirs.out


def test_names_that_escape_differently(folder: Path) -> None:
    """Of xxhsum, openssl and shasum names with ends of lines are not escaped so that all can read them: ours are."""
    for name in (b"new\nline", b"carriage\rreturn", b"back\\slash"):
        ours = ask(dedupe("-a", "xxh64", "--", name), folder).out
        assert ours.startswith(b"\\")
        assert ours.count(b"\n") == 1
        (folder / "sums").write_bytes(ours)
        assert ask(dedupe("-c", "sums"), folder).code == 0
        os.unlink(folder / "sums")
