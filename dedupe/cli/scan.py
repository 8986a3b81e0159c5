"""`dedupe scan`: turns options into a configuration, and a result into reports.  Finds nothing itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from dedupe.cli import console, options, values
from dedupe.cli.exits import Exit
from dedupe.config import BackendName, Confirm, ScanConfig

if TYPE_CHECKING:
    from dedupe.result import ScanResult

_XXH3 = "xxh3 is a fingerprint, not a proof: groups of remembered or very large files are not proven equal by it."


_Paths = Annotated[list[str] | None, typer.Argument(metavar="PATH...", help="Files and folders to scan.")]
_MinSize = Annotated[str, typer.Option(metavar="SIZE", help="Leave smaller files out; 0 brings empty files in.")]
_MaxSize = Annotated[str | None, typer.Option(metavar="SIZE", help="Leave larger files out.")]
_Include = Annotated[
    list[str] | None, typer.Option(metavar="GLOB", help="Scan only files that match. May be repeated.")
]
_DefaultExcludes = Annotated[
    bool,
    typer.Option(
        "--default-excludes/--no-default-excludes",
        help="Leave out recycle bins, snapshots and pseudo file systems.",
    ),
]
_Follow = Annotated[bool, typer.Option("--follow-symlinks", help="Follow symbolic links.")]
_FilesFrom = Annotated[
    str | None, typer.Option(metavar="FILE", help="Read more paths from a file, one a line; - is standard input.")
]
_Null = Annotated[
    bool,
    typer.Option("--null", help="Paths end with NUL instead of a new line, in --files-from and in --format paths."),
]
_Folders = Annotated[
    bool,
    typer.Option(
        "--folders", help="Report identical and contained folders on standard output too; report files always do."
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
    default_excludes: _DefaultExcludes = True,
    follow_symlinks: _Follow = False,
    one_file_system: options.OneFileSystem = False,
    cloud_files: options.CloudFiles = False,
    files_from: _FilesFrom = None,
    null: _Null = False,
    folders: _Folders = False,
    progress: options.Bars = None,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> Exit:
    """Find files of equal content."""
    from dedupe.cli.output import Outputs, standard_output
    from dedupe.find import find_duplicates
    from dedupe.report import Style

    kept = values.wanted_cache(cache, no_cache=no_cache)
    roots = _roots(paths or (), files_from, null=null)
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
            default_excludes=default_excludes,
            follow_symlinks=follow_symlinks,
            one_file_system=one_file_system,
            cloud_files=cloud_files,
            own_files=(*outputs.own_files, 1, 2),
        )
        result = find_duplicates(config, progress=console.bars(progress, quiet=quiet))
        outputs.write(result, Style(to_file=True, all_problems=True, folders=True, null=null))
    if not quiet:
        _summarise(result, summed_up=printed is not None and printed.name == "text", verbose=verbose)
    if printed is not None:
        style = Style(colour=console.wants_colour(), null=null, all_problems=verbose, folders=folders)
        console.write(printed.render(result, style), text=not printed.binary and not null)
    return Exit.INCOMPLETE if result.problems else Exit.DONE


def _roots(paths: Sequence[str], files_from: str | None, *, null: bool) -> list[bytes]:
    """Return the paths to scan: those in arguments, then those in a list."""
    roots = values.roots(paths)
    return roots if files_from is None else roots + values.path_list(files_from, null=null)


def _summarise(result: ScanResult, *, summed_up: bool, verbose: bool) -> None:
    """Say on standard error what no report contains, and the totals unless standard output gives them."""
    from dedupe.report import Style
    from dedupe.report.text import proofs, summary

    if result.confirm == Confirm.XXH3:
        console.say(f"dedupe: {_XXH3}")
    for note in result.notes:
        console.say(f"dedupe: {note}")
    if verbose:
        console.say(f"Digests by {result.backend.name}: {result.backend.reason}.")
        console.say(proofs(result))
        for phase, seconds in result.phases.items():
            console.say(f"{phase:12} {seconds:9.3f} s")
        console.say(f"{'all':12} {result.seconds:9.3f} s; {result.totals.bytes_read:,} bytes read")
    if not summed_up:
        for line in summary(result, Style(all_problems=verbose)):
            console.say(line)
