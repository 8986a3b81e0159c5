"""Print the README's table: dedupe beside every other finder on PATH, on corpora whose duplicates are known.

    python -m tests.benchmarks.compare                        all five corpora, at full scale (20 GB on disk)
    python -m tests.benchmarks.compare --scale 0.01 --rounds 2   a try-out of a few minutes
    python -m tests.benchmarks.compare --cold --read-ahead 128 --corpora photos,big,near
    python -m tests.benchmarks.compare --memory --corpora million --only "dedupe sha256"
    python -m tests.benchmarks.compare --only "dedupe sha256,dedupe bytes,dedupe rerun" --against OLD/bin/dedupe

The corpora are made the first time and kept.  In every round each tool runs once, in turn, so that noise hits all
alike; the first round warms caches and is not counted.  The figures are medians: wall and CPU seconds of the whole
process tree, and the peak of the largest process (`--memory`: of the whole tree, as proportional set size sampled every
20 ms, and then no times, because sampling costs some).  Every answer of every round is compared with the truth: a tool
with one wrong answer has no figures.  Linux only; `--cold` and `--read-ahead` need root.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.benchmarks import quiet
from tests.benchmarks.machine import describe
from tests.benchmarks.measure import Measurer, RunError, drop_page_cache, read_ahead, read_ahead_control
from tests.benchmarks.table import Row, Section, as_json, facts, memory, timings
from tests.benchmarks.tools import TOOLS, Tool, find_program, other, version_of
from tests.corpora import SHAPES, Truth, differences, files_and_bytes, keep

DEFAULT_CORPORA = "small,photos,big,near,flat"
# dedupe believes no cached row of a file that changed less than 2 s before it was read
OLD_ENOUGH_S = 3.0


@dataclass(frozen=True, slots=True)
class Corpus:
    """A folder and its duplicate groups."""

    name: str
    folder: str
    truth: Truth

    def title(self, rounds: int) -> str:
        """Return the table's heading."""
        files, size = files_and_bytes(self.folder)
        return f"{self.name}: {files:,} files, {size / 1e9:.2f} GB, {len(self.truth):,} groups, {rounds} rounds"


@dataclass(frozen=True, slots=True)
class Contest:
    """Runs tools in turn on one corpus and checks what they say."""

    measurer: Measurer
    rounds: int
    cold: bool = False

    def hold(self, corpus: Corpus, tools: Sequence[tuple[Tool, str]]) -> list[Row]:
        """Return a row a tool, given as the tool and its path; one that failed takes no part in later rounds."""
        versions = {path: version_of(path) for _, path in tools}
        rows = {tool: Row(tool, versions[path]) for tool, path in tools}
        for number in range(self.rounds + 1):
            for tool, path in tools:
                if not rows[tool].fault:
                    say(f"{corpus.name}, round {number} of {self.rounds}: {tool.name}")
                    self._turn(rows[tool], path, corpus, counted=number > 0)
        return list(rows.values())

    def _turn(self, row: Row, path: str, corpus: Corpus, *, counted: bool) -> None:
        """Run one tool once, and note its figures or its fault."""
        scratch = self.measurer.scratch
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.measurer.file(row.tool.answer))
        if self.cold:
            drop_page_cache()
        try:
            run = self.measurer.run(row.tool.command(path, corpus.folder, scratch))
            missing, wrong = differences(row.tool.groups(corpus.folder, scratch), corpus.truth)
        except (RunError, OSError, ValueError, LookupError, TypeError) as error:
            row.fault = f"failed: {error}"
            return
        if missing or wrong:
            row.fault = f"wrong: {missing} groups missing, {wrong} not in the truth"
        elif counted:
            row.runs.append(run)


def say(line: str) -> None:
    """Tell the person who waits."""
    sys.stderr.write(f"{line}\n")


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    options = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.compare", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_corpora_options(options, DEFAULT_CORPORA)
    options.add_argument("--rounds", type=int, default=5, help="counted rounds (5)")
    options.add_argument("--only", metavar="TOOLS", help=f"names, with commas: {', '.join(t.name for t in TOOLS)}")
    options.add_argument("--against", metavar="DEDUPE", help="another installed dedupe, such as an older one, in turn")
    options.add_argument("--cold", action="store_true", help="drop the page cache before every run (root)")
    options.add_argument("--read-ahead", type=int, metavar="KIB", help="set the disk's read-ahead meanwhile (root)")
    options.add_argument("--memory", action="store_true", help="peak memory of the whole process tree, no times")
    options.add_argument("--timeout", type=float, default=900.0, metavar="SECONDS", help="stop a run then (900)")
    options.add_argument("--busy", action="store_true", help="print tables though other programs take CPU time")
    options.add_argument("--json", metavar="FILE", help="write every single run there as well")
    return options


