"""Runs every task once per round, in turn, and compares their digests.  Knows nothing of hashes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

from dedupe.errors import NothingUsableError


@dataclass(frozen=True, slots=True)
class Task:
    """A piece of work of one participant; `run` returns the digest, or the digests of its inputs joined."""

    participant: str
    case: str  # what is done, such as `128 MiB`; a cell of a table is participant and case
    size: int  # bytes hashed by one run
    calls: int  # inputs hashed by one run
    same: str  # tasks with the same text here must return equal digests
    run: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Cell:
    """The timings of one task, seconds a round, in the order of the rounds."""

    participant: str
    case: str
    size: int
    calls: int
    seconds: tuple[float, ...]
    digest: str  # the last bytes that `run` returned, in hex


DIGEST_END = 64  # bytes; of many inputs' digests the end is enough to tell two answers apart


def measure(
    tasks: Sequence[Task],
    rounds: int,
    done: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = perf_counter,
) -> list[Cell]:
    """Run every task once a round, and return a cell a task, in the order of the tasks.

    A round before the first is not counted: it loads code, touches pages and compares the digests.  Every other round
    runs backwards, so that a processor that slows down as it gets warm affects the first and the last task alike.
    `done` is called after every run.

    Raises:
        NothingUsableError: two digests that must be equal are not; the text has both.
    """
    seconds: list[list[float]] = [[] for _ in tasks]
    known: dict[str, tuple[str, bytes]] = {}
    for number in range(rounds + 1):
        order = range(len(tasks)) if number % 2 else range(len(tasks) - 1, -1, -1)
        for place in order:
            task = tasks[place]
            start = clock()
            digest = task.run()
            took = clock() - start
            if number:
                seconds[place].append(took)
            _compare(task, digest, known)
            done()
    return [
        Cell(task.participant, task.case, task.size, task.calls, tuple(times), _end_of(known[task.same][1]))
        for task, times in zip(tasks, seconds, strict=True)
    ]


def _compare(task: Task, digest: bytes, known: dict[str, tuple[str, bytes]]) -> None:
    name, expected = known.setdefault(task.same, (task.participant, digest))
    if digest != expected:
        raise NothingUsableError(
            f"{task.participant} and {name} disagree on {task.case}, so their times are worthless: "
            f"{_end_of(digest)} and {_end_of(expected)}"
        )


def _end_of(digest: bytes) -> str:
    return digest[-DIGEST_END:].hex()
