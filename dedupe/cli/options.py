"""Options that several commands share, so that each has one meaning everywhere."""

from __future__ import annotations

from typing import Annotated

import typer

from dedupe.cli import layout
from dedupe.config import BackendName, Confirm

Output = Annotated[
    list[str] | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write a report; its ending chooses the format: .csv .json .jsonl .html .db .txt .paths. May be repeated.",
        rich_help_panel=layout.REPORTS,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        help="For standard output: text, csv, json, jsonl or paths. By default text, or nothing with --output.",
        rich_help_panel=layout.REPORTS,
    ),
]
NullPaths = Annotated[
    bool,
    typer.Option(
        "--null",
        "-0",
        help="End each path of --format paths with NUL instead of a new line.",
        rich_help_panel=layout.REPORTS,
    ),
]
Backend = Annotated[
    BackendName,
    typer.Option(case_sensitive=False, help="Who computes the digests.", rich_help_panel=layout.READING),
]
Cache = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Remember digests in this file; by default in the one that `dedupe cache path` prints.",
        rich_help_panel=layout.MEMORY,
    ),
]
NoCache = Annotated[
    bool,
    typer.Option("--no-cache", help="Neither use nor keep remembered digests.", rich_help_panel=layout.MEMORY),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        min=1,
        help="Files to read at once; by default one per core, fewer on a rotating disk, more on a network.",
        rich_help_panel=layout.READING,
    ),
]
Bars = Annotated[
    bool | None,
    typer.Option(
        "--progress/--no-progress",
        help="Show progress; by default on a terminal.",
        rich_help_panel=layout.TELLING,
    ),
]
ConfirmBy = Annotated[
    Confirm,
    typer.Option(
        case_sensitive=False,
        help="How equality is proven, and the digest that groups carry.",
        rich_help_panel=layout.READING,
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        "-E",
        metavar="GLOB",
        help="Leave out files and folders that match. May be repeated.",
        rich_help_panel=layout.SELECTION,
    ),
]
OneFileSystem = Annotated[
    bool,
    typer.Option(
        "--one-file-system",
        "-x",
        help="Stay on the file system of each PATH.",
        rich_help_panel=layout.SELECTION,
    ),
]
CloudFiles = Annotated[
    bool,
    typer.Option(
        "--cloud-files",
        help="Read files that are only in a cloud, which downloads them.",
        rich_help_panel=layout.SELECTION,
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="Print every problem, the backend and the time of each phase.",
        rich_help_panel=layout.TELLING,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print only results and errors.", rich_help_panel=layout.TELLING),
]
ExcludeFrom = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="Leave out what the rules of a file such as .gitignore match, below each root. May be repeated.",
        rich_help_panel=layout.SELECTION,
    ),
]
IgnoreCase = Annotated[
    bool,
    typer.Option(
        "--ignore-case",
        "-i",
        help="Let no case count in patterns and rules.",
        rich_help_panel=layout.SELECTION,
    ),
]