def add_corpora_options(options: argparse.ArgumentParser, corpora: str) -> None:
    """Add the options that choose the corpora, the same for all benchmarks."""
    kept = os.path.join(tempfile.gettempdir(), "dedupe-corpora")
    options.add_argument("--folder", default=kept, help=f"where the corpora are kept ({kept})")
    options.add_argument("--corpora", default=corpora, help=f"names, with commas: {', '.join(SHAPES)} ({corpora})")
    options.add_argument("--scale", type=float, default=1.0, help="share of the full number or size of files (1)")


def kept_corpora(folder: str, names: Sequence[str], scales: Sequence[float]) -> list[Corpus]:
    """Return each corpus at each scale, made where it is missing, and old enough for caches to believe in it."""
    if unknown := set(names).difference(SHAPES):
        raise SystemExit(f"There is no corpus {', '.join(sorted(unknown))}: choose from {', '.join(SHAPES)}.")
    corpora = []
    for name, scale in itertools.product(names, scales):
        say(f"{name} at scale {scale:g}: looking for it in {folder}, or making it")
        corpora.append(Corpus(name, *keep(folder, name, scale)))
    youngest = max(os.stat(corpus.folder).st_ctime for corpus in corpora)
    time.sleep(max(0.0, youngest + OLD_ENOUGH_S - time.time()))
    return corpora


def chosen_tools(only: str | None, tools: Sequence[Tool] = TOOLS) -> list[tuple[Tool, str]]:
    """Return the wanted tools that are installed, each with its path; absent ones are named on standard error."""
    wanted = [name.strip() for name in only.split(",")] if only else [tool.name for tool in tools]
    if unknown := set(wanted).difference(tool.name for tool in tools):
        raise SystemExit(f"There is no tool {', '.join(sorted(unknown))}: see --help for the names.")
    found = [(tool, find_program(tool.program)) for tool in tools if tool.name in wanted]
    if absent := sorted({tool.program for tool, path in found if path is None}):
        say(f"not installed, so left out: {', '.join(absent)}")
    return [(tool, path) for tool, path in found if path is not None]


def others(*, anyway: bool) -> dict[str, str]:
    """Return what to say of other programs that are busy, nothing where none is.

    Raises:
        SystemExit: one is, and no table is wanted then.
    """
    found = quiet.complaint()
    if found and not anyway:
        raise SystemExit(f"No table: {found}. Wait until it has ended, or print one all the same with --busy.")
    return {"others busy": found} if found else {}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison and return the exit code: 1 where dedupe itself failed or was wrong."""
    options = parser().parse_args(arguments)
    tools = chosen_tools(options.only)
    if options.against:
        tools += [(other(tool), options.against) for tool, _ in tools if tool.ours]
    corpora = kept_corpora(options.folder, options.corpora.split(","), [options.scale])
    sections = []
    with (
        read_ahead(read_ahead_control(options.folder), options.read_ahead) as kib,
        tempfile.TemporaryDirectory(prefix="dedupe-compare-") as scratch,
    ):
        cache = "cold, dropped before every run" if options.cold else "hot"
        about = {**describe(options.folder), "read-ahead": f"{kib} KiB" if kib else "unknown", "page cache": cache}
        about |= {"cores had": f"{quiet.cores_had():.2f}"} | others(anyway=options.busy)
        sys.stdout.write(f"{facts(about)}\n")
        for corpus in corpora:
            others(anyway=options.busy)
            with tempfile.TemporaryDirectory(dir=scratch) as own:
                measurer = Measurer(own, options.timeout, sample_memory=options.memory)
                rows = Contest(measurer, options.rounds, options.cold).hold(corpus, tools)
            sections.append(Section(corpus.title(options.rounds), rows))
            sys.stdout.write((memory if options.memory else timings)(sections[-1]) + "\n")
            sys.stdout.flush()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(as_json(about, sections), out, indent=1)
    return int(any(row.tool.ours and row.fault for section in sections for row in section.rows))


if __name__ == "__main__":
    sys.exit(main())
