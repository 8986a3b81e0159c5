"""The documents agree with the program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer  # noqa: TID251 - asks the command line what it offers

from dedupe.cli import app
from dedupe.cli.exits import MEANINGS
from dedupe.version import __version__

ROOT = Path(__file__).parent.parent


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


def test_the_changelog_knows_the_version() -> None:
    """The newest entry is the version that the program prints, or what comes after it."""
    headings = re.findall(r"^## \[?([^\]\s]+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert __version__ in [h for h in headings if h.lower() != "unreleased"][:1]
