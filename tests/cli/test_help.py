"""What `--help` tells: every option in a group, every word explained, examples that work, at any width."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer  # noqa: TID251 - asks the command line what it offers

from dedupe.cli import app, layout
from dedupe.cli.examples import EXAMPLES
from dedupe.cli.exits import MEANINGS
from tests.actions.common import ON_LINUX, content
from tests.actions.test_at_the_terminal import answered_once
from tests.conftest import need, write

Run = Callable[..., subprocess.CompletedProcess[bytes]]


def commands() -> dict[str, object]:
    """Return every command by its words, the program itself by none."""
    found = {}

    def visit(command: object, words: str) -> None:
        found[words] = command
        for name, below in getattr(command, "commands", {}).items():
            visit(below, f"{words} {name}".strip())

    visit(typer.main.get_command(app), "")
    return found


def program(folder: Path) -> Path:
    """Write the program as it is when installed, and return the folder to have on PATH."""
    need(sys.platform != "win32", "written for a POSIX shell")
    # argv[0] is what the shell completion and the usage line are named after
    code = "import sys; sys.argv[0] = 'dedupe'; from dedupe.__main__ import main; main()"
    line = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(code)} "$@"\n'
    write(folder / "dedupe", line.encode()).chmod(0o755)
    return folder


@pytest.mark.parametrize("words", commands())
def test_every_help_has_examples_terms_and_exit_codes(cli: Run, words: str) -> None:
    """By -h as by --help; what SIZE and GLOB mean where an option takes one; no option without a sentence."""
    told, again = (cli(*words.split(), o, env={"COLUMNS": "80"}).stdout.decode() for o in ("-h", "--help"))
    assert told == again
    told = told.replace("\r\n", "\n")
    assert len(EXAMPLES[words]) >= 2
    assert all(f"  {command}\n" in told for command, _ in EXAMPLES[words])
    for code in MEANINGS:
        assert re.search(rf"^  {code.value} +\w", told, re.MULTILINE)
    for term in layout.TERMS:
        assert (f"\n  {term}  " in told) == bool(re.search(rf"^  -.* {term}\b", told, re.MULTILINE)), term
    assert all(each.help for each in commands()[words].params)  # type: ignore[attr-defined]


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("words", commands())
def test_help_fits_the_terminal(cli: Run, words: str, columns: int) -> None:
    """No line is wider, but for what cannot be broken: examples, and the names of an option."""
    told = cli(*words.split(), "-h", env={"COLUMNS": str(columns)}).stdout.decode()
    wide = [line for line in told.splitlines() if len(line) > columns]
    whole = {f"  {command}" for command, _ in EXAMPLES[words]}
    assert [line for line in wide if line not in whole and not line.startswith("  -")] == []


def test_options_stand_in_groups_in_one_order(cli: Run) -> None:
    """Whoever knows one command finds what is in another; what a command is told is last."""
    for words in ("scan", "missing", "apply", "report"):
        told = cli(words, "-h").stdout.decode().replace("\r\n", "\n")
        headings = re.findall(r"^(\S.*):$", told, re.MULTILINE)
        order = [name for name in layout._ORDER if name in headings]
        assert headings[: len(order)] == order
        assert headings[len(order) :][-2:] == ["Examples", "Exit status"]


def test_short_options_are_those_of_the_tools_beside_it() -> None:
    """One letter means one thing in all commands."""
    meant: dict[str, set[str]] = {}
    for words, command in commands().items():
        for each in command.params:  # type: ignore[attr-defined]
            for letter in (o for o in (*each.opts, *each.secondary_opts) if len(o) == 2):
                meant.setdefault(letter, set()).add(next(o for o in each.opts if o.startswith("--")))
                assert words != "" or letter == "-V"
    twice = {letter: found for letter, found in meant.items() if len(found) > 1}
    assert twice.pop("-r", {"--rounds", "--recursive"}) == {"--rounds", "--recursive"}
    assert twice == {}
    assert {letter[1] for letter in meant} >= set("ofjqvinx0LEVy")


def test_algorithms_are_known_in_any_case(cli: Run, tmp_path: Path) -> None:
    """SHA256 is sha256."""
    write(tmp_path / "a", b"a")
    assert cli("scan", "a", "--confirm", "SHA256", "--no-cache").returncode == 0


@ON_LINUX
def test_all_examples_work_one_after_the_other(tmp_path: Path) -> None:
    """At a terminal, by someone who answers yes."""
    folder, path = tmp_path / "here", f"{program(tmp_path / 'bin')}:{os.environ['PATH']}"
    for name in ("photos/a.jpg", "photos/b.jpg", "backup/copy of a.jpg", "disk7/b.jpg", "archive/a.jpg"):
        write(folder / name, content(name[-5:]))
    write(folder / "card/new.jpg", b"new")
    first = ["dedupe scan photos --cache other.db"]
    for command in first + [command for found in EXAMPLES.values() for command, _ in found]:
        if "catalog create" in command and (folder / command.split()[5]).exists():
            continue  # stands in two helps
        code, said = answered_once(folder, b"yes\n", ["sh", "-c", command], PATH=path, COLUMNS="80")
        assert code == (4 if command == "dedupe missing card --from archive" else 0), (command, said)
    assert (folder / "archive/new.jpg").exists()


def _completed(folder: Path, shell: str, line: str) -> str:
    """Return what the completion of the installed program offers for a line."""
    env = {**os.environ, "PATH": f"{program(folder)}:{os.environ['PATH']}"}
    env |= {"_DEDUPE_COMPLETE": f"complete_{shell}", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    env["_TYPER_COMPLETE_ARGS"] = line
    return subprocess.run(["dedupe"], env=env, capture_output=True, check=False, text=True).stdout


def test_completion_knows_commands_options_and_choices(tmp_path: Path) -> None:
    """Commands, then their options, then what an option takes."""
    assert {"scan", "undo"} <= set(_completed(tmp_path, "bash", "dedupe ").split())
    assert {"--min-size", "--max-size"} <= set(_completed(tmp_path, "bash", "dedupe scan --m").split())
    assert {"sha256", "bytes"} <= set(_completed(tmp_path, "bash", "dedupe scan --confirm ").split())


def test_bash_takes_the_completion_that_is_shown(tmp_path: Path) -> None:
    """What --show-completion prints defines what completes `dedupe`."""
    need(shutil.which("bash"), "bash")
    path = f"{program(tmp_path)}:{os.environ['PATH']}"
    script = (
        "dedupe --show-completion > script && . ./script && COMP_WORDS=(dedupe jour) COMP_CWORD=1 && "
        'complete -p dedupe && _dedupe_completion dedupe && echo "${COMPREPLY[@]}"'
    )
    env = {**os.environ, "PATH": path, "_TYPER_FORCE_DISABLE_TERMINAL": "1"}
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, check=False, text=True)
    assert done.stdout.splitlines()[-1:] == ["journal"], done.stdout + done.stderr
