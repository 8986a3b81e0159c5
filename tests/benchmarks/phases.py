"""Print where dedupe's time goes: per phase and number of jobs on each corpus, and what a start costs.

    python -m tests.benchmarks.phases [--corpora small,photos] [--scale 0.1] [--rounds 3] [--jobs 1,2]

The phases are those that `dedupe scan --verbose` prints.  Runs with different `--jobs` take turns; all figures are
medians, and the first round is not counted.  The page cache is hot.  Linux only.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.benchmarks.compare import DEFAULT_CORPORA, Corpus, add_corpora_options, kept_corpora, say
from tests.benchmarks.machine import describe
from tests.benchmarks.measure import Measurer
from tests.benchmarks.table import facts, markdown
from tests.benchmarks.tools import SCAN, find_program, version_of

# a line a phase on standard error: its name, and its seconds
PHASE = re.compile(r"^([a-z]+) +(\d+\.\d+) s$", re.MULTILINE)
FEW_FILES = 10


@dataclass(slots=True)
class Profile:
    """What the runs with one number of jobs took."""

    jobs: int
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    phases: list[dict[str, float]] = field(default_factory=list)

    def median(self, phase: str) -> float:
        """Return the median seconds of a phase; a run without it took none."""
        return statistics.median(run.get(phase, 0.0) for run in self.phases)


def phases_in(text: str) -> dict[str, float]:
    """Return the seconds of each phase that dedupe's standard error names, in its order."""
    return {name: float(seconds) for name, seconds in PHASE.findall(text)}


def profile(measurer: Measurer, dedupe: str, corpus: Corpus, jobs: Sequence[int], rounds: int) -> list[Profile]:
    """Return a profile for each number of jobs; raises RunError where dedupe fails."""
    profiles = [Profile(number) for number in jobs]
    scan = SCAN.format(corpus="{}").split()
    for counted in (False, *[True] * rounds):
        for each in profiles:
            words = [corpus.folder if word == "{}" else word for word in scan]
            run = measurer.run([dedupe, *words, "--no-cache", "--verbose", "--jobs", str(each.jobs)])
            if counted:
                with open(measurer.file("stderr"), encoding="utf-8", errors="replace") as text:
                    each.phases.append(phases_in(text.read()))
                each.wall_s.append(run.wall_s)
                each.cpu_s.append(run.cpu_s)
    return profiles


def profile_table(profiles: Sequence[Profile]) -> str:
    """Return a line for each number of jobs, with its speed as a multiple of the first one's."""
    names = list(dict.fromkeys(name for each in profiles for run in each.phases for name in run))
    lines = [("jobs", "wall s", "CPU s", "times as fast", *(f"{name} s" for name in names))]
    first = statistics.median(profiles[0].wall_s)
    for each in profiles:
        wall, cpu = statistics.median(each.wall_s), statistics.median(each.cpu_s)
        seconds = (f"{each.median(name):.3f}" for name in names)
        lines.append((str(each.jobs), f"{wall:.3f}", f"{cpu:.3f}", f"{first / wall:.2f}", *seconds))
    return markdown(lines, left=0)


def start_table(measurer: Measurer, dedupe: str, starts: int) -> str:
    """Return what `dedupe --version` and a scan of ten files take, so many times in turn."""
    few = measurer.file("few")
    os.makedirs(few, exist_ok=True)
    for number in range(FEW_FILES):
        with open(os.path.join(few, f"{number}.txt"), "w", encoding="ascii") as out:
            out.write(f"content {number // 2}")
    commands = {
        "dedupe --version": [dedupe, "--version"],
        "a scan of ten files": [dedupe, "scan", few, "--no-cache", "--no-progress"],
        "a scan of ten files, with cache": [dedupe, "scan", few, "--cache", measurer.file("few.db"), "--no-progress"],
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for counted in (False, *[True] * starts):
        for name, command in commands.items():
            seconds = measurer.run(command).wall_s
            if counted:
                taken[name].append(seconds * 1000)
    bare = statistics.median(taken["dedupe --version"])
    lines = [("run", "ms", "ms more", "ratio")]
    for name, times in taken.items():
        middle = statistics.median(times)
        lines.append((name, f"{middle:.0f}", f"{middle - bare:.0f}", f"{middle / bare:.2f}"))
    return markdown(lines, left=1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the profiles and return 0; raises RunError where dedupe fails."""
    options = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.phases", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_corpora_options(options, DEFAULT_CORPORA)
    options.add_argument("--rounds", type=int, default=3, help="counted rounds (3)")
    options.add_argument("--starts", type=int, default=15, help="counted starts on ten files (15)")
    options.add_argument("--jobs", default="1,2", help="numbers of jobs to compare (1,2)")
    chosen = options.parse_args(arguments)
    dedupe = find_program("dedupe")
    if dedupe is None:
        raise SystemExit("dedupe is not installed: `pip install .` puts it beside this Python.")
    corpora = kept_corpora(chosen.folder, chosen.corpora.split(","), [chosen.scale])
    jobs = [int(number) for number in chosen.jobs.split(",")]
    sys.stdout.write(facts({**describe(chosen.folder), "dedupe": version_of(dedupe), "page cache": "hot"}) + "\n")
    with tempfile.TemporaryDirectory(prefix="dedupe-phases-") as scratch:
        measurer = Measurer(scratch)
        sys.stdout.write(f"### start\n\n{start_table(measurer, dedupe, chosen.starts)}\n")
        for corpus in corpora:
            say(f"{corpus.name}: {chosen.rounds} rounds")
            profiles = profile(measurer, dedupe, corpus, jobs, chosen.rounds)
            sys.stdout.write(f"### {corpus.title(chosen.rounds)}\n\n{profile_table(profiles)}\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
