"""Cases of lists of checksums: each was met by a user."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dedupe.checksums.algorithms import TAGS
from dedupe.digests.choose import any_of
from dedupe.errors import BackendError
from tests.checksums.conformance import ask, dedupe
from tests.conftest import write


def need_algorithm(name: str) -> None:
    """Skip where a package or a library lacks an algorithm."""
    try:
        any_of(name)
    except BackendError as error:
        pytest.skip(str(error))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two files in a subfolder."""
    write(tmp_path / "d/a", b"a")
    write(tmp_path / "d/b", b"b")
    return tmp_path


@pytest.mark.parametrize("style", ["", "--tag", "--untagged"])
@pytest.mark.parametrize("algorithm", [*TAGS, "blake2b-160", "blake2b-256", "blake2b-384"])
def test_f3_our_own_lists_are_right(folder: Path, algorithm: str, style: str) -> None:
    """A list that is right is so without a word of its algorithm, and a wrong one is not."""
    need_algorithm(algorithm)
    made = ask(dedupe("-a", algorithm, *style.split(), "d/a", "d/b"), folder)
    assert (made.code, made.silent) == (0, True)
    write(folder / "L", made.out)
    checked = ask(dedupe("-c", "L"), folder)
    if (algorithm, style) == ("xxh3", "--untagged"):  # anybody can make a file whose MD5 it would be taken for
        assert (checked.code, checked.out) == (1, b"d/a: FAILED\nd/b: FAILED\n")
        return
    assert (checked.code, checked.out) == (0, b"d/a: OK\nd/b: OK\n")
    assert ask(dedupe("-c", "-a", algorithm, "L"), folder).code == 0
    write(folder / "d/b", b"c")
    checked = ask(dedupe("-c", "L"), folder)
    assert (checked.code, checked.out) == (1, b"d/a: OK\nd/b: FAILED\n")


def test_f3_the_algorithm_that_fits_is_named(folder: Path) -> None:
    """A guess by length is never told as damage; a digest that can be forged is named, but proves nothing."""
    for algorithm, code, word in (("sha3_256", 0, b"sha3_256"), ("xxh3", 1, b"xxh3")):
        write(folder / "L", ask(dedupe("-a", algorithm, "--untagged", "d/a"), folder).out)
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        done = subprocess.run(dedupe("-c", "L"), cwd=folder, capture_output=True, check=False, env=env)
        assert done.returncode == code
        assert word in done.stderr
        assert ask(dedupe("-c", "-a", algorithm, "L"), folder).code == 0


def test_f4_the_list_takes_no_part_in_itself(folder: Path) -> None:
    """A list that is written among the files that it is of is right afterwards, and the reason is told."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    for names in (["--recursive", "."], ["SUMS", "d/a", "d/b"]):
        with (folder / "SUMS").open("wb") as file:
            done = subprocess.run(dedupe(*names), cwd=folder, stdout=file, stderr=subprocess.PIPE, check=False, env=env)
        assert done.returncode == 0
        assert b"takes no part" in done.stderr
        assert b"SUMS" not in (folder / "SUMS").read_bytes()
        assert ask(dedupe("--check", "SUMS"), folder).out.count(b": OK") == 2


def test_f15_lists_of_sfv(folder: Path) -> None:
    """They are written for CRC-32, and read with comments, Windows' ends of lines and names with blanks."""
    write(folder / "d/a b", b"ab")
    made = ask(dedupe("-a", "crc32", "d/a", "d/a b"), folder).out
    assert made.splitlines()[1:] == [b"d/a E8B7BE43", b"d/a b 9E83486D"]
    write(folder / "L", made)
    assert ask(dedupe("-c", "L"), folder).out == b"d/a: OK\nd/a b: OK\n"
    write(folder / "L", b"; by another\r\nd\\a b 9e83486d\r\nd/b   00000000\r\n" if os.sep == "/" else made)
    if os.sep == "/":
        assert ask(dedupe("-c", "L"), folder).out == b"d\\a b: OK\nd/b: FAILED\n"


def test_f15_names_that_a_format_cannot_hold(folder: Path) -> None:
    """They are told and fail; nothing is written that would be read as another name."""
    if os.sep != "/":
        pytest.skip("Windows has no such names")
    write(folder / "d/new\nline", b"x")
    for options in (["-a", "crc32"], ["--hashdeep"]):
        done = ask(dedupe(*options, "d/new\nline"), folder)
        assert (done.code, done.silent) == (1, False)
        assert b"line" not in done.out


def test_f15_lists_of_hashdeep(folder: Path) -> None:
    """One of ours is read again; its size counts too."""
    write(folder / "L", ask(dedupe("--hashdeep", "d/a", "d/b"), folder).out)
    assert ask(dedupe("-c", "L"), folder).out == b"d/a: OK\nd/b: OK\n"
    write(folder / "L", (folder / "L").read_bytes().replace(b"\n1,", b"\n2,", 1))
    assert ask(dedupe("-c", "L"), folder).out == b"d/a: FAILED\nd/b: OK\n"


def test_u3_an_algorithm_by_the_name_that_everybody_uses(folder: Path) -> None:
    """`SHA256` is what a list calls it, so a user may."""
    assert ask(dedupe("-a", "SHA256", "d/a"), folder) == ask(dedupe("d/a"), folder)
