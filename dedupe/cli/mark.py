"""`dedupe mark`: from a report and rules to marks, which say what is redundant.  Touches no file that they name."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from dedupe.cli import console, layout, rule_options, values
from dedupe.cli.exits import Exit
from dedupe.cli.whole_file import WholeFile
from dedupe.errors import NothingUsableError, UsageError

if TYPE_CHECKING:
    from dedupe.config import Rules
    from dedupe.result import ScanResult

_Report = Annotated[
    str, typer.Argument(metavar="REPORT", help="A JSON report of dedupe, or another finder's; - is standard input.")
]
_Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Where the marks go; - is standard output, the default.",
        rich_help_panel=layout.REPORTS,
    ),
]


_Accept = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Add the digests of the groups that stay whole by the rules, or of all groups without rules, to a list of "
        "wanted duplicates, as `dedupe scan --accept` reads it; make no marks.",
        rich_help_panel=layout.REPORTS,
    ),
]


@console.guarded
def mark(
    saved: _Report,
    protect: rule_options.Protect = None,
    only_in: rule_options.OnlyIn = None,
    prefer: rule_options.Prefer = None,
    then: rule_options.ThenOption = None,
    protect_name: rule_options.ProtectName = None,
    output: _Output = "-",
    accept: _Accept = None,
    verbose: rule_options.Verbose = False,
) -> Exit:
    """Mark by rules which copies of a report are redundant."""
    from dedupe.actions import marking, marks
    from dedupe.report.read.loader import load_report
    from dedupe.report.units import counted

    values.refuse_empty("--output", output)
    if accept is not None:
        values.refuse_empty("--accept", accept)
        if output != "-":
            raise UsageError("--accept writes a list and no marks: give it without --output.")
    wanted = rule_options.rules_of(protect, protect_name, only_in, prefer, then)
    data = rule_options.content(saved)
    if marks.is_marks(data):
        raise UsageError(f"{saved} holds marks already: give the report that they were made from.")
    result = load_report(data, os.fsencode(saved))
    if accept is not None:
        return _add_accepted(accept, result, wanted, verbose=verbose)
    decided = marking.mark(result, wanted)
    rule_options.tell_undecided(decided.undecided, verbose=verbose)
    redundant = sum(len(group.redundant) for group in decided.marks.groups)
    if output == "-":
        console.write(marks.write(decided.marks), text=False)
    else:
        _save(output, marks.write(decided.marks))
    files, groups = counted(redundant, "redundant file"), counted(len(decided.marks.groups), "group")
    hint = "" if output == "-" or not redundant else f": `dedupe apply {_typed(output)} --trash` acts on them"
    console.say(f"dedupe: {files} in {groups}{hint}")
    return Exit.DONE if redundant else Exit.NOTHING


def _add_accepted(path: str, result: ScanResult, rules: Rules, *, verbose: bool) -> Exit:
    """Add the groups that stay whole by the rules, or all without rules, to a list of wanted duplicates.

    Raises:
        UsageError: the list is there and is none.
        NothingUsableError: it cannot be read or written.
    """
    from dedupe.actions.judge import Judge
    from dedupe.report import accept_list
    from dedupe.report.units import counted

    groups = list(result.groups)
    if rules:
        judge = Judge(result, rules)
        rule_options.tell_undecided(judge.undecided(), verbose=verbose)
        groups = [group for group in judge.groups() if len(judge.staying(group) or ()) == len(group.files)]
    there = values.listed_digests(path) if os.path.lexists(path) and path != "-" else []
    known = {digest for _, digest in there}
    new = [group for group in groups if group.digest is not None and group.digest not in known]
    if path == "-":
        console.write(accept_list.lines(new))
    else:
        _append(path, accept_list.lines(new))
    if without := sum(group.digest is None for group in groups):
        console.say(f"dedupe: {counted(without, 'group')} without a digest left out: scan with --confirm sha256")
    hint = "" if path == "-" else f": `dedupe scan --accept {_typed(path)}` leaves them out"
    console.say(f"dedupe: {counted(len(new), 'group')} added{hint}")
    return Exit.DONE if new else Exit.NOTHING


def _append(path: str, lines: Iterable[bytes]) -> None:
    """Add lines to a list, which may be new.

    Raises:
        NothingUsableError: it cannot be written.
    """
    try:
        with open(path, "ab+") as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                file.write(b"" if file.read() == b"\n" else b"\n")  # an editor left the last line without its end
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise NothingUsableError(f"The list {path} cannot be written: {error.strerror}.") from error


def _typed(path: str) -> str:
    """Return a path as it is to be typed after a command."""
    if sys.platform == "win32":
        return f'"{path}"' if " " in path else path
    else:  # noqa: RET505 - mypy takes what follows an if for Windows as unreachable there
        return shlex.quote(f"./{path}" if path.startswith("-") else path)


def _save(path: str, pieces: Iterable[bytes]) -> None:
    """Write the marks, whole or not at all; only marks are ever replaced.

    Raises:
        UsageError: there is a file that holds none.
        NothingUsableError: they cannot be written.
    """
    from dedupe.actions import marks

    try:
        if os.path.isfile(path):
            with open(path, "rb") as file:
                held = file.read()
            if held and not marks.is_marks(held):
                raise UsageError(f"{path} is there and holds no marks: name another file to write them to.")
        with WholeFile(path) as whole:
            whole.commit(pieces)
    except OSError as error:
        raise NothingUsableError(f"The marks {path} cannot be written: {error.strerror}.") from error
