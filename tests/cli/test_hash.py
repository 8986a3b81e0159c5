"""`dedupe hash` speaks sha256sum's language, both ways."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result  # noqa: TID251 - runs in this process, in a tenth of the time

from dedupe.cache.write_buffer import RACY_NS
from dedupe.checksums import formats
from dedupe.cli import app
from dedupe.storage.opener import Opener

HOSTILE = [
    b" leading",
    b"trailing ",
    b"*star",
    b"new\nline",
    b"carriage\rreturn",
    b"ends in return\r",
    b"back\\slash",
    b"\\n",
    b")paren (",
    b"esc\x1b[31m",
    b"caf\xe9",
    "日本".encode(),
    b"--help",
    b"-rf",
]
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
COREUTILS = pytest.mark.skipif(not shutil.which("sha256sum"), reason="no sha256sum here")


def hash_(*arguments: str, stdin: bytes = b"") -> Result:
    """Run `dedupe hash` in this process, without a cache."""
    return CliRunner().invoke(app, ["hash", "--no-cache", *arguments], input=stdin)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that is the current one."""
    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.chdir(inside)
    return inside


@pytest.fixture
def hostile(folder: Path) -> list[str]:
    """Return the names of files in the current folder that are as hostile as names can be."""
    for name in HOSTILE:
        with open(name, "wb") as file:
            file.write(name)
    return [os.fsdecode(name) for name in HOSTILE]


@POSIX
@COREUTILS
@pytest.mark.parametrize("tag", [["--tag"], []])
def test_same_bytes_as_sha256sum(hostile: list[str], tag: list[str]) -> None:
    """The output is sha256sum's, byte for byte, for hostile names too."""
    theirs = subprocess.run(["sha256sum", *tag, "--", *hostile], capture_output=True, check=True).stdout
    ours = hash_(*tag, "--", *hostile)
    assert ours.stdout_bytes == theirs
    assert ours.exit_code == 0


@POSIX
@COREUTILS
@pytest.mark.parametrize("program", ["sha256sum", "md5sum", "b2sum", "sha512sum", "sha1sum", "sha384sum"])
def test_each_accepts_the_others_list(hostile: list[str], folder: Path, program: str) -> None:
    """Each program's list is accepted by `--check`, and ours by the program."""
    algorithm = {"b2sum": "blake2b"}.get(program, program.removesuffix("sum"))
    theirs = subprocess.run([program, "--", *hostile], capture_output=True, check=True).stdout
    Path("../theirs").write_bytes(theirs)
    assert hash_("--check", "../theirs").exit_code == 0
    Path("../ours").write_bytes(hash_("--algorithm", algorithm, "--", *hostile).stdout_bytes)
    assert subprocess.run([program, "--strict", "-c", "../ours"], capture_output=True, check=False).returncode == 0


CHECKS = {
    "all right": (b"%(x)s  x\n%(y)s  y\n", 0),
    "one wrong": (b"%(x)s  x\n%(x)s  y\n", 1),
    "one missing": (b"%(x)s  x\n%(x)s  gone\n", 1),
    "one line malformed": (b"%(x)s  x\nrubbish\n", 0),
    "two lines malformed": (b"rubbish\n%(x)s  x\nrubbish\n", 0),
    "nothing but rubbish": (b"rubbish\n", 1),
    "empty": (b"", 1),
    "a folder": (b"%(x)s  .\n", 1),
    "comments and empty lines": (b"# hello\n\n%(x)s  x\n", 0),
    "name with a new line that is gone": (b"\\%(x)s  a\\nb\n", 1),
    "one hex digit short": (b"%(x).63s  x\n", 1),
}


@COREUTILS
@pytest.mark.parametrize("case", CHECKS)
def test_check_says_what_sha256sum_says(folder: Path, case: str) -> None:
    """The verdicts, the warnings and the exit code of `--check` are sha256sum's."""
    text, code = CHECKS[case]
    for name in (b"x", b"y"):
        Path(os.fsdecode(name)).write_bytes(name)
    digests = {name: hashlib.sha256(name).hexdigest().encode() for name in (b"x", b"y")}
    Path("../sums").write_bytes(text % digests)
    ours = hash_("--check", "../sums")
    theirs = subprocess.run(
        ["sha256sum", "-c", "../sums"], capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"}
    )
    assert ours.exit_code == theirs.returncode == code
    assert ours.stdout_bytes == theirs.stdout

    def warnings(errors: str) -> list[str]:
        return [line.split(": ", 1)[1] for line in errors.splitlines() if "WARNING" in line or "no properly" in line]

    assert warnings(ours.stderr) == warnings(theirs.stderr.decode())


def test_list_of_powershell(folder: Path) -> None:
    """A list in capitals, CRLF and UTF-16, as PowerShell writes it, is checked."""
    Path("é.bin").write_bytes(b"x")
    line = f"{hashlib.sha256(b'x').hexdigest().upper()}  é.bin\r\n"
    Path("../formats.txt").write_bytes(line.encode("utf-16"))
    result = hash_("--check", "../formats.txt")
    assert result.exit_code == 0
    assert result.stdout_bytes == "é.bin: OK\n".encode()


