"""The documents agree with the program."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer  # noqa: TID251 - asks the command line what it offers

from dedupe.actions.apply import ActionName
from dedupe.actions.held_back import Kind
from dedupe.actions.journal import default_folder
from dedupe.cli import app
from dedupe.cli.exits import MEANINGS
from dedupe.config import Then
from dedupe.version import __version__
from tests.actions.common import ON_LINUX, content, snapshot
from tests.actions.test_at_the_terminal import answered_once
from tests.conftest import need, write

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "dedupe/actions/guide.md"


def options() -> list[tuple[str, str]]:
    """Return every command with each of its options, as the program itself knows them."""
    found = []

    def visit(command: object, name: str) -> None:
        for parameter in command.params:  # type: ignore[attr-defined]
            found.extend((name, o) for o in (*parameter.opts, *parameter.secondary_opts) if o.startswith("--"))
        for child, below in getattr(command, "commands", {}).items():
            visit(below, f"{name} {child}".strip())

    visit(typer.main.get_command(app), "dedupe")
    return sorted({(c, o) for c, o in found if o != "--help"})


def test_there_are_options_to_look_for() -> None:
    """The list is not empty by accident."""
    assert ("dedupe scan", "--files-from") in options()
    assert ("dedupe cache prune", "--cache") in options()


@pytest.mark.parametrize(("command", "option"), options())
def test_every_option_is_in_the_readme(command: str, option: str) -> None:
    """What the program offers, its description names."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text), f"{option} of {command}"
    assert command in text


def test_every_exit_code_is_in_the_readme() -> None:
    """Each code stands there with its meaning."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for code, meaning in MEANINGS.items():
        assert re.search(rf"\b{code.value}\b[^\n]*{re.escape(meaning)}", text), code


def recipes() -> dict[str, str]:
    """Return the recipes of the README by their names."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return dict(re.findall(r"<!-- recipe: ([\w-]+) -->\n```sh\n(.*?)```", text, re.DOTALL))


def follow(recipe: str, folder: Path) -> str:
    """Run a recipe as a user of a POSIX shell does, and return what it prints."""
    need(sys.platform == "linux", "the recipes are written for GNU tools")
    program = write(folder / "bin/dedupe", f'#!/bin/sh\nexec "{sys.executable}" -m dedupe "$@"\n'.encode())
    program.chmod(0o755)
    env = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", recipes()[recipe]], cwd=folder, env=env, capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_the_recipe_for_a_card_keeps_all_that_is_on_it(tmp_path: Path) -> None:
    """After it, every content of the card is in the archive, and what was there is what it was."""
    write(tmp_path / "card/DCIM/a", b"known")
    write(tmp_path / "card/DCIM/b", b"new")
    write(tmp_path / "archive/2024/x", b"known")
    (tmp_path / "archive/new").mkdir()
    assert "card may be wiped" in follow("wipe-a-card", tmp_path)
    held = [path.read_bytes() for path in (tmp_path / "archive").rglob("*") if path.is_file()]
    assert sorted(held) == [b"known", b"new"]


def test_the_recipe_for_a_backup_lists_and_copies(tmp_path: Path) -> None:
    """What the archive has is listed, and what it lacks is copied, so that the backup may go."""
    write(tmp_path / "backup/a", b"known")
    write(tmp_path / "backup/b", b"new")
    write(tmp_path / "archive/2024/x", b"known")
    (tmp_path / "archive/new").mkdir()
    assert follow("fold-a-backup", tmp_path).startswith("Nothing is missing")
    assert (tmp_path / "redundant.paths").read_text(encoding="utf-8") == f"{tmp_path / 'backup/a'}\n"
    assert f"kept: {tmp_path / 'archive/2024/x'}" in (tmp_path / "redundant.txt").read_text(encoding="utf-8")


def test_the_recipe_for_disks_in_the_cupboard_asks_a_disk_that_is_away(tmp_path: Path) -> None:
    """What the disk has is found in its catalog."""
    write(tmp_path / "disk7/a", b"a")
    write(tmp_path / "photos/b", b"a")
    write(tmp_path / "card/c", b"a")
    told = follow("disks-in-the-cupboard", tmp_path)
    assert f"  {tmp_path / 'disk7.catalog/a'} (offline)" in told
    assert told.count("Nothing is missing") == 1


def test_the_changelog_knows_the_version() -> None:
    """The newest entry is the version that the program prints, or what comes after it."""
    headings = re.findall(r"^## \[?([^\]\s]+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert __version__ in [h for h in headings if h.lower() != "unreleased"][:1]


@pytest.mark.parametrize("word", [*(f"--{name}" for name in ActionName), *Kind, *Then, *map(str, map(int, MEANINGS))])
def test_every_word_of_acting_is_in_its_guide(word: str) -> None:
    """Actions, what is held back, what breaks ties, exit codes."""
    assert re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", GUIDE.read_text(encoding="utf-8"))


def test_the_guide_knows_where_journals_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default, and where the variable is set."""
    if sys.platform != "linux":
        pytest.skip("acting is offered on Linux")
    told = GUIDE.read_text(encoding="utf-8")
    for variable, short in (("XDG_STATE_HOME", "$XDG_STATE_HOME"), ("HOME", "~")):
        monkeypatch.setenv(variable, "/somewhere")
        assert default_folder().replace("/somewhere", short) in told
        monkeypatch.delenv(variable)


def _commands(document: Path, heading: str) -> list[str]:
    """Return the commands that a document shows below a heading."""
    text = document.read_text(encoding="utf-8")
    section = text[text.index(heading) :].split("\n## ")[0] if heading else text
    return [line for block in re.findall(r"```sh\n(.*?)```", section, re.DOTALL) for line in block.splitlines()]


@ON_LINUX
@pytest.mark.parametrize(
    ("document", "heading"),
    [(ROOT / "README.md", "## And how do I get rid of them?"), (GUIDE, "")],
    ids=["README", "guide"],
)
def test_the_commands_of_acting_work_as_they_stand(tmp_path: Path, document: Path, heading: str) -> None:
    """One after the other, at a terminal, by someone who answers yes; what ends with an undo is as it was."""
    folder, programs = tmp_path / "here", tmp_path / "programs"
    for name in ("photos/a.jpg", "old disk/copy of a.jpg", "photos/song.mp3", "old disk/song.mp3"):
        write(folder / name, content(name[-4:]))
    write(programs / "dedupe", f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m dedupe "$@"\n'.encode()).chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    before, commands = snapshot(folder), _commands(document, heading)
    assert len(commands) > 2
    for command in commands:
        code, said = answered_once(folder, b"yes\n", ["sh", "-c", command], PATH=path)
        assert code == 0, (command, said)
        if command == "dedupe undo":
            assert {name: found for name, found in snapshot(folder).items() if name in before} == before
        elif "--trash" in command and "--dry-run" not in command:
            assert not list((folder / "old disk").iterdir()), said
