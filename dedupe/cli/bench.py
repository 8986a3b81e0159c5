"""`dedupe bench`: shows which hash and which backend is fastest on this machine.  Measures nothing itself."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from dedupe.cli import console, options, values
from dedupe.cli.exits import Exit
from dedupe.cli.whole_file import WholeFile
from dedupe.errors import NothingUsableError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from dedupe.bench.record import Record

_WIDTH = 160  # characters of a line where standard output is no terminal

_Kind = Annotated[
    str, typer.Option(metavar="KIND", help="Work to do: oneshot, stream, chunks, small, file, copy or threads.")
]
_Size = Annotated[
    list[str] | None,
    typer.Option("--size", metavar="SIZE", help="How large an input is, or a piece of it. May be repeated."),
]
_Rounds = Annotated[
    int, typer.Option("--rounds", "-r", metavar="N", help="Number of rounds; each runs every participant once.")
]
_Algorithm = Annotated[
    list[str] | None,
    typer.Option(
        "--algorithm",
        "-a",
        metavar="NAME",
        help="Take only this algorithm or participant (sha256, sha256/cng). May be repeated.",
    ),
]
_Baseline = Annotated[
    str | None, typer.Option(metavar="NAME", help="The participant that the others are compared with.")
]
_Seed = Annotated[
    int, typer.Option(metavar="N", help="Seed of the input; the same seed gives the same bytes on every machine.")
]
_Random = Annotated[bool, typer.Option("--random", help="Use random bytes as the input.")]
_Peers = Annotated[bool, typer.Option("--peers", help="Measure other programs on PATH too, on the same file.")]
_Control = Annotated[
    bool,
    typer.Option("--control", help="Only test whether OpenSSL's environment switch has an effect on this machine."),
]
_Json = Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write all rounds to a file.")]
_Compare = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OLD.json",
        help="Compare this run with an earlier record; with two records, compare those and measure nothing.",
    ),
]


@console.guarded
def bench(
    kind: _Kind = "oneshot",
    size: _Size = None,
    rounds: _Rounds = 5,
    algorithm: _Algorithm = None,
    baseline: _Baseline = None,
    seed: _Seed = 20260804,
    random: _Random = False,
    peers: _Peers = False,
    control: _Control = False,
    json: _Json = None,
    compare: _Compare = None,
    progress: options.Bars = None,
) -> Exit:
    """Measure which hash and which backend is fastest here."""
    from dedupe.bench.laboratory import BenchConfig, run, run_control
    from dedupe.bench.record import to_json

    console.expect_output()
    values.refuse_empty("--json", json)
    values.refuse_empty("--compare", *compare or ())
    values.refuse_empty("--algorithm", *algorithm or ())
    values.refuse_empty("--baseline", baseline)
    old = [_read(source) for source in compare or ()]
    if len(old) > 2:
        raise UsageError("--compare takes one record, or two.")
    config = BenchConfig(
        kind=kind,
        sizes=tuple(values.size(text) for text in size or ()),
        rounds=rounds,
        seed=None if random else seed,
        only=tuple(algorithm or ()),
        baseline=baseline,
        peers=peers,
    )
    screen = _screen()
    if len(old) == 2:
        _compare(old[0], old[1], screen)
        return Exit.DONE
    with contextlib.ExitStack() as stack:
        with _writing(json):  # opened before anything is measured
            whole = stack.enter_context(WholeFile(json)) if json is not None else None
        bars = console.bars(progress)
        record = run_control(rounds, bars) if control else run(config, bars)
        if whole is not None:
            with _writing(json):
                whole.commit([to_json(record).encode()])
    _draw(record, screen)
    if old:
        _compare(old[0], record, screen)
    return Exit.DONE


@contextlib.contextmanager
def _writing(path: str | None) -> Iterator[None]:
    """Turn errors of the file for a record into sentences for the user."""
    try:
        yield
    except OSError as error:
        raise NothingUsableError(f"{path} cannot be written: {error.strerror}") from error


def _read(source: str) -> Record:
    from dedupe.bench.record import from_json

    try:
        with open(source, encoding="utf-8") as file:
            return from_json(file.read(), source)
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{source} is not a record of `dedupe bench --json`: {error}") from error


def _screen() -> Console:
    from rich.console import Console

    # not rich's own guess, which takes some environments for terminals by mistake
    terminal = console.on_terminal(sys.stdout)
    return Console(
        file=sys.stdout,
        force_terminal=terminal,
        no_color=not console.wants_colour(),
        width=None if terminal else _WIDTH,
        highlight=False,
    )


def _draw(record: Record, screen: Console) -> None:
    from dedupe.bench.draw import draw

    with _drawing():
        draw(record, screen)


def _compare(old: Record, new: Record, screen: Console) -> None:
    from dedupe.bench.draw import draw_comparison

    with _drawing():
        draw_comparison(old, new, screen)


@contextlib.contextmanager
def _drawing() -> Iterator[None]:
    """Turn errors of standard output, to which rich writes itself, into those of every other command."""
    try:
        yield
    except OSError as error:
        raise console.output_error(error) from error
    console.flush()
