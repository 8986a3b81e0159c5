"""What the tests of conformance share: a tree of hostile names, and one situation put to two programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.cases.common import ordinary_user
from tests.conftest import need

NAMES = [
    b"plain",
    b" leading",
    b"trailing ",
    b"two  spaces",
    b"*star",
    b"-dash",
    b"--check",
    b"#hash",
    b";semicolon",
    b"new\nline",
    b"carriage\rreturn",
    b"ends in return\r",
    b"back\\slash",
    b"\\n",
    b"a) = b",
    b"tab\t",
    b"caf\xe9",
    "日本 é".encode(),
    b"0123abcd",
    b"%s",
]


class Answer(NamedTuple):
    """What a program said of a situation."""

    code: int
    out: bytes
    warnings: tuple[bytes, ...]  # what it says of its lines and files, by the words after its name
    silent: bool  # it said nothing on standard error


def tree(folder: Path) -> Path:
    """Make the tree that all situations are about, and return it."""
    need(sys.platform != "win32", "POSIX, whose names may hold anything")
    for name in NAMES:
        with open(os.path.join(os.fsencode(folder), name), "wb") as file:
            file.write(name)
    for name in "xy":
        (folder / name).write_bytes(name.encode())
    (folder / "empty").write_bytes(b"")
    (folder / "d").mkdir()
    (folder / "d/z").write_bytes(b"z")
    (folder / "link").symlink_to("x")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "secret").write_bytes(b"x")
    (folder / "secret").chmod(0)
    return folder


def ask(command: list[str | bytes], folder: Path, stdin: bytes = b"", *, obeys: bool = False) -> Answer:
    """Run a program in a folder and return what it said; `obeys` lets permissions count for root too."""
    done = subprocess.run(
        command,
        cwd=folder,
        input=stdin,
        capture_output=True,
        check=False,
        timeout=60,
        env={**os.environ, "LC_ALL": "C", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        preexec_fn=ordinary_user() if obeys else None,
    )
    told = [line.partition(b": ")[2] or line for line in done.stderr.split(b"\n")]
    warnings = tuple(line.removeprefix(b"WARNING: ") for line in told if b"WARNING" in line or b"no properly" in line)
    return Answer(done.returncode, done.stdout, warnings, not done.stderr.strip())


def dedupe(*arguments: str | bytes) -> list[str | bytes]:
    """Return the command that has us hash, without a cache."""
    return [sys.executable, "-m", "dedupe", "hash", "--no-cache", *arguments]


def program(line: str) -> list[str | bytes]:
    """Return the command of another program; skip where there is none."""
    command = line.split()
    need(shutil.which(command[0]), f"{command[0]}, to be compared with")
    return list(command)
