"""`dedupe apply`: act on marks, after saying what would happen and asking.  The acting itself is in dedupe.actions."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from dedupe.actions.held_back import MEANINGS, Kind
from dedupe.cli import console, layout, options, rule_options, telling
from dedupe.cli.exits import Exit
from dedupe.errors import UsageError

if TYPE_CHECKING:
    from dedupe.actions.apply import ActionName
    from dedupe.actions.marks import Marks
    from dedupe.config import Rules

_Source = Annotated[
    str,
    typer.Argument(
        metavar="MARKS|REPORT",
        help="Marks, as the HTML report and `dedupe mark` save them, or a report with rules; - is standard input.",
    ),
]
_Trash = Annotated[
    bool,
    typer.Option("--trash", help="Put redundant files into the trash of their volume.", rich_help_panel=layout.ACTING),
]
_MoveTo = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Move them to a folder of their volume; the tree below each root is kept.",
        rich_help_panel=layout.ACTING,
    ),
]
_Reflink = Annotated[
    bool,
    typer.Option(
        "--reflink",
        help="Have them share their blocks with the copy that stays (btrfs, XFS).",
        rich_help_panel=layout.ACTING,
    ),
]
_Hardlink = Annotated[
    bool,
    typer.Option(
        "--hardlink",
        help="Make their names further names of the copy that stays.",
        rich_help_panel=layout.ACTING,
    ),
]
_Delete = Annotated[
    bool,
    typer.Option("--delete", help="Remove them; `dedupe undo` copies them back.", rich_help_panel=layout.ACTING),
]
_DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        "-n",
        help="Do all of it, the comparing too, but change nothing.",
        rich_help_panel=layout.ACTING,
    ),
]
_Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.", rich_help_panel=layout.ACTING)]
_Copies = Annotated[
    int,
    typer.Option(metavar="N", min=1, help="Copies of each group that have to stay.", rich_help_panel=layout.STAYING),
]
_Verify = Annotated[
    bool,
    typer.Option("--verify", help="Read again from the disk after each act.", rich_help_panel=layout.ACTING),
]
_Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", help="Tell of every file, and list undecided groups.", rich_help_panel=layout.TELLING
    ),
]
_Also = Annotated[
    list[Kind] | None,
    typer.Option(
        help="Act also on what is held back otherwise: "
        + "; ".join(f"{kind}: {meaning}" for kind, meaning in MEANINGS.items())
        + ". May be repeated.",
        rich_help_panel=layout.STAYING,
    ),
]


@console.guarded
def apply(
    source: _Source,
    trash: _Trash = False,
    move_to: _MoveTo = None,
    reflink: _Reflink = False,
    hardlink: _Hardlink = False,
    delete: _Delete = False,
    dry_run: _DryRun = False,
    yes: _Yes = False,
    copies: _Copies = 1,
    verify: _Verify = False,
    also: _Also = None,
    protect: rule_options.Protect = None,
    only_in: rule_options.OnlyIn = None,
    prefer: rule_options.Prefer = None,
    then: rule_options.ThenOption = None,
    protect_name: rule_options.ProtectName = None,
    progress: options.Bars = None,
    verbose: _Verbose = False,
) -> Exit:
    """Get rid of redundant files, each compared once more.

    It tells what would happen and asks for the word yes; `dedupe undo` takes it back.  A group always keeps a copy that
    lies in no trash, snapshot or target folder.
    """
    from dedupe.actions import apply as applying

    flags = {"trash": trash, "move-to": move_to is not None, "reflink": reflink, "hardlink": hardlink, "delete": delete}
    order = applying.Order(
        action=_action([name for name, given in flags.items() if given]),
        target=None if move_to is None else os.fsencode(move_to),
        copies=copies,
        also=also or (),
        verify=verify,
        dry_run=dry_run,
    )
    asks = not (yes or dry_run)
    rules = rule_options.rules_of(protect, protect_name, only_in, prefer, then)
    prepared = applying.prepare(_marks(source, rules, verbose=verbose), order)
    for note in prepared.notes:  # what became of a run that was killed is done, whatever the answer
        console.say(note)
    bars = console.bars(progress, steps="apply")
    if prepared.plan.groups:
        foreseen = applying.foresee(prepared, bars)
        for line in telling.before(foreseen, order) if foreseen.files else ():
            console.say(line)
        if asks and prepared.plan.groups and not _agreed(source):
            console.say("dedupe: nothing more was done" if prepared.notes else "dedupe: nothing was done")
            return Exit.NOTHING
    tally = applying.carry_out(prepared, bars)
    undecided = prepared.marks.undecided
    for line in telling.after(tally, order, verbose=verbose, told=prepared.notes, undecided=undecided):
        console.say(line)
    return telling.exit_of(tally)


def _agreed(source: str) -> bool:
    """Ask whether it is to be done, and return the answer.

    Raises:
        UsageError: there is nobody to ask; nothing was done.
    """
    if source == "-" or sys.stdin is None or not sys.stdin.isatty():
        raise UsageError("Nobody can be asked here, and nothing was done: look at it with --dry-run, then give --yes.")
    return console.ask("Type yes to go on: ") == "yes"


def _action(given: list[str]) -> ActionName:
    from dedupe.actions.apply import ActionName

    if len(given) != 1:
        names = ", ".join(f"--{name}" for name in ActionName)
        raise UsageError(f"Say what is to be done, by one of {names}.")
    return ActionName(given[0])


def _marks(source: str, rules: Rules, *, verbose: bool) -> Marks:
    """Return the marks of a file, or those that rules make of a report."""
    from dedupe.actions import marks
    from dedupe.actions.marking import mark
    from dedupe.report.read.loader import load_report

    data = rule_options.content(source)
    if marks.is_marks(data):
        if rules:
            raise UsageError("Marks say already what stays: rules are for a report.")
        return marks.read(data, source)
    decided = mark(load_report(data, os.fsencode(source)), rules)
    rule_options.tell_undecided(decided.undecided, verbose=verbose)
    if not decided.marks.groups and not decided.undecided:
        console.say("dedupe: the rules leave nothing redundant: every copy has to stay by one of them")
    return dataclasses.replace(decided.marks, sha256=hashlib.sha256(data).hexdigest())  # of the report, for the journal
