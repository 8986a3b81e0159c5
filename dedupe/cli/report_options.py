"""The options of reports that `dedupe scan` and `dedupe report` share: what lists for people show, and how."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from dedupe.cli import layout
from dedupe.report.base import Sort

Top = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Show so many groups at most, in text and paths; the totals count all.",
        rich_help_panel=layout.REPORTS,
    ),
]
SortBy = Annotated[
    Sort,
    typer.Option(
        "--sort",
        case_sensitive=False,
        help="What comes first, in text and paths: what wastes most, the largest files, most files, or the first path.",
        rich_help_panel=layout.REPORTS,
    ),
]
Relative = Annotated[
    bool,
    typer.Option(
        "--relative",
        help="Write paths relative to the current folder, in text and paths.",
        rich_help_panel=layout.REPORTS,
    ),
]


def start(*, relative: bool) -> bytes | None:
    """Return the folder that paths are relative to, None for absolute ones."""
    return os.getcwdb() if relative else None
