"""Runs other programs on the same file, in turn, and counts only those that print the right digest."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

from dedupe.bench.programs import SCRIPT, Program
from dedupe.errors import NothingUsableError

PATIENCE = 120  # seconds that a program may take


class AnswerError(Exception):
    """A program gave no usable answer; the text says what it did instead."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program printed: a digest; a timed one also the bytes that it read and the seconds that its hash took."""

    digest: bytes
    size: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Peer:
    """A program's timings, seconds a round.  `seconds` holds its hash alone if it is timed, else the whole run.

    `startup` holds whole runs on an empty file; it is empty where the program refuses one.
    """

    participant: str
    version: str
    size: int
    timed: bool
    seconds: tuple[float, ...]
    startup: tuple[float, ...]
    failure: str = ""  # why there are no timings

    @property
    def net(self) -> tuple[float, ...]:
        """Return the seconds that the hash (and, unless timed, the reading) took, without the start."""
        if self.timed or not self.startup:
            return self.seconds
        best = min(self.startup)
        return tuple(max(seconds - best, 0.0) for seconds in self.seconds)


def answer(output: bytes, digest_size: int, *, timed: bool) -> Answer:
    """Return the answer in a program's output, read as UTF-8 whatever the code page: digests are ASCII.

    Raises:
        AnswerError: there is none in it.
    """
    text = output.decode("utf-8", "replace").lstrip("\ufeff")
    if not text.strip():
        raise AnswerError("it printed nothing")
    if timed:
        found = re.search(rf"^(\d+) ([0-9a-fA-F]{{{2 * digest_size}}}) (\d+\.\d+)\s*$", text, re.MULTILINE)
        if not found:
            raise AnswerError(f"it printed {text[:80]!r}")
        return Answer(bytes.fromhex(found[2]), int(found[1]), float(found[3]))
    # older ones of certutil write a space after each byte
    lines = [
        line.replace(" ", "") if re.fullmatch(r"([0-9a-fA-F]{2} ?)+\s*", line) else line for line in text.splitlines()
    ]
    for line in lines:
        found = re.search(rf"(?<![0-9a-zA-Z])[0-9a-fA-F]{{{2 * digest_size}}}(?![0-9a-zA-Z])", line)
        if found:
            return Answer(bytes.fromhex(found[0]))
    raise AnswerError(f"it printed {text[:80]!r}")


def run(program: Program, path: str, size: int, expected: bytes, folder: str) -> tuple[float, Answer]:
    """Run a program once on a file of `size` bytes; return the seconds of the whole run, and its answer.

    `folder` is where a script may be written.

    Raises:
        AnswerError: it failed, printed no digest, or did not read the whole file.
        NothingUsableError: it computed another digest; the text has both.
    """
    script = os.path.join(folder, f"{program.algorithm}.fsx")
    command = [script if part == SCRIPT else part for part in program.command(path)]
    command[0] = shutil.which(command[0]) or command[0]  # Windows itself finds only what ends in .exe
    if script in command:
        with open(script, "w", encoding="utf-8", newline="\n") as file:
            file.write(program.text)
    start = perf_counter()
    try:
        done = subprocess.run(  # noqa: S603 - a fixed list of programs
            command, input=program.text.encode(), capture_output=True, check=False, timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AnswerError(str(error)) from error
    seconds = perf_counter() - start
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise AnswerError(f"it ended with {done.returncode}: {said[-1] if said else 'without a message'}")
    found = answer(done.stdout, len(expected), timed=program.timed)
    if found.size is not None and found.size != size:
        raise AnswerError(f"it read {found.size} bytes of {size}")
    if found.digest != expected:
        raise NothingUsableError(
            f"{program.algorithm}/{program.name} disagrees on {size} bytes: "
            f"{found.digest.hex()} where {expected.hex()} is right"
        )
    return seconds, found


@dataclass(frozen=True, slots=True)
class Inputs:
    """A file, an empty one beside it, and their digests by algorithm."""

    folder: str
    path: str
    size: int
    empty: str
    digests: dict[str, bytes]
    empty_digests: dict[str, bytes]


def measure(
    programs: Sequence[Program], inputs: Inputs, rounds: int, done: Callable[[], None] = lambda: None
) -> list[Peer]:
    """Run every program once a round on the file and on the empty one, in turn; one that fails is not run again.

    Raises:
        NothingUsableError: a program computed another digest.
    """
    seconds: dict[int, list[float]] = {place: [] for place in range(len(programs))}
    startup: dict[int, list[float]] = {place: [] for place in range(len(programs))}
    failures: dict[int, str] = {}
    for number in range(rounds + 1):  # the first loads the programs into memory and does not count
        for place, program in enumerate(programs):
            if place not in failures:
                try:
                    whole, found = run(
                        program, inputs.path, inputs.size, inputs.digests[program.algorithm], inputs.folder
                    )
                except AnswerError as error:
                    failures[place] = str(error)
                else:
                    if number:
                        seconds[place].append(whole if found.seconds is None else found.seconds)
                        startup[place] += _startup(program, inputs)
            done()
    return [
        Peer(
            f"{program.algorithm}/{program.name}",
            version(program),
            inputs.size,
            program.timed,
            () if place in failures else tuple(seconds[place]),
            tuple(startup[place]),
            failures.get(place, ""),
        )
        for place, program in enumerate(programs)
    ]


def _startup(program: Program, inputs: Inputs) -> list[float]:
    with contextlib.suppress(AnswerError):  # older ones of certutil refuse an empty file
        return [run(program, inputs.empty, 0, inputs.empty_digests[program.algorithm], inputs.folder)[0]]
    return []


def version(program: Program) -> str:
    """Return the first line that a program prints of its version, or nothing."""
    if not program.version:
        return ""
    try:
        done = subprocess.run(  # noqa: S603 - a fixed list of programs
            program.version, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = (done.stdout or done.stderr).decode("utf-8", "replace").strip().splitlines()  # xxhsum says it on stderr
    return lines[0] if lines else ""
