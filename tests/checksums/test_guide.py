"""The guide to checksums agrees with the program."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from dedupe.checksums.audit import AuditResult
from tests.checksums.conformance import ask
from tests.conftest import need, write

GUIDE = Path(__file__).parents[2] / "dedupe/guide/checksums.md"


def test_its_commands_work_as_they_stand(tmp_path: Path) -> None:
    """One after the other, where all is right and where it is not."""
    need(sys.platform != "win32", "a POSIX shell")
    write(tmp_path / "photos/a", b"a")
    (block,) = re.findall(r"```sh\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    for command in block.splitlines():
        python = f"{shlex.quote(sys.executable)} -m dedupe"
        done = ask(["sh", "-c", command.replace("dedupe", python, 1)], tmp_path)
        assert done.code == 0, command
    assert b"photos/a: OK" in done.out


@pytest.mark.parametrize("word", AuditResult)
def test_every_result_of_an_audit_is_in_it(word: str) -> None:
    """By the word that is printed."""
    assert re.search(rf"^\| `.*\b{re.escape(word)}\b", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)


def test_every_option_is_in_it(tmp_path: Path) -> None:
    """That is for lists; those that all commands share are elsewhere."""
    shown = ask([sys.executable, "-m", "dedupe", "hash", "--help"], tmp_path).out.decode()
    shared = {"--backend", "--cache", "--no-cache", "--jobs", "--progress", "--no-progress", "--help"}
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", shown)) - shared
    assert "--audit" in options
    missing = [each for each in sorted(options) if each not in GUIDE.read_text(encoding="utf-8")]
    assert missing == [], os.linesep.join(missing)
