"""Print how the cost of a scan grows: the same shape at a quarter, at half and at full scale, time and memory.

    python -m tests.benchmarks.growth [--corpora million,onegroup] [--scale 1.0] [--rounds 3] [--only "dedupe sha256"]

The last columns say what each file beyond those of the line above costs; linear cost shows as equal figures there.
Times are medians without sampling; the peak of the whole process tree (proportional set size) comes from one more run.
Linux only.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

from tests.benchmarks.compare import Contest, Corpus, add_corpora_options, chosen_tools, kept_corpora
from tests.benchmarks.machine import describe
from tests.benchmarks.measure import Measurer
from tests.benchmarks.table import Row, facts, markdown
from tests.benchmarks.tools import Tool
from tests.corpora import files_and_bytes

SHARES = (0.25, 0.5, 1.0)
HEADING: tuple[str, ...] = (
    *("tool", "corpus", "files", "MB", "wall s", "CPU s", "peak MiB"),
    *("us a further file", "bytes a further file"),
)


@dataclass(frozen=True, slots=True)
class Point:
    """What one tool took for one corpus at one scale; with a fault the figures are 0."""

    tool: str
    corpus: str
    files: int
    size: int  # bytes of content
    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak: int = 0  # bytes
    fault: str = ""

    def cells(self, before: Point | None) -> tuple[str, ...]:
        """Return the line of the table; `before` is the same at a smaller scale."""
        about = (self.tool, self.corpus, f"{self.files:,}", f"{self.size / 1e6:,.1f}")
        if self.fault:
            return (*about, self.fault, *"----")
        figures = (f"{self.wall_s:.3f}", f"{self.cpu_s:.3f}", f"{self.peak / 2**20:.0f}")
        if before is None or before.fault:
            return (*about, *figures, *"--")
        more = self.files - before.files
        further_us, further_bytes = (self.wall_s - before.wall_s) / more * 1e6, (self.peak - before.peak) / more
        return (*about, *figures, f"{further_us:.2f}", f"{further_bytes:.0f}")


def point(corpus: Corpus, timed: Row, sampled: Row) -> Point:
    """Return what the timed runs and the sampled one of a tool amount to."""
    files, size = files_and_bytes(corpus.folder)
    if fault := timed.fault or sampled.fault:
        return Point(timed.tool.name, corpus.name, files, size, fault=fault)
    cpu = statistics.median(run.cpu_s for run in timed.runs)
    peak = max(run.pss_kib or 0 for run in sampled.runs) * 1024
    return Point(timed.tool.name, corpus.name, files, size, timed.wall_s, cpu, peak)


def grow(corpus: Corpus, tools: Sequence[tuple[Tool, str]], rounds: int) -> list[Point]:
    """Return a point a tool for one corpus."""
    with tempfile.TemporaryDirectory(prefix="dedupe-growth-") as scratch:
        timed = Contest(Measurer(scratch), rounds).hold(corpus, tools)
        sampled = Contest(Measurer(scratch, sample_memory=True), rounds=1).hold(corpus, tools)
    return [point(corpus, *pair) for pair in zip(timed, sampled, strict=True)]


def table(points: Sequence[Point]) -> str:
    """Return the points as Markdown, each below the one at the next smaller scale."""
    lines, before = [HEADING], None
    for each in sorted(points, key=lambda each: (each.tool, each.corpus, each.files)):
        same = before is not None and (before.tool, before.corpus) == (each.tool, each.corpus)
        lines.append(each.cells(before if same else None))
        before = each
    return markdown(lines, left=2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one table and return 0, or 1 where a tool failed or was wrong."""
    options = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.growth", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_corpora_options(options, "million,onegroup")
    options.add_argument("--rounds", type=int, default=3, help="counted rounds (3)")
    options.add_argument("--only", default="dedupe sha256", help="tools, as for compare (dedupe sha256)")
    chosen = options.parse_args(arguments)
    tools = chosen_tools(chosen.only)
    points: list[Point] = []
    for corpus in kept_corpora(chosen.folder, chosen.corpora.split(","), [chosen.scale * share for share in SHARES]):
        points += grow(corpus, tools, chosen.rounds)
    sys.stdout.write(f"{facts({**describe(chosen.folder), 'page cache': 'hot'})}\n{table(points)}")
    return int(any(each.fault for each in points))


if __name__ == "__main__":
    sys.exit(main())
