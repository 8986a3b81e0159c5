"""The command line: the only place that knows typer, prints, or ends the program.  One file a command."""

from __future__ import annotations

from typing import Annotated

import typer

from dedupe.cli import console
from dedupe.cli.lazy import LazyGroup
from dedupe.errors import DedupeError
from dedupe.version import __version__

app = typer.Typer(
    name="dedupe",
    cls=LazyGroup,
    help="Find exact duplicates among large files.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        console.write([f"dedupe {__version__}\n".encode()])
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Find exact duplicates among large files."""


def main() -> None:
    """Run the program and end the process with its exit code."""
    console.prepare()
    try:
        app(windows_expand_args=False)
    except SystemExit as end:
        console.leave(end.code)
    except DedupeError as error:
        console.leave(console.failed(error))
    except OSError as error:
        if console.at_work():  # not the stream's error but a fault of ours: show where
            raise
        # typer's own texts, such as --help, could not be written
        console.leave(console.failed(console.output_error(error)))
