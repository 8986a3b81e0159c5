"""Runs one measurement from its settings to its record.  Prints nothing."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from dedupe.bench import peers
from dedupe.bench.block import SEED, block, random_block
from dedupe.bench.control import control
from dedupe.bench.environment import environment
from dedupe.bench.kinds import KINDS, Material
from dedupe.bench.participants import ALGORITHMS, Participant, participants
from dedupe.bench.programs import Program, programs
from dedupe.bench.record import Described, Record
from dedupe.bench.rounds import measure
from dedupe.errors import NothingUsableError, UsageError
from dedupe.progress import Progress
from dedupe.version import __version__
from dedupe.workers.cores import cores

BASELINE = "sha256/openssl"  # what most programs use
ROUNDS = 5
PEER_ROUNDS = 3  # at most: a run of .NET starts a compiler


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchConfig:
    """The settings of a measurement.

    Raises:
        UsageError: a value makes no sense.
    """

    kind: str = "oneshot"
    sizes: tuple[int, ...] = ()  # bytes; none means those of the kind
    rounds: int = ROUNDS
    seed: int | None = SEED  # None: random bytes
    only: tuple[str, ...] = ()  # algorithms or participants; none means all
    baseline: str | None = None
    peers: bool = False

    def __post_init__(self) -> None:
        """Check the values."""
        if self.kind not in KINDS:
            raise UsageError(f"{self.kind!r} is no kind of work: choose one of {', '.join(KINDS)}.")
        if self.rounds < 1:
            raise UsageError(f"rounds must be 1 or more, not {self.rounds}.")
        if any(size < 1 for size in self.sizes):
            raise UsageError("sizes must be 1 byte or more.")
        if self.seed is not None and not 0 < self.seed < 1 << 32:
            raise UsageError(f"the seed must be from 1 to {(1 << 32) - 1}, not {self.seed}.")


def run(plan: BenchConfig, progress: Progress) -> Record:
    """Measure what the settings say, and return all results.

    Raises:
        UsageError: the settings name what is not available here.
        NothingUsableError: two participants disagree on a digest.
    """
    started = _now()
    everybody = participants()
    who = _chosen(everybody, plan.only)
    baseline = _baseline(who, plan.baseline)
    kind = KINDS[plan.kind]
    sizes = plan.sizes or kind.sizes
    size = kind.input_size(sizes)
    data = block(size, plan.seed) if plan.seed is not None else random_block(size)
    with tempfile.TemporaryDirectory(prefix="dedupe-bench-") as folder:
        path = os.path.join(folder, "block.bin")
        if plan.kind == "file" or plan.peers:
            _write(path, data)
        tasks = list(kind.tasks(who, Material(memoryview(data), path, cores()), sizes))
        progress.begin(plan.kind, len(tasks) * (plan.rounds + 1))
        cells = measure(tasks, plan.rounds, _counter(progress))
        progress.end()
        others = _peers(plan, everybody, data, folder, progress) if plan.peers else []
    return Record(
        version=__version__,
        started=started,
        kind=plan.kind,
        says=kind.says,
        seed=plan.seed,
        rounds=plan.rounds,
        baseline=baseline,
        environment=environment(),
        participants=tuple(Described(one.name, one.algorithm, one.code, ALGORITHMS[one.algorithm]) for one in who),
        cells=tuple(cells),
        peers=tuple(others),
    )


def run_control(rounds: int, progress: Progress) -> Record:
    """Find out whether OpenSSL's environment switch has an effect here.

    Raises:
        NothingUsableError: there is no such switch for this processor, or a child process failed.
    """
    started = _now()
    progress.begin("control", 2 * rounds)
    switch, effects = control(rounds, _counter(progress))
    progress.end()
    return Record(
        version=__version__,
        started=started,
        kind="control",
        says=f"{switch.variable} takes {switch.takes} away from OpenSSL",
        seed=SEED,
        rounds=rounds,
        baseline="",
        environment=environment(),
        switch=switch,
        effects=tuple(effects),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _counter(progress: Progress) -> Callable[[], None]:
    """Return a function that advances the progress by one each time that it is called."""
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        progress.reach(done)

    return count


def _chosen(everybody: Sequence[Participant], only: Sequence[str]) -> list[Participant]:
    """Return the participants whose algorithm or name is asked for."""
    known = {one.algorithm for one in everybody} | {one.name for one in everybody}
    unknown = [name for name in only if name not in known]
    if unknown:
        algorithms = ", ".join(dict.fromkeys(one.algorithm for one in everybody))
        raise UsageError(f"No participant here computes {', '.join(unknown)}: choose from {algorithms}.")
    return [one for one in everybody if not only or one.algorithm in only or one.name in only]


def _baseline(who: Sequence[Participant], wanted: str | None) -> str:
    names = [one.name for one in who]
    if wanted is None:
        return BASELINE if BASELINE in names else names[0]
    if wanted not in names:
        raise UsageError(f"{wanted!r} does not take part: choose a baseline from {', '.join(names)}.")
    return wanted


def _write(path: str, data: bytes) -> None:
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise NothingUsableError(f"{path}, the file to hash, cannot be written: {error.strerror}") from error


def _peers(
    plan: BenchConfig, everybody: Sequence[Participant], data: bytes, folder: str, progress: Progress
) -> list[peers.Peer]:
    """Measure the other programs on the file in `folder`; their digests must equal ours."""
    ours = {one.algorithm: one for one in reversed(everybody)}
    wanted = {name.partition("/")[0] for name in plan.only}
    found: list[Program] = [
        one for one in programs() if one.algorithm in ours and (not wanted or one.algorithm in wanted)
    ]
    empty = os.path.join(folder, "empty.bin")
    _write(empty, b"")
    algorithms = {one.algorithm for one in found}
    inputs = peers.Inputs(
        folder,
        os.path.join(folder, "block.bin"),
        len(data),
        empty,
        {name: ours[name].whole(data) for name in algorithms},
        {name: ours[name].whole(b"") for name in algorithms},
    )
    rounds = min(plan.rounds, PEER_ROUNDS)
    progress.begin("other programs", len(found) * (rounds + 1))
    measured = peers.measure(found, inputs, rounds, _counter(progress))
    progress.end()
    return measured
