"""The documents agree with the program."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from dedupe.actions.apply import ActionName
from dedupe.actions.held_back import Kind
from dedupe.actions.journal import default_folder
from dedupe.cli.exits import MEANINGS
from dedupe.config import Then
from dedupe.version import __version__
from tests.actions.common import ON_LINUX, content, snapshot
from tests.actions.test_at_the_terminal import answered_once
from tests.cli.test_help import commands
from tests.conftest import need, write

ROOT = Path(__file__).parent.parent
README, TOPICS = ROOT / "README.md", sorted((ROOT / "dedupe/guide").glob("*.md"))
ACTIONS = ROOT / "dedupe/guide/actions.md"


def told(*documents: Path) -> str:
    """Return the text of documents, by default of the README and the whole guide."""
    return "\n".join(each.read_text(encoding="utf-8") for each in documents or (README, *TOPICS))


def taken() -> dict[str, set[str]]:
    """Return what options each command takes, by its words."""
    return {
        f"dedupe {words}".strip(): {o for each in command.params for o in (*each.opts, *each.secondary_opts)}  # type: ignore[attr-defined]
        for words, command in commands().items()
    }


def options() -> list[tuple[str, str]]:
    """Return every command with each of its long options."""
    return sorted((command, o) for command, found in taken().items() for o in found if o.startswith("--"))


def test_there_are_options_to_look_for() -> None:
    """The list is not empty by accident."""
    assert ("dedupe scan", "--files-from") in options()
    assert ("dedupe cache prune", "--cache") in options()


@pytest.mark.parametrize(("command", "option"), options())
def test_every_option_is_in_the_guide(command: str, option: str) -> None:
    """What the program offers, its description names."""
    text = told()
    assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text), f"{option} of {command}"
    assert command in text


def test_every_command_that_is_told_is_there() -> None:
    """A command in the text, with its options, is one that the program takes."""
    known = taken()
    blocks = re.findall(r"```(\w+)\n(.*?)```", told(), re.DOTALL)
    lines = [line for kind, block in blocks if kind == "sh" for line in block.splitlines()]
    spans = re.findall(r"`(dedupe [^`]+)`", re.sub(r"```.*?```", "", told(), flags=re.DOTALL))
    shown = [line for line in (*lines, *spans) if line.startswith("dedupe ")]
    assert len(shown) > 60
    for line in shown:
        words = shlex.split(re.split(r" [|>] | && ", line)[0])
        command = max((c for c in known if words[: c.count(" ") + 1] == c.split()), key=len)
        given = {re.sub("=.*", "", word) for word in words if re.fullmatch(r"-(\w|-[\w-]+)(=.*)?", word)}
        assert command != "dedupe" or words[1].startswith("-") or words[1] == "COMMAND", line
        assert given <= known[command] | {"-h"}, line


def test_every_exit_code_is_in_the_guide() -> None:
    """Each code stands there with its meaning."""
    text = told(ROOT / "dedupe/guide/exit-codes.md")
    for code, meaning in MEANINGS.items():
        assert re.search(rf"\b{code.value}\b[^\n]*{re.escape(meaning)}", text), code


def recipes() -> dict[str, str]:
    """Return the recipes of the guide by their names."""
    return dict(re.findall(r"<!-- recipe: ([\w-]+) -->\n```sh\n(.*?)```", told(), re.DOTALL))


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
    said = follow("disks-in-the-cupboard", tmp_path)
    assert f"  {tmp_path / 'disk7.catalog/a'} (offline)" in said
    assert said.count("Nothing is missing") == 1


def test_the_changelog_knows_the_version() -> None:
    """The newest entry is the version that the program prints, or what comes after it."""
    headings = re.findall(r"^## \[?([^\]\s]+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert __version__ in [h for h in headings if h.lower() != "unreleased"][:1]


@pytest.mark.parametrize("word", [*(f"--{name}" for name in ActionName), *Kind, *Then, *map(str, map(int, MEANINGS))])
def test_every_word_of_acting_is_in_its_guide(word: str) -> None:
    """Actions, what is held back, what breaks ties, exit codes."""
    assert re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", told(ACTIONS))


def test_the_guide_knows_where_journals_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default, and where the variable is set."""
    if sys.platform != "linux":
        pytest.skip("acting is offered on Linux")
    text = told(ACTIONS)
    for variable, short in (("XDG_STATE_HOME", "$XDG_STATE_HOME"), ("HOME", "~")):
        monkeypatch.setenv(variable, "/somewhere")
        assert default_folder().replace("/somewhere", short) in text
        monkeypatch.delenv(variable)