def test_list_on_standard_input(folder: Path) -> None:
    """The list to check may be standard input, and an algorithm may be named for it."""
    Path("x").write_bytes(b"x")
    line = hashlib.sha3_256(b"x").hexdigest().encode() + b"  x\n"
    for given in (["-", "--algorithm", "sha3_256"], ["-"], []):
        assert hash_("--check", *given, stdin=line).exit_code == 0
    assert hash_("--check", "-", "--algorithm", "sha256", stdin=line).exit_code == 1


def test_standard_input_is_a_dash(folder: Path) -> None:
    """A dash is standard input, and called so."""
    result = hash_("-", stdin=b"in")
    assert result.stdout_bytes == hashlib.sha256(b"in").hexdigest().encode() + b"  -\n"


def test_exit_codes_for_files(folder: Path) -> None:
    """0 all hashed, 1 not all, as sha256sum has it; problems go to standard error, and the rest is hashed."""
    Path("x").write_bytes(b"x")
    assert hash_("x").exit_code == 0
    some = hash_("gone", "x", ".")
    assert some.exit_code == 1
    assert some.stdout_bytes.endswith(b"  x\n")
    assert "dedupe: gone: " in some.stderr
    assert "dedupe: .: " in some.stderr
    assert hash_("gone").exit_code == 1


def test_recursive(folder: Path) -> None:
    """All files below a folder are hashed, by names that begin as the folder was given, in order."""
    Path("sub/deep").mkdir(parents=True)
    for name in ("sub/b", "sub/a", "sub/deep/c"):
        Path(name).write_bytes(b"")
    listed = formats.parse(hash_("--recursive", "sub").stdout_bytes).entries
    expected = ("a", "b", os.path.join("deep", "c"))
    assert [entry.path for entry in listed] == [os.fsencode(os.path.join("sub", name)) for name in expected]


@POSIX
def test_recursive_says_what_it_left_out(folder: Path) -> None:
    """Links and special files below a folder are left out, which is said."""
    Path("sub").mkdir()
    os.mkfifo("sub/fifo")
    Path("sub/link").symlink_to("/")
    result = hash_("--recursive", "sub")
    assert (result.stdout_bytes, result.exit_code) == (b"", 0)
    assert "2 entries were left out" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        [""],
        ["-", "-"],
        ["x", "--algorithm", "sha257"],
        ["x", "--length", "256"],
        ["x", "--algorithm", "blake2b", "--length", "255"],
        ["x", "--algorithm", "blake2b", "--length", "520"],
        ["x", "--tag", "--text"],
        ["x", "--hashdeep", "--tag"],
        ["x", "--hashdeep", "--algorithm", "sha512"],
        ["--recursive"],
        ["--check", "y", "--tag"],
        ["--check", "y", "--zero"],
        ["--check", "y", "--text"],
        ["--check", "y", "--recursive"],
        ["--check", "y", "--hashdeep"],
        ["--check", "y", "--audit", "z"],
        ["--audit", "z"],
        ["--audit", "", "."],
        ["--audit", "z", ".", "--ignore-missing"],
        ["--audit", "z", ".", "--recursive"],
        *(["x", option] for option in ("--ignore-missing", "--quiet", "--status", "--strict", "--warn")),
        ["--check", "y", "--cached"],  # beside --no-cache
        ["x", "--cached"],  # beside --no-cache
        ["x", "--cache", "c.db"],  # beside --no-cache
    ],
)
def test_wrong_usage(folder: Path, arguments: list[str]) -> None:
    """A request that makes no sense ends with 2 and a sentence, and nothing is hashed."""
    result = hash_(*arguments)
    assert (result.exit_code, result.stdout_bytes) == (2, b"")
    assert "dedupe: " in result.stderr


def test_files_are_read_unless_asked_otherwise(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk may have lost what is remembered: only `--cached` lets that stand for reading a file."""
    Path("x").write_bytes(b"x" * 100_000)
    time.sleep(RACY_NS / 1e9 + 0.1)  # until then nothing is believed
    opened: list[bytes] = []

    for name in ("open", "read", "read_with_stat"):
        usual = getattr(Opener, name)
        monkeypatch.setattr(
            Opener, name, lambda self, path, *rest, usual=usual: opened.append(path) or usual(self, path, *rest)
        )

    def reads(*arguments: str) -> tuple[bytes, bool]:
        opened.clear()
        return CliRunner().invoke(app, ["hash", "--cache", "../c.db", *arguments]).stdout_bytes, bool(opened)

    line = hashlib.sha256(b"x" * 100_000).hexdigest().encode() + b"  x\n"
    Path("../sums").write_bytes(line)
    assert [reads("x"), reads("x")] == [(line, True)] * 2
    assert reads("--cached", "x") == (line, False)
    for looking in (["--check", "../sums"], ["--audit", "../sums", "x"]):
        assert reads(*looking) == (b"x: OK\n", True)
        assert reads("--cached", *looking) == (b"x: OK\n", False)


def test_runs_as_a_program(folder: Path) -> None:
    """The command works as a process of its own, with nothing on standard error."""
    Path("x").write_bytes(b"x")
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-m", "dedupe", "hash", "--no-cache", "x"],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.split() == [hashlib.sha256(b"x").hexdigest().encode(), b"x"]
