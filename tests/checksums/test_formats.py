"""Lists of checksums are those that other programs write and read."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.checksums.algorithms import SIZES, TAGS, of_name, of_size, of_tag
from dedupe.checksums.entry import Entry
from dedupe.checksums.formats import line, parse
from dedupe.digests.choose import any_of

DIGEST = hashlib.sha256(b"x").digest()
HEX = DIGEST.hex().encode()
PATHS = st.binary(min_size=1, max_size=40).filter(lambda path: b"\0" not in path)
HOSTILE = [
    b"plain",
    b" leading",
    b"trailing ",
    b"two  spaces",
    b"*star",
    b"-dash",
    b"#hash",
    b"new\nline",
    b"carriage\rreturn",
    b"ends in return\r",
    b"back\\slash",
    b"\\n",
    b"new\nline and back\\slash",
    b")paren (",
    b"a) = b",
    b"tab\t",
    b"esc\x1b[31m",
    b"caf\xe9",
    "日本 é".encode(),
    b"$(touch x)",
]
SHA256 = of_size(32)  # what an untagged digest of this length may be of
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")


def run(*command: str, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a program in the C locale."""
    return subprocess.run(
        command, cwd=cwd, input=stdin, capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"}
    )


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Return a folder of files with hostile names, whose content is their name."""
    for name in HOSTILE:
        with open(os.path.join(os.fsencode(tmp_path), name), "wb") as file:
            file.write(name)
    return tmp_path


@given(PATHS, st.booleans(), st.sampled_from(sorted(TAGS)))
def test_every_path_comes_back(path: bytes, tag: bool, algorithm: str) -> None:  # noqa: FBT001 - hypothesis's
    """Whatever a file is called, the line written for it is read as the same file and digest."""
    digest = bytes(range(SIZES[algorithm]))
    written = line(path, digest, algorithm, tag=tag)
    assert b"\n" not in written
    sums = parse(written, algorithm)
    assert [(entry.path, entry.digest, entry.algorithms) for entry in sums.entries] == [(path, digest, (algorithm,))]


@given(st.binary(max_size=200))
def test_garbage_never_raises(data: bytes) -> None:
    """Any bytes at all are a list, perhaps of malformed lines."""
    sums = parse(data)
    assert all(number >= 1 for number in sums.malformed)


@POSIX
@pytest.mark.parametrize("program", ["sha256sum", "shasum -a 256", "sha256sum --tag", "sha256sum --binary"])
def test_reads_what_programs_write(hostile: Path, program: str) -> None:
    """Every hostile name in a list of a real program is read as that name, with its digest."""
    command = program.split()
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]} here")
    names = [name for name in HOSTILE if command[0] != "shasum" or b"\r" not in name]  # shasum does not escape it
    done = subprocess.run([*command, "--", *names], cwd=hostile, capture_output=True, check=True)
    sums = parse(done.stdout)
    assert sums.malformed == ()
    assert {entry.path: entry.digest for entry in sums.entries} == {
        name: hashlib.sha256(name).digest() for name in names
    }


@POSIX
@pytest.mark.parametrize("tag", [False, True])
def test_writes_what_sha256sum_writes(hostile: Path, *, tag: bool) -> None:
    """The lines are those of sha256sum, byte for byte, and sha256sum accepts them."""
    ours = b"".join(line(name, hashlib.sha256(name).digest(), "sha256", tag=tag) + b"\n" for name in HOSTILE)
    command = ["sha256sum", "--tag"] if tag else ["sha256sum"]
    theirs = subprocess.run([*command, "--", *HOSTILE], cwd=hostile, capture_output=True, check=True)
    assert ours == theirs.stdout
    assert run("sha256sum", "--check", "--strict", cwd=hostile, stdin=ours).returncode == 0


LINES = {
    b"two spaces": HEX + b"  x",
    b"binary": HEX + b" *x",
    b"one space": HEX + b" x",
    b"tab": HEX + b"\tx",
    b"indented": b" \t" + HEX + b"  x",
    b"upper case": HEX.upper() + b"  x",
    b"Windows line end": HEX + b"  x\r",
    b"BSD": b"SHA256 (x) = " + HEX,
    b"OpenSSL": b"SHA256(x)= " + HEX,
    b"OpenSSL 3": b"SHA2-256(x)= " + HEX,
}


@pytest.mark.parametrize("text", LINES.values(), ids=[name.decode() for name in LINES])
def test_forms_of_a_line(tmp_path: Path, text: bytes) -> None:
    """All forms of a line mean the same, also to sha256sum, apart from OpenSSL 3's."""
    named = b"(" in text
    assert parse(text + b"\n").entries == (Entry(b"x", DIGEST, ("sha256",) if named else SHA256),)
    if shutil.which("sha256sum") and not text.startswith(b"SHA2-"):
        (tmp_path / "x").write_bytes(b"x")
        assert run("sha256sum", "--check", cwd=tmp_path, stdin=text + b"\n").returncode == 0


