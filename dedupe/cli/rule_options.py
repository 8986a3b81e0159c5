"""The rules that say which copies stay, for all commands, and reading what they are for.  Decides nothing itself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from dedupe.cli import console, layout, streams
from dedupe.config import Rules, Then
from dedupe.errors import NothingUsableError, UsageError

if TYPE_CHECKING:
    from dedupe.report.base import Staying, Style
    from dedupe.result import Group, ScanResult

Protect = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DIR",
        help="Nothing below this folder is ever redundant. May be repeated.",
        rich_help_panel=layout.STAYING,
    ),
]
ProtectName = Annotated[
    list[str] | None,
    typer.Option(
        metavar="GLOB",
        help="Nothing with such a name is ever redundant, as '*.psd'. May be repeated.",
        rich_help_panel=layout.STAYING,
    ),
]
OnlyIn = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DIR",
        help="Nothing outside this folder is redundant. May be repeated.",
        rich_help_panel=layout.STAYING,
    ),
]
Prefer = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DIR",
        help="Where a copy lies below this folder, it stays. Repeated: the first counts most.",
        rich_help_panel=layout.STAYING,
    ),
]
ThenOption = Annotated[
    list[Then] | None,
    typer.Option(
        "--then",
        case_sensitive=False,
        help="Which copy stays where several still could. May be repeated.",
        rich_help_panel=layout.STAYING,
    ),
]

Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="List the groups that the rules could not decide.",
        rich_help_panel=layout.TELLING,
    ),
]
Redundant = Annotated[
    bool,
    typer.Option(
        "--redundant",
        help="Print only what need not be kept, in text and paths: one copy stays, by the rules, or else below the "
        "first PATH that has any; with --across, all copies below that PATH.",
        rich_help_panel=layout.STAYING,
    ),
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


def refuse_unused(rules: Rules, *, redundant: bool) -> None:
    """Refuse rules where nothing asks for what they leave.

    Raises:
        UsageError: there are some.
    """
    if rules and not redundant:
        raise UsageError("Rules say which copies stay: give --redundant, which prints the others.")


def staying(result: ScanResult, rules: Rules, *, verbose: bool) -> Staying | None:
    """Return which files stay by the rules, None without any, and say how many groups they could not decide.

    Raises:
        UsageError: a rule matches nothing.
    """
    if not rules:
        return None
    from dedupe.actions.judge import Judge

    judge = Judge(result, rules)
    tell_undecided(judge.undecided(), verbose=verbose)
    return judge.staying


def tell_whole(result: ScanResult, style: Style) -> None:
    """Say how many groups stay whole though copies could go, where a list of paths cannot say it."""
    from dedupe.report.redundant import keepers_of
    from dedupe.report.units import counted

    if not style.redundant:
        return
    keepers = keepers_of(result, style)
    for group in result.groups:
        keepers.redundant(group)
    if keepers.whole:
        whole = counted(keepers.whole, "group")
        console.say(f"dedupe: {whole} left whole: what would be kept lies in a trash or snapshot")


def tell_undecided(undecided: Sequence[Group], *, verbose: bool) -> None:
    """Say how many groups the rules left as they are, and which."""
    from dedupe.storage import display

    if not undecided:
        return
    count = len(undecided)
    groups = "1 group is" if count == 1 else f"{count:,} groups are"
    hint = "" if verbose else " (--verbose lists them)"
    console.say(f"dedupe: {groups} undecided by these rules: all copies stay{hint}")
    for group in undecided if verbose else ():
        console.say(f"Group {group.id}:")
        for file in group.files:
            console.say(f"  {display.shown(file.path)}")
