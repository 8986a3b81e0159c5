"""`dedupe missing`: turns options into a question, and its answer into reports.  Finds nothing itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from dedupe.cli import console, layout, options, values
from dedupe.cli.exits import Exit
from dedupe.config import BackendName, Confirm

if TYPE_CHECKING:
    from dedupe.query.answer import MissingResult

_Card = Annotated[list[str] | None, typer.Argument(metavar="CARD...", help="Files and folders to look for.")]
_From = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        metavar="ARCHIVE",
        help="Where their contents may be held. May be repeated.",
        rich_help_panel=layout.SELECTION,
    ),
]
_Output = Annotated[
    list[str] | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write what is missing; the ending chooses the format: .txt .paths .csv .json. May be repeated.",
        rich_help_panel=layout.REPORTS,
    ),
]
_Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        help="For standard output: text, paths, csv or json. By default text, or nothing with --output.",
        rich_help_panel=layout.REPORTS,
    ),
]
_Include = Annotated[
    list[str] | None,
    typer.Option(
        metavar="GLOB", help="Look only at files that match. May be repeated.", rich_help_panel=layout.SELECTION
    ),
]
_DefaultExcludes = Annotated[
    bool,
    typer.Option(
        "--default-excludes/--no-default-excludes",
        help="Leave out recycle bins, snapshots and pseudo file systems of ARCHIVE; of CARD the latter alone.",
        rich_help_panel=layout.SELECTION,
    ),
]
_Follow = Annotated[
    bool,
    typer.Option("--follow-symlinks", "-L", help="Follow symbolic links in ARCHIVE.", rich_help_panel=layout.SELECTION),
]


@console.guarded
def missing(
    card: _Card = None,
    archive: _From = None,
    confirm: options.ConfirmBy = Confirm.SHA256,
    backend: options.Backend = BackendName.AUTO,
    output: _Output = None,
    format_: _Format = None,
    null: options.NullPaths = False,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    jobs: options.Jobs = None,
    include: _Include = None,
    exclude: options.Exclude = None,
    exclude_from: options.ExcludeFrom = None,
    ignore_case: options.IgnoreCase = False,
    default_excludes: _DefaultExcludes = True,
    follow_symlinks: _Follow = False,
    one_file_system: options.OneFileSystem = False,
    cloud_files: options.CloudFiles = False,
    progress: options.Bars = None,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> Exit:
    """Find what of CARD is not held by ARCHIVE, by content."""
    from dedupe.cli.output import Outputs, standard_output
    from dedupe.query.formats import FORMATS
    from dedupe.query.missing import find_missing
    from dedupe.query.settings import MissingConfig
    from dedupe.report import Style

    kept = values.wanted_cache(cache, no_cache=no_cache)
    card_roots, archive_roots = values.roots(card or ()), values.roots(archive or ())
    printed = standard_output(format_, output or [], FORMATS)
    if printed is not None:
        console.expect_output()
    guarded = [*card_roots, *archive_roots]
    with Outputs(output or [], guarded, values.cache_files(kept), anywhere=follow_symlinks, formats=FORMATS) as outputs:
        config = MissingConfig(
            card=card_roots,
            archive=archive_roots,
            confirm=confirm,
            backend=backend,
            cache=kept,
            jobs=jobs,
            include=include or (),
            exclude=exclude or (),
            exclude_lines=values.exclude_lines(exclude_from or ()),
            ignore_case=ignore_case,
            default_excludes=default_excludes,
            follow_symlinks=follow_symlinks,
            one_file_system=one_file_system,
            cloud_files=cloud_files,
            own_files=(*outputs.own_files, 1, 2),
        )
        console.tell_if_interrupted(cached=kept is not None)
        shown = console.bars(progress, quiet=quiet, steps="scan and write" if output else "scan")
        result = find_missing(config, progress=shown)
        written = outputs.write(result, Style(to_file=True, all_problems=True, null=null), shown)
    if not quiet:
        phases = {**result.phases, **({"write": written} if output else {})}
        _summarise(result, phases, summed_up=printed is not None and printed.name == "text", verbose=verbose)
    if printed is not None:
        style = Style(colour=console.wants_colour(), null=null, all_problems=verbose)
        console.write(printed.render(result, style), text=not null)
    if result.totals.missing_files:
        return Exit.NO
    return Exit.DONE if result.is_certain else Exit.INCOMPLETE


def _summarise(result: MissingResult, phases: Mapping[str, float], *, summed_up: bool, verbose: bool) -> None:
    """Say on standard error what no report contains, and the totals unless standard output gives them."""
    from dedupe.query.formats.lines import summary
    from dedupe.report import Style

    for note in result.notes:
        console.say(f"dedupe: {note}")
    if verbose:
        console.say(f"Digests by {result.backend.name}: {result.backend.reason}.")
        console.say_phases(phases, result.seconds + phases.get("write", 0.0), result.totals.bytes_read)
    if not summed_up:
        for line in summary(result, Style(all_problems=verbose)):
            console.say(line)
