"""`dedupe guide`: reads the guide that comes with the program, and prints the manual page.  Writes none of it."""

from __future__ import annotations

import re
import sys
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated

import typer

from dedupe.cli import console
from dedupe.cli.exits import Exit
from dedupe.errors import UsageError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_WIDEST = 100  # characters: longer lines are hard to read

_Topic = Annotated[
    str | None, typer.Argument(metavar="[TOPIC]", help="What to read about; without it, a list of the topics.")
]
_Man = Annotated[
    bool,
    typer.Option(
        "--man",
        help="Print the manual page: `dedupe guide --man > dedupe.1` for man's folder, `... | man -l -` to read it.",
    ),
]


@console.guarded
def guide(ctx: typer.Context, topic: _Topic = None, man: _Man = False) -> Exit:
    """Read the guide, or print the manual page."""
    console.expect_output()
    if man:
        from dedupe.cli import manual

        if topic is not None:
            raise UsageError("--man prints the manual page of all commands: leave the topic out.")
        console.write(f"{line}\n".encode() for line in manual.page(ctx.find_root().command, topics()))
        return Exit.DONE
    if topic is None:
        width = max(map(len, topics()))
        lines = ["`dedupe guide TOPIC` reads one of these:", *(f"  {n:{width}}  {t}" for n, t in topics().items())]
        console.write(f"{line}\n".encode() for line in lines)
        return Exit.DONE
    if topic.lower() not in topics():
        raise UsageError(f"The guide has no topic {topic!r}: choose one of {', '.join(topics())}.")
    text = _text(topic.lower())
    if console.on_terminal(sys.stdout):
        _render(text)
    else:
        console.write([text.encode()])
    return Exit.DONE


def topics() -> dict[str, str]:
    """Return the topics by name, sorted, each with its heading."""
    names = sorted(each.name.removesuffix(".md") for each in _folder().iterdir() if each.name.endswith(".md"))
    return {name: _text(name).partition("\n")[0].removeprefix("# ") for name in names}


def _folder() -> Traversable:
    return files("dedupe").joinpath("guide")


def _text(topic: str) -> str:
    return _folder().joinpath(f"{topic}.md").read_text(encoding="utf-8")


def _render(text: str) -> None:
    """Show a topic on the terminal; what a link leads to is a command there."""
    from rich.console import Console
    from rich.markdown import Markdown

    text = re.sub(r"<!--.*?-->\n?", "", text)
    text = re.sub(r"\[([^\]]+)\]\(([\w-]+)\.md\)", r"\1 (`dedupe guide \2`)", text)
    screen = Console(file=sys.stdout, force_terminal=True, no_color=not console.wants_colour(), highlight=False)
    try:
        screen.print(Markdown(text, hyperlinks=False), width=min(screen.width, _WIDEST))
    except OSError as error:
        raise console.output_error(error) from error
    console.flush()
