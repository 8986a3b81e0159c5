"""`dedupe cache`: what is remembered, dropping what is out of date, taking it along, forgetting.  Scans nothing."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from dedupe.cli import console, values
from dedupe.cli.exits import Exit
from dedupe.errors import UsageError
from dedupe.storage import display
from dedupe.storage.paths import absolute, outside

app = typer.Typer(
    help="Look after what is remembered between scans.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
_File = Annotated[str | None, typer.Option(metavar="FILE", help="The cache; by default the user's own.")]


def _print(line: str) -> None:
    console.write([(line + "\n").encode()])


@app.command("path")
@console.guarded
def path_(cache: _File = None) -> Exit:
    """Print where the cache lies."""
    _print(display.shown(os.fsencode(values.cache_file(cache))))
    return Exit.DONE


@app.command()
@console.guarded
def info(cache: _File = None) -> Exit:
    """Print what the cache holds, and change nothing."""
    from dedupe.cache import maintenance
    from dedupe.report.units import binary_size

    found = maintenance.info(values.cache_file(cache))
    _print(f"cache    {display.shown(os.fsencode(found.path))}")
    _print(f"size     {binary_size(found.disk_bytes)}")
    _print(f"files    {found.files:,}")
    for algorithm, count in found.digests.items():
        _print(f"digests  {count:,} {algorithm}")
    for root in found.roots:
        _print(f"root     {display.shown(outside(root))}")
    return Exit.DONE


@app.command()
@console.guarded
def prune(
    cache: _File = None,
    root: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OLD",
            help="Drop all that was remembered below this folder, renamed or gone for good; may be repeated.",
        ),
    ] = None,
) -> Exit:
    """Drop files that are gone.

    Files are looked for below folders that were scanned and are there now, wherever their disk is mounted: a disk that
    is away loses nothing.
    """
    from dedupe.cache import maintenance
    from dedupe.report.units import counted

    file = values.cache_file(cache)
    pruned = maintenance.prune_root(file, _folders(root)) if root else maintenance.prune(file)
    _print(f"dropped {counted(pruned.dropped, 'file')}, kept {pruned.kept:,}")
    return Exit.DONE


@app.command()
@console.guarded
def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file to write.")],
    cache: _File = None,
    root: Annotated[
        list[str] | None,
        typer.Option(metavar="DIR", help="Only what is remembered below this folder; may be repeated."),
    ] = None,
) -> Exit:
    """Write what is remembered to a file, to take it along with a disk.

    An earlier export is replaced, any other file is refused.
    """
    from dedupe.cache import transfer
    from dedupe.report.units import counted

    files = transfer.export(values.cache_file(cache), _named(file), _folders(root))
    _print(f"exported {counted(files, 'file')}")
    return Exit.DONE


@app.command("import")
@console.guarded
def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `dedupe cache export` wrote, or another cache.")],
    cache: _File = None,
) -> Exit:
    """Take in what another cache remembers; where both know a file, what was read last counts."""
    from dedupe.cache import transfer
    from dedupe.report.units import counted

    done = transfer.import_(values.cache_file(cache), _named(file))
    left_out = f", {counted(done.left_out, 'damaged row')} left out" if done.left_out else ""
    _print(f"imported {counted(done.taken, 'row')}, {done.known:,} known already{left_out}")
    return Exit.DONE


def _folders(names: list[str] | None) -> list[bytes]:
    """Return folders as absolute paths; none need be there.

    Raises:
        UsageError: a name is empty.
    """
    if any(not name for name in names or ()):
        raise UsageError("--root names no folder: give a path, or leave the option out.")
    return [absolute(os.fsencode(name)) for name in names or ()]


def _named(file: str) -> str:
    """Return the absolute path of a file.

    Raises:
        UsageError: the name is empty.
    """
    if not file:
        raise UsageError("FILE is empty: give a path.")
    return os.path.abspath(file)


@app.command()
@console.guarded
def clear(cache: _File = None) -> Exit:
    """Forget everything."""
    from dedupe.cache import maintenance
    from dedupe.report.units import binary_size

    _print(f"the cache is empty and takes {binary_size(maintenance.clear(values.cache_file(cache)))}")
    return Exit.DONE
