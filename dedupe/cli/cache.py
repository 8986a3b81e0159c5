"""`dedupe cache`: what is remembered, dropping what is out of date, forgetting.  Scans nothing."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from dedupe.cli import console, values
from dedupe.cli.exits import EPILOG, Exit
from dedupe.storage import display
from dedupe.storage.paths import outside

app = typer.Typer(
    help="Look after what is remembered between scans.",
    no_args_is_help=True,
    add_completion=False,
    epilog=EPILOG,
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
    """Print what the cache holds."""
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
def prune(cache: _File = None) -> Exit:
    """Drop files that are gone, below roots that can be read now."""
    from dedupe.cache import maintenance

    dropped, kept = maintenance.prune(values.cache_file(cache))
    _print(f"dropped {dropped:,}, kept {kept:,}")
    return Exit.DONE


@app.command()
@console.guarded
def clear(cache: _File = None) -> Exit:
    """Forget everything."""
    from dedupe.cache import maintenance
    from dedupe.report.units import binary_size

    _print(f"the cache is empty and takes {binary_size(maintenance.clear(values.cache_file(cache)))}")
    return Exit.DONE
