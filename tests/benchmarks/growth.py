"""Print how the cost of a scan grows: the same shape at a quarter, at half and at full scale, time and memory.

    python -m tests.benchmarks.growth [--corpora million,onegroup] [--scale 1.0] [--rounds 3] [--only "dedupe sha256"]

Linear cost shows as equal figures in the columns `us a file` and `bytes a file`.  Times are medians without sampling;
the peak of the whole process tree (proportional set size) comes from one more run.  Linux only.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence

from tests.benchmarks.compare import Contest, Corpus, add_corpora_options, chosen_tools, kept_corpora
from tests.benchmarks.machine import describe
from tests.benchmarks.measure import Measurer
from tests.benchmarks.table import Row, facts, markdown
from tests.benchmarks.tools import Tool
from tests.corpora import files_and_bytes

SHARES = (0.25, 0.5, 1.0)


def line(corpus: Corpus, timed: Row, sampled: Row) -> tuple[str, ...]:
    """Return the cells of one scale: what it holds, what it took, and what that is a file."""
    files, size = files_and_bytes(corpus.folder)
    about = (timed.tool.name, corpus.name, f"{files:,}", f"{size / 1e6:,.1f}")
    fault = timed.fault or sampled.fault
    if fault:
        return (*about, fault, "-", "-", "-", "-")
    peak_kib = max(run.pss_kib or 0 for run in sampled.runs)
    wall, cpu = timed.wall_s, statistics.median(run.cpu_s for run in timed.runs)
    figures = (
        f"{wall:.3f}",
        f"{cpu:.3f}",
        f"{wall / files * 1e6:.2f}",
        sampled.peak(),
        f"{peak_kib * 1024 / files:.0f}",
    )
    return (*about, *figures)


def grow(corpus: Corpus, tools: Sequence[tuple[Tool, str]], rounds: int) -> list[tuple[str, ...]]:
    """Return a line a tool for one corpus."""
    with tempfile.TemporaryDirectory(prefix="dedupe-growth-") as scratch:
        timed = Contest(Measurer(scratch), rounds).hold(corpus, tools)
        sampled = Contest(Measurer(scratch, sample_memory=True), rounds=1).hold(corpus, tools)
    return [line(corpus, *pair) for pair in zip(timed, sampled, strict=True)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one table and return 0, or 1 where an answer was wrong."""
    options = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.growth", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_corpora_options(options, "million,onegroup")
    options.add_argument("--rounds", type=int, default=3, help="counted rounds (3)")
    options.add_argument("--only", default="dedupe sha256", help="tools, as for compare (dedupe sha256)")
    chosen = options.parse_args(arguments)
    tools = chosen_tools(chosen.only)
    lines: list[tuple[str, ...]] = []
    for corpus in kept_corpora(chosen.folder, chosen.corpora.split(","), [chosen.scale * share for share in SHARES]):
        lines += grow(corpus, tools, chosen.rounds)
    heading = ("tool", "corpus", "files", "MB", "wall s", "CPU s", "us a file", "peak MiB", "bytes a file")
    sys.stdout.write(facts({**describe(chosen.folder), "page cache": "hot"}) + "\n")
    sys.stdout.write(markdown([heading, *sorted(lines, key=lambda cells: cells[:2])], left=2))
    return int(any("wrong" in cells[4] or "failed" in cells[4] for cells in lines))


if __name__ == "__main__":
    sys.exit(main())