BAD = {
    "words": b"rubbish",
    "no name": HEX,
    "letters after the digest": HEX + b"x  x",
    "half a byte": HEX[:-1] + b"  x",
    "length of no algorithm": HEX[:-2] + b"  x",
    "escape that means nothing": b"\\" + HEX + b"  a\\qb",
    "lone backslash at the end": b"\\" + HEX + b"  a\\",
    "unknown tag": b"FOO (x) = " + HEX,
    "tag of another length": b"MD5 (x) = " + HEX,
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_malformed_lines(tmp_path: Path, text: bytes) -> None:
    """A line that means nothing is counted, never guessed at; sha256sum finds nothing in it either."""
    sums = parse(b"# comment\n\n" + text + b"\n")
    assert sums.entries == ()
    assert sums.malformed == (3,)
    if shutil.which("sha256sum"):
        (tmp_path / "x").write_bytes(b"x")
        assert run("sha256sum", "--check", cwd=tmp_path, stdin=text + b"\n").returncode == 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-8"])
def test_encodings_of_powershell(encoding: str) -> None:
    """A list as PowerShell writes it (capitals, CRLF, UTF-16 with its mark) holds the names that it shows."""
    text = f"{HEX.decode().upper()}  C:\\Users\\é\\日.bin\r\n"
    mark = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""
    sums = parse((mark + text).encode(encoding))
    assert sums.malformed == ()
    assert sums.entries == (Entry("C:\\Users\\é\\日.bin".encode(), DIGEST, SHA256),)


def test_half_a_utf16_character() -> None:
    """A list that was cut off in the middle of a character is read as far as it goes."""
    data = f"{HEX.decode()}  x\r\n".encode("utf-16") + b"a"
    assert parse(data).entries == (Entry(b"x", DIGEST, SHA256),)
    assert parse(data).malformed == (2,)


@pytest.mark.parametrize(
    ("program", "algorithm"),
    [
        ("md5sum", "md5"),
        ("sha1sum", "sha1"),
        ("sha224sum", "sha224"),
        ("sha384sum", "sha384"),
        ("sha512sum", "sha512"),
        ("shasum -a 512", "sha512"),
        ("xxhsum", "xxh64"),
    ],
)
def test_algorithm_of_an_untagged_list(tmp_path: Path, program: str, algorithm: str) -> None:
    """The likeliest follows from the length of the digest."""
    assert listed(tmp_path, program).algorithms[0] == algorithm


@pytest.mark.parametrize(
    ("program", "algorithm"),
    [
        ("b2sum --tag", "blake2b"),
        ("b2sum --tag -l 384", "blake2b-384"),
        ("shasum --tag -a 512256", "sha512_256"),
        ("xxhsum -H0 --tag", "xxh32"),
        ("xxhsum --tag", "xxh64"),
        ("xxhsum -H2 --tag", "xxh3"),
        ("xxhsum -H3 --tag", "xxh3_64"),
        ("xxhsum -H2 --tag --little-endian", "xxh3"),
        ("openssl dgst -sha512-256", "sha512_256"),
        ("openssl dgst -blake2s256", "blake2s"),
        ("openssl dgst -blake2b512", "blake2b"),
        ("openssl dgst -sha3-384", "sha3_384"),
    ],
)
def test_algorithm_of_a_tagged_list(tmp_path: Path, program: str, algorithm: str) -> None:
    """It is what the tag says, and the digest is that of the algorithm."""
    assert listed(tmp_path, program) == Entry(b"x", any_of(algorithm).hasher(algorithm, b"x").digest(), (algorithm,))


def listed(folder: Path, program: str) -> Entry:
    """Return what a program lists of a file."""
    (folder / "x").write_bytes(b"x")
    command = program.split()
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]} here")
    (entry,) = parse(run(*command, "x", cwd=folder).stdout).entries
    return entry


def test_named_algorithm_decides() -> None:
    """A named algorithm takes the lines that may be its own, and no others."""
    text = HEX + b"  x\nSHA256 (x) = " + HEX + b"\nSHA3-256 (x) = " + HEX + b"\n" + HEX[:32] + b"  x\n"
    sums = parse(text, "sha3_256")
    assert [entry.algorithms for entry in sums.entries] == [("sha3_256",), ("sha3_256",)]
    assert sums.malformed == (2, 4)


@pytest.mark.parametrize("text", ["SHA256", "sha-256", "Sha_256", "SHA2-256", "sha256"])
def test_names_of_users(text: str) -> None:
    """A user may write an algorithm as anybody does."""
    assert of_name(text) == "sha256"


def test_names_that_differ_in_lists_and_for_users() -> None:
    """`xxh3` is the long one to users, and the short one in the lists of xxhsum."""
    assert (of_name("xxh3"), of_tag("XXH3"), of_name("XXH128")) == ("xxh3", "xxh3_64", "xxh3")
    assert of_name("blake2b-512") == "blake2b"
    assert of_name("blake2b-256") == of_tag("BLAKE2b-256") == "blake2b-256"
    for nothing in ("sha257", "", "blake2b-9", "blake2b-520", "blake2b-0"):
        assert of_name(nothing) is None


def test_every_algorithm_has_tag_and_size() -> None:
    """An algorithm with a tag has a size, and tags are used once."""
    assert TAGS.keys() == SIZES.keys()
    assert len(set(TAGS.values())) == len(TAGS)
