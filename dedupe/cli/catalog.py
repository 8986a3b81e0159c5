"""`dedupe catalog`: makes, updates, shows and verifies catalogs of disks.  Finds nothing itself."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from dedupe.cli import console, options, values
from dedupe.cli.exits import EPILOG, Exit
from dedupe.errors import UsageError

if TYPE_CHECKING:
    from dedupe.catalog.head import Head
    from dedupe.config import ScanConfig
    from dedupe.query.catalog_filling import Filled
    from dedupe.result import Problem

app = typer.Typer(
    help="Keep what a disk holds in a file.",
    no_args_is_help=True,
    epilog=EPILOG,
    add_completion=False,
    rich_markup_mode=None,
)

_Path = Annotated[str, typer.Argument(metavar="PATH", help="The folder where the disk is mounted, or any other.")]
_File = Annotated[str, typer.Argument(metavar="FILE", help="The catalog.")]
_Output = Annotated[str, typer.Option(metavar="FILE", help="Where the catalog goes.")]
_Quick = Annotated[
    bool, typer.Option("--quick", help="Read no file whole: faster, and the answers are only probable ones.")
]
_DefaultExcludes = Annotated[
    bool,
    typer.Option(
        "--default-excludes/--no-default-excludes",
        help="Leave out recycle bins, snapshots and pseudo file systems.",
    ),
]
_AsMade = Annotated[
    bool | None,
    typer.Option(
        "--default-excludes/--no-default-excludes",
        help="Leave out recycle bins, snapshots and pseudo file systems; by default as the catalog was made.",
    ),
]
_StayAsMade = Annotated[
    bool | None,
    typer.Option(
        "--one-file-system/--no-one-file-system",
        help="Stay on the file system of PATH; by default as the catalog was made.",
    ),
]
_Export = Annotated[
    list[str],
    typer.Option(
        "--output",
        metavar="FILE",
        help="Where the files go; the ending chooses the format: .csv .jsonl .parquet. May be repeated.",
    ),
]
_SharedWith = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CATALOG",
        help="Read in full only what this other catalog may hold too, and of all else a few places. May be repeated.",
    ),
]
_FIRST_PROBLEMS = 5


def _config(
    path: str, cache: str | None, jobs: int | None, *, default_excludes: bool, one_file_system: bool
) -> ScanConfig:
    """Return what takes part: all files of one folder, empty ones too."""
    from dedupe.config import ScanConfig

    values.refuse_empty("PATH", path)
    return ScanConfig(
        roots=values.roots([path]),
        cache=cache,
        jobs=jobs,
        min_size=0,
        default_excludes=default_excludes,
        one_file_system=one_file_system,
        own_files=(1, 2),
    )


def _as_made(
    file: str, config: ScanConfig, *, default_excludes: bool | None, one_file_system: bool | None
) -> ScanConfig:
    """Return a configuration with the rules of a catalog, but for what is asked for."""
    from dedupe.catalog import database
    from dedupe.query.catalog_rules import with_rules

    with database.closing(database.opened(file), file) as connection:
        head = database.head_of(connection, file)
    return with_rules(config, head, default_excludes=default_excludes, one_file_system=one_file_system)


@app.command(epilog=EPILOG)
@console.guarded
def create(
    path: _Path,
    output: _Output,
    quick: _Quick = False,
    shared_with: _SharedWith = None,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    jobs: options.Jobs = None,
    default_excludes: _DefaultExcludes = True,
    one_file_system: options.OneFileSystem = False,
    progress: options.Bars = None,
    quiet: options.Quiet = False,
) -> Exit:
    """Make a catalog of a disk; one that was cut off is gone on with."""
    from dedupe.query import catalog_fill

    values.refuse_empty("--output", output)
    others = _others(shared_with)
    if quick and others:
        raise UsageError("--quick reads no file in full, and --shared-with some: give one of them.")
    kept = values.wanted_cache(cache, no_cache=no_cache)
    config = _config(path, kept, jobs, default_excludes=default_excludes, one_file_system=one_file_system)
    bars = console.bars(progress, quiet=quiet)
    filled = catalog_fill.create(output, config, quick=quick, shared_with=others, progress=bars)
    return _told(filled, quiet=quiet)


def _others(paths: list[str] | None) -> list[str]:
    """Return the catalogs that are named."""
    for path in paths or ():
        values.refuse_empty("--shared-with", path)
    return paths or []


@app.command(epilog=EPILOG)
@console.guarded
def update(
    file: _File,
    path: _Path,
    shared_with: _SharedWith = None,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    jobs: options.Jobs = None,
    default_excludes: _AsMade = None,
    one_file_system: _StayAsMade = None,
    progress: options.Bars = None,
    quiet: options.Quiet = False,
) -> Exit:
    """Bring a catalog up to date with its disk, reading only what changed."""
    from dedupe.query import catalog_fill

    values.refuse_empty("FILE", file)
    kept = values.wanted_cache(cache, no_cache=no_cache)
    config = _config(path, kept, jobs, default_excludes=True, one_file_system=False)
    config = _as_made(file, config, default_excludes=default_excludes, one_file_system=one_file_system)
    bars = console.bars(progress, quiet=quiet)
    return _told(catalog_fill.update(file, config, shared_with=_others(shared_with), progress=bars), quiet=quiet)


def _told(filled: Filled, *, quiet: bool) -> Exit:
    from dedupe.report.units import binary_size, counted

    for note in filled.notes:
        console.say(f"dedupe: {note}")
    _tell_problems(filled.problems)
    if not quiet:
        counts = f"{filled.unchanged:,} unchanged, {filled.remembered:,} remembered, {filled.read:,} read"
        gone = f", {filled.removed:,} replaced or gone" if filled.removed else ""
        console.say(f"{counted(filled.files, 'file')}, {binary_size(filled.bytes)} in the catalog: {counts}{gone}.")
        if filled.undigested:
            console.say(f"{counted(filled.undigested, 'file')} of them by fingerprints only.")
    return Exit.INCOMPLETE if filled.problems else Exit.DONE


def _tell_problems(problems: list[Problem]) -> None:
    from dedupe.storage import display

    for problem in problems[:_FIRST_PROBLEMS]:
        console.say(f"{display.shown(problem.path)}: {problem.kind}, {problem.message}")
    if len(problems) > _FIRST_PROBLEMS:
        console.say(f"and {len(problems) - _FIRST_PROBLEMS:,} more that could not be read")


@app.command(epilog=EPILOG)
@console.guarded
def export(file: _File, output: _Export, progress: options.Bars = None, quiet: options.Quiet = False) -> Exit:
    """Write the files of a catalog for other programs, such as DuckDB, Polars and Spark."""
    from dedupe.cli.output import Outputs
    from dedupe.query.catalog_files import CatalogFiles
    from dedupe.query.export import FORMATS
    from dedupe.report import Style
    from dedupe.report.units import counted

    values.refuse_empty("FILE", file)
    files = CatalogFiles(file, console.bars(progress, quiet=quiet))
    with Outputs(output, formats=FORMATS) as outputs:
        outputs.write(files, Style(to_file=True))
    if files.damaged:
        console.say(f"dedupe: {counted(files.damaged, 'row')} of the catalog are damaged and left out.")
    if not quiet:
        console.say(f"{counted(files.told, 'file')} exported.")
    return Exit.INCOMPLETE if files.damaged else Exit.DONE


@app.command(epilog=EPILOG)
@console.guarded
def info(file: _File) -> Exit:
    """Tell what a catalog is of."""
    from dedupe.catalog import database
    from dedupe.report.units import binary_size, counted
    from dedupe.storage import display

    console.expect_output()
    values.refuse_empty("FILE", file)
    with database.closing(database.opened(file), file) as connection:
        head = database.head_of(connection, file)
        volumes = database.volumes_of(connection, file)
        files, size = connection.execute("SELECT count(*), ifnull(sum(size), 0) FROM files").fetchone()
        problems = database.problems_of(connection)
    lines = [f"Folder: {display.shown(head.root)}"]
    for volume in volumes.values():
        label = f", {display.shown_text(volume.label)}" if volume.label else ""
        lines.append(f"Volume: {display.shown_text(volume.id) or 'without a name'}{label}, {volume.file_system}")
    lines += [
        f"Capacity: {binary_size(head.capacity)}",
        f"Holds: {counted(files, 'file')}, {binary_size(size)}",
        f"Digests: {_digests(head)}",
        f"Made: {head.made}",
        f"Updated: {head.updated}" if head.complete else "Updated: never finished",
        f"Catalog: {binary_size(os.path.getsize(file))}, number {head.id}",
        *_told_rules(head),
    ]
    lines += [f"Not read: {display.shown(path)}: {kind}, {display.shown_text(why)}" for path, kind, why in problems]
    console.write([(line + "\n").encode("utf-8", "backslashreplace") for line in lines])
    return Exit.DONE


def _digests(head: Head) -> str:
    if head.quick:
        return "none, made with --quick"
    return f"{head.algorithm}, but of {head.undigested:,} files" if head.undigested else head.algorithm


def _told_rules(head: Head) -> Iterator[str]:
    """Yield by which rules a catalog was made, and what they left out."""
    from dedupe.query.catalog_rules import rules_of
    from dedupe.report.text import skipped

    if head.files < 0:
        yield "Rules: it does not say (of an earlier version, or never finished)"
        return
    usual = json.loads(rules_of(_config(".", None, None, default_excludes=True, one_file_system=False)))
    others = [f"{name.replace('_', ' ')} {value}" for name, value in head.told_rules.items() if value != usual[name]]
    yield f"Rules: {', '.join(others) or 'the usual ones'}"
    yield f"Left out: {', '.join(skipped(head.skipped)) or 'nothing'}"
    yield f"Could not be read: {head.unread:,}"


@app.command(epilog=EPILOG)
@console.guarded
def verify(
    file: _File,
    path: _Path,
    jobs: options.Jobs = None,
    default_excludes: _AsMade = None,
    one_file_system: _StayAsMade = None,
    progress: options.Bars = None,
    quiet: options.Quiet = False,
) -> Exit:
    """Read a disk and tell how it differs from its catalog."""
    from dedupe.query.catalog_check import check
    from dedupe.report.units import counted
    from dedupe.storage import display

    console.expect_output()
    values.refuse_empty("FILE", file)
    config = _config(path, None, jobs, default_excludes=True, one_file_system=False)
    config = _as_made(file, config, default_excludes=default_excludes, one_file_system=one_file_system)
    checked = check(file, config, progress=console.bars(progress, quiet=quiet))
    for found in checked.differences:
        now = f" -> {display.shown(found.now)}" if found.now else ""
        line = f"{found.difference}: {display.shown(found.path)}{now}\n"
        console.write([line.encode("utf-8", "backslashreplace")])
    _tell_problems(checked.problems)
    if not quiet:
        how = ", by fingerprints only" if checked.quick else ""
        differing = f"{len(checked.differences):,} different"
        console.say(f"{counted(checked.same, 'file')} as in the catalog, {differing}{how}.")
    if checked.differences:
        return Exit.NO
    return Exit.INCOMPLETE if checked.problems else Exit.DONE
