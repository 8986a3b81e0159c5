"""`dedupe scan`: turns options into a configuration, and a result into reports.  Finds nothing itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from dedupe.cli import console, layout, options, report_options, rule_options, values
from dedupe.cli.exits import Exit
from dedupe.config import BackendName, Confirm, ScanConfig, Scope
from dedupe.errors import UsageError
from dedupe.report.base import Sort, Style

if TYPE_CHECKING:
    from dedupe.report import Format
    from dedupe.result import ScanResult

_XXH3 = "xxh3 is a fingerprint, not a proof: groups of remembered or very large files are not proven equal by it."


_Paths = Annotated[list[str] | None, typer.Argument(metavar="PATH...", help="Files and folders to scan.")]
_MinSize = Annotated[
    str,
    typer.Option(
        "--min-size",
        "-s",
        metavar="SIZE",
        help="Leave smaller files out; 0 brings empty files in.",
        rich_help_panel=layout.SELECTION,
    ),
]
_MaxSize = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Leave larger files out.", rich_help_panel=layout.SELECTION)
]
_Include = Annotated[
    list[str] | None,
    typer.Option(metavar="GLOB", help="Scan only files that match. May be repeated.", rich_help_panel=layout.SELECTION),
]
_DefaultExcludes = Annotated[
    bool,
    typer.Option(
        "--default-excludes/--no-default-excludes",
        help="Leave out recycle bins, snapshots and pseudo file systems.",
        rich_help_panel=layout.SELECTION,
    ),
]
_Follow = Annotated[
    bool,
    typer.Option("--follow-symlinks", "-L", help="Follow symbolic links.", rich_help_panel=layout.SELECTION),
]
_FilesFrom = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Read more paths from a file, one a line; - is standard input.",
        rich_help_panel=layout.SELECTION,
    ),
]
_Null = Annotated[
    bool,
    typer.Option(
        "--null",
        "-0",
        help="Paths end with NUL instead of a new line, in --files-from and in --format paths.",
        rich_help_panel=layout.REPORTS,
    ),
]
_Folders = Annotated[
    bool,
    typer.Option(
        "--folders",
        help="Report identical and contained folders on standard output too; report files always do.",
        rich_help_panel=layout.REPORTS,
    ),
]

_Across = Annotated[
    bool,
    typer.Option(
        "--across",
        help="Report only groups with files below two PATHs or more.",
        rich_help_panel=layout.DUPLICATES,
    ),
]
_AcrossVolumes = Annotated[
    bool,
    typer.Option(
        "--across-volumes",
        help="Report only groups with files on two volumes or more.",
        rich_help_panel=layout.DUPLICATES,
    ),
]
_Within = Annotated[
    bool,
    typer.Option(
        "--within",
        help="Report only copies below one PATH, as if each were scanned by itself.",
        rich_help_panel=layout.DUPLICATES,
    ),
]
_Accept = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Count and leave out duplicates that are wanted: a list of digests, one a line.",
        rich_help_panel=layout.DUPLICATES,
    ),
]


@console.guarded
def scan(
    paths: _Paths = None,
    confirm: options.ConfirmBy = Confirm.SHA256,
    backend: options.Backend = BackendName.AUTO,
    output: options.Output = None,
    format_: options.Format = None,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    jobs: options.Jobs = None,
    min_size: _MinSize = "1",
    max_size: _MaxSize = None,
    include: _Include = None,
    exclude: options.Exclude = None,
    exclude_from: options.ExcludeFrom = None,
    ignore_case: options.IgnoreCase = False,
    default_excludes: _DefaultExcludes = True,
    follow_symlinks: _Follow = False,
    one_file_system: options.OneFileSystem = False,
    cloud_files: options.CloudFiles = False,
    files_from: _FilesFrom = None,
    null: _Null = False,
    folders: _Folders = False,
    top: report_options.Top = None,
    sort: report_options.SortBy = Sort.RECLAIMABLE,
    relative: report_options.Relative = False,
    across: _Across = False,
    across_volumes: _AcrossVolumes = False,
    within: _Within = False,
    redundant: rule_options.Redundant = False,
    protect: rule_options.Protect = None,
    only_in: rule_options.OnlyIn = None,
    prefer: rule_options.Prefer = None,
    then: rule_options.ThenOption = None,
    protect_name: rule_options.ProtectName = None,
    accept: _Accept = None,
    progress: options.Bars = None,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> Exit:
    """Find files of equal content."""
    from dedupe.cli.output import Outputs, standard_output
    from dedupe.find import find_duplicates

    kept = values.wanted_cache(cache, no_cache=no_cache)
    roots = _roots(paths or (), files_from, null=null)
    rules = rule_options.rules_of(protect, protect_name, only_in, prefer, then)
    rule_options.refuse_unused(rules, redundant=redundant)
    scope = _scope(roots, across=across, within=within)
    printed = standard_output(format_, output or [])
    if printed is not None:
        console.expect_output()
    with Outputs(output or [], roots, values.cache_files(kept), anywhere=follow_symlinks) as outputs:
        config = ScanConfig(
            roots=roots,
            confirm=confirm,
            backend=backend,
            cache=kept,
            jobs=jobs,
            min_size=values.size(min_size),
            max_size=values.size(max_size) if max_size is not None else None,
            include=include or (),
            exclude=exclude or (),
            exclude_lines=values.exclude_lines(exclude_from or ()),
            ignore_case=ignore_case,
            default_excludes=default_excludes,
            follow_symlinks=follow_symlinks,
            one_file_system=one_file_system,
            cloud_files=cloud_files,
            scope=scope,
            accept=values.accepted_digests(accept, confirm) if accept is not None else (),
            across_volumes=across_volumes,
            own_files=(*outputs.own_files, 1, 2),
        )
        console.tell_if_interrupted(cached=kept is not None)
        shown = console.bars(progress, quiet=quiet, steps="scan and write" if output else "scan")
        result = find_duplicates(config, progress=shown)
        style = Style(
            null=null,
            all_problems=verbose,
            folders=folders,
            redundant=redundant,
            staying=rule_options.staying(result, rules, verbose=verbose),
            across=across,
            top=top,
            sort=sort,
            relative_to=report_options.start(relative=relative),
        )
        written = outputs.write(result, style._replace(to_file=True, all_problems=True, folders=True), shown)
    if not quiet:
        phases = {**result.phases, **({"write": written} if output else {})}
        _summarise(result, phases, summed_up=printed is not None and printed.name == "text", verbose=verbose)
    _print(result, printed, style)
    return Exit.INCOMPLETE if result.problems else Exit.DONE


def _print(result: ScanResult, printed: Format | None, style: Style) -> None:
    """Write the result to standard output, in the format that is asked for."""
    if printed is None or printed.name != "text":
        rule_options.tell_whole(result, style)
    if printed is not None:
        pieces = printed.render(result, style._replace(colour=console.wants_colour()))
        console.write(pieces, text=not printed.binary and not style.null)


def _scope(roots: Sequence[bytes], *, across: bool, within: bool) -> Scope:
    """Return which groups are asked for.

    Raises:
        UsageError: no group can be so.
    """
    if across and within:
        raise UsageError("--across and --within contradict each other: give one of them.")
    if across and len(set(roots)) < 2:
        raise UsageError("--across needs two folders or more, or nothing can lie below two of them.")
    return Scope.ACROSS if across else Scope.WITHIN if within else Scope.ALL


def _roots(paths: Sequence[str], files_from: str | None, *, null: bool) -> list[bytes]:
    """Return the paths to scan: those in arguments, then those in a list."""
    roots = values.roots(paths)
    return roots if files_from is None else roots + values.path_list(files_from, null=null)


def _summarise(result: ScanResult, phases: Mapping[str, float], *, summed_up: bool, verbose: bool) -> None:
    """Say on standard error what no report contains, and the totals unless standard output gives them."""
    from dedupe.report.text import proofs, summary

    if result.confirm == Confirm.XXH3:
        console.say(f"dedupe: {_XXH3}")
    for note in result.notes:
        console.say(f"dedupe: {note}")
    if verbose:
        console.say(f"Digests by {result.backend.name}: {result.backend.reason}.")
        console.say(proofs(result))
        console.say_phases(phases, result.seconds + phases.get("write", 0.0), result.totals.bytes_read)
    if not summed_up:
        for line in summary(result, Style(all_problems=verbose)):
            console.say(line)
