"""Options that several commands share, so that each has one meaning everywhere."""

from __future__ import annotations

from typing import Annotated

import typer

from dedupe.config import BackendName, Confirm

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
Backend = Annotated[BackendName, typer.Option(help="Who computes the digests.")]
Cache = Annotated[str | None, typer.Option(metavar="FILE", help="Remember digests in this file.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither use nor keep remembered digests.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Files to read at once; by default one per core, one for each rotating disk, more on a network.",
    ),
]
Bars = Annotated[bool | None, typer.Option("--progress/--no-progress", help="Show progress; by default on a terminal.")]
ConfirmBy = Annotated[Confirm, typer.Option(help="How equality is proven, and the digest that groups carry.")]
Exclude = Annotated[
    list[str] | None, typer.Option(metavar="GLOB", help="Leave out files and folders that match. May be repeated.")
]
OneFileSystem = Annotated[bool, typer.Option("--one-file-system", help="Stay on the file system of each PATH.")]
CloudFiles = Annotated[
    bool, typer.Option("--cloud-files", help="Read files that are only in a cloud, which downloads them.")
]
Verbose = Annotated[
    bool, typer.Option("--verbose", help="Print every problem, the backend and the time of each phase.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print only results and errors.")]
ExcludeFrom = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="Leave out what the rules of a file such as .gitignore match, below each root. May be repeated.",
    ),
]
IgnoreCase = Annotated[bool, typer.Option("--ignore-case", help="Let no case count in patterns and rules.")]
