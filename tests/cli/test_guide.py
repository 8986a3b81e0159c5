"""`dedupe guide`: topics that are read as they are, and a manual page that knows what every help knows."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dedupe.cli import guide
from tests.actions.common import ON_LINUX
from tests.actions.test_at_the_terminal import answered_once
from tests.cli.test_help import commands
from tests.conftest import need

Run = Callable[..., subprocess.CompletedProcess[bytes]]
TOPICS = sorted(path.stem for path in (Path(guide.__file__).parent.parent / "guide").glob("*.md"))


def test_without_a_topic_all_are_listed(cli: Run) -> None:
    """Each with its heading."""
    lines = cli("guide").stdout.decode().splitlines()
    assert [line.split()[0] for line in lines[1:]] == TOPICS
    assert "  exit-codes    Exit codes" in lines


@pytest.mark.parametrize("topic", TOPICS)
def test_a_pipe_gets_a_topic_as_it_is_written(cli: Run, topic: str) -> None:
    """Markdown, for whatever reads it; in any case of its letters."""
    written = Path(guide.__file__).parent.parent / "guide" / f"{topic}.md"
    assert cli("guide", topic.upper()).stdout == written.read_bytes().replace(b"\r\n", b"\n")


def test_an_unknown_topic_is_one_sentence_with_the_list(cli: Run) -> None:
    """Wrong usage, as any other."""
    done = cli("guide", "../README")
    assert (done.returncode, done.stderr.count(b"\n"), done.stdout) == (2, 1, b"")
    assert f"choose one of {', '.join(TOPICS)}." in done.stderr.decode()
    assert cli("guide", "scan", "--man").returncode == 2


@ON_LINUX
@pytest.mark.parametrize("columns", ["40", "80", "120"])
def test_a_terminal_gets_it_drawn(tmp_path: Path, columns: str) -> None:
    """Without Markdown's own marks, no line wider than the terminal, and links as commands to type."""
    from tests.cli.test_help import program

    path = program(tmp_path / "bin")
    command = ["sh", "-c", f"unset COLUMNS; stty cols {columns} && {path}/dedupe guide exit-codes"]
    code, said = answered_once(tmp_path, b"", command, TERM="xterm", NO_COLOR="1")
    text = re.sub(r"\x1b\[[\d;]*m", "", said)
    assert code == 0
    assert not re.search(r"\]\(|^\| -|^# ", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= int(columns)
    assert "dedupe guide actions" in " ".join(text.split())
    assert "\x1b]8" not in said


def test_the_manual_page_knows_every_command_and_option(cli: Run) -> None:
    """With examples, words and exit codes; it is made of the same source as the help."""
    page = cli("guide", "--man").stdout.decode().replace("\\-", "-")
    for words, command in commands().items():
        for each in command.params:  # type: ignore[attr-defined]
            assert all(option in page for option in (*each.opts, *each.secondary_opts) if option.startswith("-")), words
    assert page.startswith(".TH DEDUPE 1")
    headings = re.findall(r'^\.SH "(.*)"$', page, re.MULTILINE)
    assert headings[:4] == ["NAME", "SYNOPSIS", "OPTIONS", "COMMANDS"]
    assert headings[4:] == ["WORDS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"]
    assert ".SS dedupe catalog create [OPTIONS] {PATH}" in page
    assert not re.search(r"^[.'](?!TH|SH|SS|TP|PP)", page, re.MULTILINE)


def test_the_manual_page_is_taken_by_groff(cli: Run) -> None:
    """Without a warning, at the width of a terminal."""
    need(shutil.which("groff"), "groff reads manual pages")
    page = cli("guide", "--man").stdout
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-P-cbou"], input=page, capture_output=True, check=True)
    assert done.stderr == b""
    assert b"dedupe scan [OPTIONS]" in done.stdout
