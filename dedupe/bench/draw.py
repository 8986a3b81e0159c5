"""Draws a record on a terminal, or as plain lines where there is none.  Calculates nothing."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

from dedupe.bench import tables
from dedupe.bench.fit import Fitting
from dedupe.bench.participants import MEANINGS
from dedupe.bench.peers import Peer
from dedupe.bench.record import Record
from dedupe.bench.stats import rate, summarise

BAR = 24  # characters of the longest bar
FEW = 4  # up to so many cases get a table each; more of them share one table, with a column each

_VERDICTS = {
    "acts": "the switch has an effect",
    "no change": "does not depend on these instructions: the switch has an effect on others",
    "ignored": "the switch is ignored here: not even AES changed",
    "unknown": "unknown: there is no control, or the machine was too busy",
}


def draw(record: Record, console: Console) -> None:
    """Draw everything that a record holds."""
    _environment(record, console)
    if record.effects:
        _effects(record, console)
        return
    cases = tables.cases(record)
    data = f"seed {record.seed}" if record.seed is not None else "random bytes"
    _say(console, f"{record.kind}: {record.says}; {data}, {record.rounds} rounds in turn, digests compared on each")
    if len(cases) <= FEW:
        for case in cases:
            _case(record, case, console).draw(console)
    else:
        _matrix(record, cases).draw(console)
    _legend(record, console)
    if record.kind == "small":
        _turns(record, console)
    if record.peers:
        _peers(record.peers).draw(console)
    for note in (*tables.notes(record), *record.environment.warnings):
        _say(console, f"Note: {note}")


def draw_comparison(old: Record, new: Record, console: Console) -> None:
    """Draw two records side by side."""
    facts = Fitting("", "old", "new")
    differences = tables.differences(old, new)
    for difference in differences:
        facts.add_row(*difference)
    if differences:
        facts.draw(console)
    changes = tables.compare(old, new)
    if not changes:
        _say(console, f"The two have nothing in common: {old.kind} and {new.kind}, or other participants and sizes.")
        return
    table = Fitting("participant", "case", "=old GB/s", "=new GB/s", "=new / old")
    for change in changes:
        table.add_row(change.participant, change.case, f"{change.old:.2f}", f"{change.new:.2f}", f"{change.ratio:.2f}")
    table.draw(console)


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=not console.is_terminal)


def _environment(record: Record, console: Console) -> None:
    where = record.environment
    _say(console, f"{where.cpu} ({where.cores} cores); {' '.join(where.flags) or 'flags unknown'}")
    _say(console, f"{where.system}; {where.python}; {where.openssl}; xxHash {where.xxhash}")


def _case(record: Record, case: str, console: Console) -> Fitting:
    """Return the table of one case, the fastest first, with bars on a terminal."""
    bars = ["|"] if console.is_terminal else []
    baseline = [f"=x {record.baseline}"] if record.baseline else []
    table = Fitting(case, "?code", "?use", "=GB/s", *bars, "=min ms", "=median", "=max", "=spread", *baseline)
    described = {one.name: one for one in record.participants}
    rows = tables.rows(record, case)
    block = "\u2588" if (console.encoding or "").lower().startswith("utf") else "#"
    for row in rows:
        one = described[row.cell.participant]
        length = round(BAR * tables.share(row.rate, [other.rate for other in rows]))
        bar = [block * max(1, length)] if console.is_terminal else []
        times = (row.summary.minimum, row.summary.median, row.summary.maximum)
        ratio = [f"{row.ratio:.2f}" if row.ratio is not None else ""] if record.baseline else []
        table.add_row(
            one.name,
            one.code,
            one.use,
            f"{row.rate:.2f}",
            *bar,
            *(f"{1000 * seconds:.2f}" for seconds in times),
            f"{100 * row.summary.spread:.0f} %",
            *ratio,
        )
    return table


def _matrix(record: Record, cases: list[str]) -> Fitting:
    """Return one table of all cases: microseconds an input where inputs are small, GB/s elsewhere."""
    small = record.kind == "small"
    table = Fitting("us an input" if small else "GB/s", *(f"={case}" for case in cases))
    by_case = {case: {row.cell.participant: row for row in tables.rows(record, case)} for case in cases}
    for one in record.participants:
        found = [by_case[case][one.name] for case in cases]
        table.add_row(one.name, *(f"{1e6 * row.each:.3g}" if small else f"{row.rate:.2f}" for row in found))
    return table


def _legend(record: Record, console: Console) -> None:
    for use in dict.fromkeys(one.use for one in record.participants):
        names = dict.fromkeys(one.algorithm for one in record.participants if one.use == use)
        _say(console, f"{use} ({', '.join(names)}): {MEANINGS[use]}.")


def _turns(record: Record, console: Console) -> None:
    """Print the sizes at which another participant becomes the fastest."""
    found = tables.turns(record)
    algorithm = {one.name: one.algorithm for one in record.participants}
    same = [turn for turn in found if algorithm[turn.first] == algorithm[turn.second]]
    others = [turn for turn in found if turn.sizes and turn not in same]
    _say(console, "Where the order turns round, of suppliers of one algorithm:")
    for turn in same:
        _say(console, f"  {tables.turn_text(turn)}" if turn.sizes else f"  {_never(turn)}")
    _say(console, "and of different algorithms:" if others else "and of different algorithms: nowhere.")
    for turn in others:
        _say(console, f"  {tables.turn_text(turn)}")


def _never(turn: tables.Turn) -> str:
    other = turn.second if turn.faster_when_small == turn.first else turn.first
    return f"nowhere: {turn.faster_when_small} is faster than {other} at all sizes, or as fast"


def _peers(peers: Iterable[Peer]) -> Fitting:
    table = Fitting(
        "other programs", "?version", "=GB/s", "=min ms", "=median", "=max", "=start-up ms", "?what is timed"
    )
    for peer in peers:
        if peer.failure:
            table.add_row(peer.participant, peer.version, "-", "-", "-", "-", "-", "it failed")
            continue
        found = summarise(peer.net)
        start = f"{1000 * min(peer.startup):.1f}" if peer.startup else "-"
        times = (f"{1000 * seconds:.2f}" for seconds in (found.minimum, found.median, found.maximum))
        what = "its hash alone" if peer.timed else "reading and hashing, less the start"
        speed = f"{rate(peer.size, found.median):.2f}"
        table.add_row(peer.participant, peer.version, speed, *times, start, what)
    return table


def _effects(record: Record, console: Console) -> None:
    """Print what the environment switch did."""
    if record.switch:
        _say(console, f"{record.switch.variable}={record.switch.value} takes {record.switch.takes} away from OpenSSL")
    table = Fitting("", "=ms without", "=ms with it", "=times as slow", "verdict")
    for effect in record.effects:
        times = (f"{1000 * effect.without:.2f}", f"{1000 * effect.switched:.2f}")
        table.add_row(effect.name, *times, f"{effect.ratio:.2f}", _VERDICTS[effect.verdict])
    table.draw(console)
    for note in record.environment.warnings:
        _say(console, f"Note: {note}")
