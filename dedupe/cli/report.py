"""`dedupe report`: turns a saved report into other formats.  Scans nothing."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from dedupe.cli import console, layout, options, report_options, rule_options, values
from dedupe.cli.exits import Exit
from dedupe.errors import NothingUsableError, UsageError
from dedupe.report.base import Sort

_Report = Annotated[
    str,
    typer.Argument(
        metavar="REPORT",
        help="A JSON report of dedupe, or a report of fclones (JSON, CSV), rmlint (JSON), jdupes (JSON) or fdupes.",
    ),
]
_Folders = Annotated[
    bool,
    typer.Option(
        "--folders",
        help="Report identical and contained folders in text, json and jsonl, too.",
        rich_help_panel=layout.REPORTS,
    ),
]


@console.guarded
def report(
    saved: _Report,
    output: options.Output = None,
    format_: options.Format = None,
    null: options.NullPaths = False,
    folders: _Folders = False,
    top: report_options.Top = None,
    sort: report_options.SortBy = Sort.RECLAIMABLE,
    relative: report_options.Relative = False,
    redundant: rule_options.Redundant = False,
    protect: rule_options.Protect = None,
    only_in: rule_options.OnlyIn = None,
    prefer: rule_options.Prefer = None,
    then: rule_options.ThenOption = None,
    protect_name: rule_options.ProtectName = None,
    verbose: rule_options.Verbose = False,
) -> Exit:
    """Turn a saved report into other formats."""
    from dedupe.cli.output import Outputs, standard_output
    from dedupe.report import Style
    from dedupe.report.read.loader import load_report

    values.refuse_empty("REPORT", saved)
    rules = rule_options.rules_of(protect, protect_name, only_in, prefer, then)
    rule_options.refuse_unused(rules, redundant=redundant)
    printed = standard_output(format_, output or [])
    if printed is not None:
        console.expect_output()
    with Outputs(output or []) as outputs:
        if os.fsencode(os.path.realpath(saved)) in outputs.own_files:
            raise UsageError(f"{saved} is the report to be read: name another file to write to.")
        result = load_report(_content(saved), os.fsencode(saved))
        staying = rule_options.staying(result, rules, verbose=verbose)
        start = report_options.start(relative=relative)
        style = Style(
            null=null,
            folders=folders,
            redundant=redundant,
            staying=staying,
            top=top,
            sort=sort,
            relative_to=start,
        )
        outputs.write(result, style._replace(to_file=True, all_problems=True))
    for note in result.notes:
        console.say(f"dedupe: {note}")
    if printed is None or printed.name != "text":
        rule_options.tell_whole(result, style)
    if printed is not None:
        console.write(printed.render(result, style._replace(colour=console.wants_colour())), text=not null)
    return Exit.DONE


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise NothingUsableError(f"The report {path} cannot be read: {error.strerror}.") from error