def _commands(document: Path, heading: str) -> list[str]:
    """Return the commands that a document shows below a heading."""
    text = document.read_text(encoding="utf-8")
    section = text[text.index(heading) :].split("\n## ")[0] if heading else text
    return [line for block in re.findall(r"```sh\n(.*?)```", section, re.DOTALL) for line in block.splitlines()]


@ON_LINUX
@pytest.mark.parametrize(
    ("document", "heading"),
    [(README, "## Getting rid of them"), (ACTIONS, "")],
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


def _plain_commands(document: Path) -> list[str]:
    """Return the commands that a document shows, but for recipes and others with a mark, which have their own tests."""
    text = told(document).split("\n## Getting rid of them")[0]
    blocks = re.findall(r"(?<!-->\n)```sh\n(.*?)```", text, re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@ON_LINUX
@pytest.mark.parametrize(
    "document", [each for each in (README, *TOPICS) if each != ACTIONS], ids=lambda each: each.stem
)
def test_the_other_commands_work_as_they_stand(tmp_path: Path, document: Path) -> None:
    """One after the other, over some photos, by a user of a POSIX shell."""
    for name in ("photos/a.jpg", "examples/b.jpg", "old disk/copy of b.jpg", "card/a.jpg"):
        write(tmp_path / name, content(name[-5:]))
    code = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m dedupe "$@"\n'.encode()
    programs = write(tmp_path / "bin/dedupe", code).parent
    (programs / "dedupe").chmod(0o755)
    env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    for command in _plain_commands(document):
        done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=env, capture_output=True, check=False)
        assert done.returncode == 0, (command, done.stderr)


@ON_LINUX
def test_the_programs_of_the_guide_run(tmp_path: Path) -> None:
    """The blocks of Python, one after the other, do what they say."""
    write(tmp_path / "photos/a.jpg", content("a") * 10_000)
    write(tmp_path / "photos/b.jpg", content("a") * 10_000)
    blocks = re.findall(r"```python\n(.*?)```", told(ROOT / "dedupe/guide/python.md"), re.DOTALL)
    assert len(blocks) > 1
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path, env=env, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b".jpg") == 2
    assert sorted(path.name for path in (tmp_path / "photos").iterdir()) == ["a.jpg", "b.jpg"]


@ON_LINUX
def test_the_picture_is_made_as_the_readme_says(tmp_path: Path) -> None:
    """By headless Chromium, of the page over the examples; it is as large as it says, and small enough to load."""
    chromium = shutil.which("chromium")
    need(chromium, "Chromium makes the picture")
    commands = re.search(r"<!-- picture -->\n```sh\n(.*?)```", told(README), re.DOTALL)
    assert commands is not None
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    kept = (tmp_path / "examples/page.png").read_bytes()
    (tmp_path / "examples/page.png").unlink()
    write(tmp_path / "bin/dedupe", f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m dedupe "$@"\n'.encode()).chmod(
        0o755
    )
    write(tmp_path / "bin/chromium", f'#!/bin/sh\nexec {chromium} --no-sandbox "$@"\n'.encode()).chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    subprocess.run(["sh", "-ec", commands[1]], cwd=tmp_path, env=env, capture_output=True, check=True, timeout=120)
    made = (tmp_path / "examples/page.png").read_bytes()
    assert made[16:24] == kept[16:24] == struct.pack(">II", 1100, 900)
    assert len(kept) < 150_000
    assert "](examples/page.png)" in told(README)


def test_the_readme_is_two_screens() -> None:
    """About 700 words beside its tables; a topic has the rest, and each is linked to."""
    words = re.sub(r"^\|.*$", "", told(README), flags=re.MULTILINE).split()
    assert len(words) < 760
    for topic in TOPICS:
        assert f"[{topic.stem}](dedupe/guide/{topic.name})" in told(README) or topic == ACTIONS
        assert told(topic).startswith("# ")


def test_links_between_topics_lead_somewhere() -> None:
    """Each is a topic of the guide, so that it can be read on a terminal too."""
    names = {topic.name for topic in TOPICS}
    for topic in TOPICS:
        assert set(re.findall(r"\]\(([^)#:]+)\)", told(topic))) <= names - {topic.name}, topic


def test_nothing_is_told_twice() -> None:
    """No sentence of eight words or more stands in two places: one of them would be forgotten."""
    text = re.sub(r"```.*?```", "", told(), flags=re.DOTALL)
    cells = re.split(r"(?<=[.:;])\s+|\n\n|\||\n- ", text)
    sentences = [" ".join(each.split()) for each in cells]
    seen = [each for each in sentences if len(each.split()) >= 8]
    assert len(seen) > 300
    assert sorted({each for each in seen if seen.count(each) > 1}) == []
