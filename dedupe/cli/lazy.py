"""Imports a command only when it is run or listed by `--help`.  Knows the commands' names, not what they do.

Importing all commands and having typer read their options took longer than a small scan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer
from typer.main import get_command

from dedupe.cli.layout import Group, laid_out

# what each module of this package exports, in the order of `--help`: a function, or an application of its own
_EXPORTS = {
    "scan": "scan",
    "report": "report",
    "mark": "mark",
    "apply": "apply",
    "undo": "undo",
    "journal": "journal",
    "missing": "missing",
    "catalog": "app",
    "hash": "hash_",
    "bench": "bench",
    "cache": "app",
    "guide": "guide",
}


class _Commands(Mapping[str, Any]):
    """The commands by name, each made when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        export = _EXPORTS[name]
        exported = getattr(import_module(f"dedupe.cli.{name}"), export)
        if isinstance(exported, typer.Typer):
            return get_command(laid_out(exported))
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name)(exported)
        return get_command(laid_out(app))

    def __iter__(self) -> Iterator[str]:
        return iter(_EXPORTS)

    def __len__(self) -> int:
        return len(_EXPORTS)


class LazyGroup(Group):
    """A group that imports one command at a time; listing the names, or suggesting one, imports none."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()  # type: ignore[assignment] # typer only reads it
