"""Options that several commands have, so that one word means one thing in all of them."""

from __future__ import annotations

from typing import Annotated

import typer

Output = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="Write a report; its ending chooses the format: .csv .json .jsonl .html .db .txt. May be repeated.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="For standard output: text, csv, json, jsonl or paths. By default text, or nothing with --output.",
    ),
]
