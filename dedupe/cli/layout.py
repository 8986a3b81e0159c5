"""How every help is laid out: options in groups, what SIZE and GLOB mean, examples, exit codes.  Knows no command."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from dedupe.cli.exits import MEANINGS

if TYPE_CHECKING:
    from collections.abc import Iterable

# The groups of options, in the order in which a reader needs them; a command shows those that it has.
ACTING = "What is done"
SELECTION = "What takes part"
DUPLICATES = "Which duplicates"
STAYING = "Which copies stay"
REPORTS = "Reports"
READING = "Reading and proof"
MEMORY = "What is remembered"
TELLING = "What is told"
_OTHERS = "Options"
_ORDER = ("Arguments", ACTING, SELECTION, DUPLICATES, STAYING, REPORTS, READING, MEMORY, _OTHERS, TELLING)

TERMS = {
    "SIZE": "Bytes, or a number with k, M, G or T, where k is 1024: 4096, 10k, 1.5M, 4GiB.",
    "GLOB": "A pattern: * stands for any text, also with /, ? for a character, [abc] for one of these. Without / it is "
    "matched against the name, with / against the end of the path, and against the whole path if it begins with /. "
    "Quote it, or the shell takes it: '*.jpg', 'cache/*', '/home/*/tmp'.",
}
_WIDEST = 100  # characters: longer lines are hard to read


class _Layout:
    """What commands and groups of commands have in common."""

    def get_help(self, ctx: Any) -> str:
        """Return the help, as wide as the terminal."""
        ctx.terminal_width = max(20, min(shutil.get_terminal_size().columns, _WIDEST) - 2)
        return super().get_help(ctx)  # type: ignore[misc, no-any-return]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options in groups."""
        for group, parameters in grouped(self.get_params(ctx)).items():  # type: ignore[attr-defined]
            _section(formatter, group, filter(None, (each.get_help_record(ctx) for each in parameters)))
        if isinstance(self, TyperGroup):
            self.format_commands(ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write what the words of the options mean, examples, and the exit codes."""
        metavars = {parameter.metavar for parameter in self.get_params(ctx)}  # type: ignore[attr-defined]
        _section(formatter, "Words", [(word, meaning) for word, meaning in TERMS.items() if word in metavars])
        examples = examples_of(ctx)
        if examples:
            with formatter.section("Examples"):
                for command, what in examples:
                    formatter.write(f"{'':{formatter.current_indent}}{command}\n")
                    formatter.indent()
                    formatter.write_text(what)
                    formatter.dedent()
        _section(formatter, "Exit status", [(str(code.value), meaning) for code, meaning in MEANINGS.items()])


def examples_of(ctx: Any) -> tuple[tuple[str, str], ...]:
    """Return examples of the command that a context is of, each with what it does."""
    from dedupe.cli.examples import EXAMPLES

    names = []
    while ctx.parent is not None:
        names.append(ctx.info_name)
        ctx = ctx.parent
    return EXAMPLES.get(" ".join(reversed(names)), ())


def grouped(parameters: Iterable[Any]) -> dict[str, list[Any]]:
    """Return arguments and options by their groups; --help goes where a command says what it tells."""
    groups: dict[str, list[Any]] = {name: [] for name in _ORDER}
    for each in parameters:
        if each.param_type_name == "argument":
            name = "Arguments"
        else:
            name = getattr(each, "rich_help_panel", None) or (TELLING if groups[TELLING] else _OTHERS)
        groups[name].append(each)
    return {name: found for name, found in groups.items() if found}


def _section(formatter: Any, heading: str, records: Iterable[tuple[str, str]]) -> None:
    """Write a heading and two columns below it; where the terminal is narrow, the first is narrow too."""
    records = list(records)
    if records:
        with formatter.section(heading):
            formatter.write_dl(records, col_max=min(30, formatter.width // 4))


class Command(_Layout, TyperCommand):
    """A command whose help is laid out as all are."""


class Group(_Layout, TyperGroup):
    """A group of commands whose help is laid out as all are."""


def laid_out(app: typer.Typer) -> typer.Typer:
    """Return an application whose commands all have this layout."""
    app.info.cls = Group
    for command in app.registered_commands:
        command.cls = Command
    return app
