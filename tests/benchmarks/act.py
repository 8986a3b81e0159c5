"""Print how fast redundant files are made hard links, moved or removed: dedupe beside other finders that act.

    python -m tests.benchmarks.act                              10,000 pairs of 4 KiB, 3 rounds
    python -m tests.benchmarks.act --pairs 1000 --rounds 1      a try-out of a minute

Each run has a tree of its own, made anew, of pairs in 50 folders each; the tools take turns, so that noise hits all
alike.  dedupe and fclones act on a report, which is made before and not timed.  rdfind and jdupes find and act in one:
what they take to find alone, on the same tree a moment before, is measured too and taken off.  Afterwards every tree is
counted: a tool that did not act on all pairs has no figures.  dedupe alone compares all bytes at the act and journals
them; what is not of the others is not made good here.  Linux only.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from tests.benchmarks.machine import describe
from tests.benchmarks.measure import Measurer, RunError
from tests.benchmarks.tools import find_program

FOLDERS = 50


@dataclass(slots=True)
class Way:
    """One way of acting.  In the commands {tree} is what to act on and {scratch} a folder for reports.

    Attributes:
        name: as the table has it.
        program: to find on PATH.
        before: what is run first; the time is taken off where `is_part` says that the act does the same again.
        act: what is timed.
        removes: names go, rather than becoming links.
        is_part: the act finds too.
        answer: the file in the scratch folder that gets what `before` prints.
    """

    name: str
    program: str
    before: str
    act: str
    removes: bool = False
    is_part: bool = False
    answer: str = ""
    seconds: list[float] = field(default_factory=list)
    fault: str = ""


SCAN = "scan {tree}/keep {tree}/go --no-cache --output {scratch}/report.json --no-progress"
APPLY = "apply {scratch}/report.json --prefer {tree}/keep --yes --no-progress"


def ways() -> list[Way]:
    """Return all ways, those of dedupe first."""
    ours = [
        Way(f"dedupe {option.split()[0]}", "dedupe", SCAN, f"{APPLY} {option}", removes=option != "--hardlink")
        for option in ("--hardlink", "--move-to {scratch}/away", "--trash", "--delete")
    ]
    return [
        *ours,
        Way("fclones link", "fclones", "group {tree}", "link", answer="fclones.txt"),
        Way("fclones remove", "fclones", "group {tree}", "remove", removes=True, answer="fclones.txt"),
        Way(
            "rdfind",
            "rdfind",
            "-dryrun true -makeresultsfile false {tree}/keep {tree}/go",
            "-makehardlinks true -makeresultsfile false {tree}/keep {tree}/go",
            is_part=True,
        ),
        Way("jdupes -L", "jdupes", "-r -q {tree}/keep {tree}/go", "-r -q -L {tree}/keep {tree}/go", is_part=True),
    ]


def make(tree: str, pairs: int, size: int) -> None:
    """Make a tree of pairs, and have it on the disk."""
    for side in ("keep", "go"):
        for folder in range(FOLDERS):
            os.makedirs(os.path.join(tree, side, str(folder)))
    for number in range(pairs):
        data = number.to_bytes(8, "little") * (size // 8)
        for side in ("keep", "go"):
            with open(os.path.join(tree, side, str(number % FOLDERS), f"{side}{number}"), "wb") as file:
                file.write(data)
    os.sync()


def acted_on(tree: str, *, removes: bool) -> int:
    """Return how many pairs were acted on."""
    seen = [os.stat(os.path.join(top, name)) for top, _, names in os.walk(tree) for name in names]
    if removes:
        return len(seen)
    return sum(s.st_nlink == 2 for s in seen) // 2


def turn(way: Way, path: str, folder: str, options: argparse.Namespace) -> None:
    """Act once in one way, on a new tree, and note what it took or what was wrong."""
    tree, scratch = os.path.join(folder, "tree"), os.path.join(folder, "scratch")
    for each in (tree, scratch):
        shutil.rmtree(each, ignore_errors=True)
        os.makedirs(each)
    make(tree, options.pairs, options.size)
    measurer = Measurer(scratch, accepted=(0,))
    try:
        before = measurer.run([path, *way.before.format(tree=tree, scratch=scratch).split()]).wall_s
        command = [path, *way.act.format(tree=tree, scratch=scratch).split()]
        if way.answer:
            os.rename(measurer.file("stdout"), measurer.file(way.answer))
            command = ["/bin/sh", "-c", f'exec "$0" {way.act} < "$1"', path, measurer.file(way.answer)]
        took = measurer.run(command).wall_s - (before if way.is_part else 0)
    except RunError as error:
        way.fault = f"failed: {error}"
        return
    done = acted_on(tree, removes=way.removes)
    if done != options.pairs:
        way.fault = f"acted on {done:,} of {options.pairs:,} pairs"
    else:
        way.seconds.append(took)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return 1 where dedupe itself failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.act", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=10_000, help="of equal files (10000)")
    parser.add_argument("--size", type=int, default=4096, help="bytes of each (4096)")
    parser.add_argument("--rounds", type=int, default=3, help="of all tools in turn (3)")
    parser.add_argument(
        "--folder", default=tempfile.gettempdir(), help="on whose file system (that of temporary files)"
    )
    options = parser.parse_args(arguments)
    found = [(way, path) for way in ways() if (path := find_program(way.program)) is not None]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        facts = describe(folder)
        for number in range(1, options.rounds + 1):
            for way, path in found:
                if not way.fault:
                    sys.stderr.write(f"round {number} of {options.rounds}: {way.name}\n")
                    turn(way, path, folder, options)
    lines = [f"{key}: {value}" for key, value in facts.items()]
    lines += ["", "| | seconds | files a second |", "| --- | ---: | ---: |"]
    for way, _ in found:
        if way.fault or not way.seconds:
            lines.append(f"| {way.name} | {way.fault} | |")
        else:
            lines.append(f"| {way.name} | {median(way.seconds):.2f} | {options.pairs / median(way.seconds):,.0f} |")
    sys.stdout.write("\n".join(lines) + "\n")
    return int(any(way.fault for way, _ in found if way.program == "dedupe"))


if __name__ == "__main__":
    raise SystemExit(main())
