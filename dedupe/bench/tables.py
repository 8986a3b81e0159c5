"""Turns a record into rows and sentences.  Draws nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from dedupe.bench.kinds import size_text
from dedupe.bench.record import Record
from dedupe.bench.rounds import Cell
from dedupe.bench.stats import Summary, crossovers, pair_ratio, rate, summarise


@dataclass(frozen=True, slots=True)
class Row:
    """One participant in one case."""

    cell: Cell
    summary: Summary  # seconds of a run
    rate: float  # GB/s of the median
    ratio: float | None  # times as fast as the baseline in this case

    @property
    def each(self) -> float:
        """Return the seconds of one input, of the median."""
        return self.summary.median / self.cell.calls


@dataclass(frozen=True, slots=True)
class Turn:
    """The sizes in bytes at which another of two participants becomes the faster one; none if one always is."""

    first: str
    second: str
    faster_when_small: str
    sizes: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A participant in one case, in two records: GB/s of the medians."""

    participant: str
    case: str
    old: float
    new: float

    @property
    def ratio(self) -> float:
        """Return how many times as fast the new one is."""
        return self.new / self.old


def cases(record: Record) -> list[str]:
    """Return the cases of a record, in order."""
    return list(dict.fromkeys(cell.case for cell in record.cells))


def rows(record: Record, case: str) -> list[Row]:
    """Return the rows of a case, the fastest first."""
    cells = [cell for cell in record.cells if cell.case == case]
    base = next((cell for cell in cells if cell.participant == record.baseline), None)
    found = []
    for cell in cells:
        summary = summarise(cell.seconds)
        ratio = pair_ratio(base.seconds, cell.seconds) if base else None
        found.append(Row(cell, summary, rate(cell.size, summary.median), ratio))
    return sorted(found, key=lambda row: -row.rate)


def turns(record: Record) -> list[Turn]:
    """Return every pair of participants, those of one algorithm first, with the sizes at which their order turns.

    Only the kind `small` has cases that differ by the size of an input alone.
    """
    if record.kind != "small":
        return []
    algorithm = {one.name: one.algorithm for one in record.participants}
    by_name: dict[str, list[Cell]] = {name: [] for name in algorithm}
    for cell in record.cells:
        by_name[cell.participant].append(cell)
    found = []
    for first, second in combinations(by_name, 2):
        pairs = sorted(zip(by_name[first], by_name[second], strict=True), key=lambda pair: pair[0].size / pair[0].calls)
        # minima: otherwise noise would be reported as a property of the code
        one, other = ([min(cell.seconds) for cell in column] for column in zip(*pairs, strict=True))
        sizes = crossovers([a.size // a.calls for a, _ in pairs], one, other)
        found.append(Turn(first, second, first if one[0] <= other[0] else second, sizes))
    return sorted(found, key=lambda turn: algorithm[turn.first] != algorithm[turn.second])


def notes(record: Record) -> Iterator[str]:
    """Yield sentences without which the tables could be misunderstood."""
    noisy = [cell for cell in record.cells if summarise(cell.seconds).noisy]
    if noisy:
        worst = max(noisy, key=lambda cell: summarise(cell.seconds).median / summarise(cell.seconds).minimum)
        yield (
            f"{len(noisy)} of {len(record.cells)} medians are more than 10 % above their minimum (most of all "
            f"{worst.participant}, {worst.case}): other programs used this machine. Compare the minima, or close "
            "those programs and measure again."
        )
    for peer in record.peers:
        if peer.failure:
            yield f"{peer.participant} gave no time: {peer.failure}."
        elif not peer.timed and not peer.startup:
            yield f"{peer.participant} refuses an empty file, so its time includes its start."


def compare(old: Record, new: Record) -> list[Change]:
    """Return the results that both records have, in the order of the new one."""
    before = {(cell.participant, cell.case): cell for cell in old.cells} if old.kind == new.kind else {}
    return [
        Change(cell.participant, cell.case, _rate(before[cell.participant, cell.case]), _rate(cell))
        for cell in new.cells
        if (cell.participant, cell.case) in before
    ]


def differences(old: Record, new: Record) -> list[tuple[str, str, str]]:
    """Return what is not the same about two records: name, old and new."""
    before, after = _facts(old), _facts(new)
    return [(name, before[name], after[name]) for name in before if before[name] != after[name]]


def _facts(record: Record) -> dict[str, str]:
    where = record.environment
    facts = {name: str(getattr(where, name)) for name in ("cpu", "cores", "system", "python", "openssl", "xxhash")}
    return {"date": record.started, "dedupe": record.version, **facts, "flags": " ".join(where.flags)}


def turn_text(turn: Turn) -> str:
    """Return a pair's crossovers as a sentence."""
    small = turn.faster_when_small
    other = turn.second if small == turn.first else turn.first
    at = ", ".join(about(size) for size in turn.sizes)
    if len(turn.sizes) == 1:
        return f"{small} is faster below {at}, {other} above"
    return f"{small} is faster at first; it and {other} change places at {at}"


def about(size: float) -> str:
    """Return a calculated size with two digits, as it is not more exact than that."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.2g} {name}" if size < 100 * unit else f"{size / unit:.0f} {name}"
    return size_text(round(size))


def _rate(cell: Cell) -> float:
    return rate(cell.size, summarise(cell.seconds).median)


def share(value: float, values: Sequence[float]) -> float:
    """Return the length of a value's bar, from 0 to 1 for the largest value."""
    most = max(values)
    return value / most if most > 0 else 0.0
