"""The rules of `dedupe mark` and `dedupe apply`, and reading what they act on.  Decides nothing itself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from dedupe.actions.rules import Rules, Then
from dedupe.cli import console, streams
from dedupe.errors import NothingUsableError, UsageError

if TYPE_CHECKING:
    from dedupe.actions.rules import Decided

Protect = Annotated[
    list[str] | None, typer.Option(metavar="DIR", help="Nothing below this folder is ever redundant. May be repeated.")
]
ProtectName = Annotated[
    list[str] | None,
    typer.Option(metavar="GLOB", help="Nothing with such a name is ever redundant, as '*.psd'. May be repeated."),
]
OnlyIn = Annotated[
    list[str] | None,
    typer.Option(metavar="DIR", help="Nothing outside this folder is redundant. May be repeated."),
]
Prefer = Annotated[
    list[str] | None,
    typer.Option(metavar="DIR", help="Where a copy lies below this folder, it stays. Repeated: the first counts most."),
]
ThenOption = Annotated[
    list[Then] | None,
    typer.Option("--then", help="Which copy stays where several still could. May be repeated."),
]


def rules_of(
    protect: Sequence[str] | None,
    protect_name: Sequence[str] | None,
    only_in: Sequence[str] | None,
    prefer: Sequence[str] | None,
    then: Sequence[Then] | None,
) -> Rules:
    """Return the rules that a user gave."""
    folders = [[os.fsencode(folder) for folder in given or ()] for given in (protect, only_in, prefer)]
    return Rules(
        protect=folders[0], only_in=folders[1], prefer=folders[2], protect_name=protect_name or (), then=then or ()
    )


def content(source: str) -> bytes:
    """Return all of a file, or of standard input for `-`.

    Raises:
        UsageError: no file is named.
        NothingUsableError: it cannot be read.
    """
    if not source:
        raise UsageError("The name of the marks or report is empty.")
    try:
        if source == "-":
            return streams.stdin().read()
        with open(source, "rb") as file:
            return file.read()
    except OSError as error:
        raise NothingUsableError(f"{source} cannot be read: {error.strerror}.") from error


def tell_undecided(decided: Decided, *, verbose: bool) -> None:
    """Say how many groups the rules left as they are, and which."""
    from dedupe.storage import display

    if not decided.undecided:
        return
    count = len(decided.undecided)
    groups = "1 group is" if count == 1 else f"{count:,} groups are"
    hint = "" if verbose else " (--verbose lists them)"
    console.say(f"dedupe: {groups} undecided by these rules: all copies stay{hint}")
    for group in decided.undecided if verbose else ():
        console.say(f"Group {group.id}:")
        for file in group.files:
            console.say(f"  {display.shown(file.path)}")
