"""`dedupe undo`: take back what a run of `dedupe apply` did, as its journal has it."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from dedupe.cli import console, layout, options
from dedupe.cli.exits import Exit
from dedupe.errors import UsageError

_What = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[RUN] [FILE...]",
        help="The run, by default the last one; of it only these files, or what lay below these folders.",
    ),
]
_To = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Put the files below this folder, with their whole paths, not where they were.",
        rich_help_panel=layout.ACTING,
    ),
]
_DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        "-n",
        help="Tell how many names would be taken back; change nothing.",
        rich_help_panel=layout.ACTING,
    ),
]
_Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Tell of every file.", rich_help_panel=layout.TELLING)]


@console.guarded
def undo(
    what: _What = None,
    to: _To = None,
    dry_run: _DryRun = False,
    progress: options.Bars = None,
    verbose: _Verbose = False,
) -> Exit:
    """Take back what `dedupe apply` did."""
    from dedupe.actions import journal
    from dedupe.actions.undo import Wish
    from dedupe.actions.undo import undo as take_back
    from dedupe.cli import telling
    from dedupe.storage.paths import absolute, outside

    given = list(what or ())
    folder = journal.default_folder()
    is_run = bool(given) and os.path.exists(os.path.join(folder, given[0] + journal.ENDING))
    run = given.pop(0) if is_run else ""
    if to == "":
        raise UsageError("--to names no folder.")
    wish = Wish(
        run=run,
        files=[outside(absolute(os.fsencode(file))) for file in given],
        to=None if to is None else os.fsencode(to),
        dry_run=dry_run,
    )
    tally = take_back(wish, folder, console.bars(progress))
    for line in telling.after_undo(tally, dry_run=dry_run, verbose=verbose):
        console.say(line)
    code = telling.exit_of(tally)
    return Exit.DONE if code is Exit.NOTHING and tally.is_complete else code
