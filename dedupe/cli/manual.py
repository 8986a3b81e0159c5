"""The manual page, made of the same commands, options and examples as every help.  Reads no guide."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dedupe.cli import layout
from dedupe.cli.exits import MEANINGS
from dedupe.version import __version__


def page(program: Any, topics: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of the page, as man(7) has them.

    Args:
        program: the group of all commands.
        topics: of the guide, with their headings.
    """
    yield f'.TH DEDUPE 1 "" "dedupe {__version__}" "User Commands"'
    top = program.make_context("dedupe", [], resilient_parsing=True)
    yield from _section("NAME", f"dedupe - {_text(program.help).rstrip('.')}")
    yield from _section("SYNOPSIS", r"\fBdedupe\fR \fICOMMAND\fR [\fIOPTIONS\fR] ...")
    yield from _section("OPTIONS")
    yield from _options(program, top)
    yield from _section("COMMANDS")
    yield from _commands(program, top)
    yield from _section("WORDS")
    yield from _listed(layout.TERMS)
    yield from _section("EXIT STATUS")
    yield from _listed({str(code.value): meaning for code, meaning in MEANINGS.items()})
    yield from _section("EXAMPLES")
    yield from _examples(top)
    yield from _section("SEE ALSO", _text("`dedupe guide TOPIC` tells more:"))
    yield from _listed(topics)


def _commands(group: Any, context: Any) -> Iterator[str]:
    """Yield all commands below a group, each with its options and examples."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        below = command.make_context(name, [], parent=context, resilient_parsing=True)
        if hasattr(command, "commands"):
            yield from _commands(command, below)
            continue
        yield ".SS " + _text(" ".join([below.command_path, *command.collect_usage_pieces(below)]))
        for paragraph in re.split(r"\n\s*\n", command.help or ""):
            yield from (_text(paragraph), ".PP")
        yield from _options(command, below)
        yield from (".PP", "Examples:")
        yield from _examples(below)


def _options(command: Any, context: Any) -> Iterator[str]:
    for group, parameters in layout.grouped(command.get_params(context)).items():
        yield from (".PP", rf"\fI{group}\fR")
        yield from _listed(dict(filter(None, (each.get_help_record(context) for each in parameters))))


def _examples(context: Any) -> Iterator[str]:
    return _listed(dict(layout.examples_of(context)))


def _listed(items: Mapping[str, str]) -> Iterator[str]:
    """Yield terms, each with what it means."""
    for term, meaning in items.items():
        yield from (".TP", rf"\fB{_text(term)}\fR", _text(meaning))


def _section(heading: str, *lines: str) -> Iterator[str]:
    yield f'.SH "{heading}"'
    yield from lines


def _text(words: str) -> str:
    """Return words as one line of roff, in which nothing is taken for a request."""
    line = " ".join(words.split()).replace("\\", r"\e").replace("-", r"\-")
    return r"\&" + line if line.startswith((".", "'")) else line
