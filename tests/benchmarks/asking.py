"""Print what a question about two sides costs: dedupe beside other programs that answer it, on sides that are known.

    python -m tests.benchmarks.asking                         photos and small files, at full scale
    python -m tests.benchmarks.asking --scale 0.01 --rounds 2    a try-out of a minute
    python -m tests.benchmarks.asking --corpora flat --scale 3   two sides of 300,000 files each

Three questions: what of the card does the archive lack (`missing`), which contents are on both sides (`across`), and,
as the measure of both, which files are equal at all (`scan`).  The archive is made as the card is, lacks every tenth
of its contents, and has some of its own.  Names are the same on both sides, or those who compare by path could not
take part.  As in `compare`, all run in turn, the first round is not counted, and one wrong answer costs all figures.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tests.benchmarks.compare import OLD_ENOUGH_S, Contest, Corpus, add_corpora_options, chosen_tools, say
from tests.benchmarks.machine import describe
from tests.benchmarks.measure import Measurer
from tests.benchmarks.table import Row, Section, facts, timings
from tests.benchmarks.tools import Groups, Tool, dedupe_json, fclones_json
from tests.corpora import SHAPES, Truth, build, files_and_bytes

DEFAULT_CORPORA = "small,photos"
EXIT_CODES = (0, 1, 4)  # of programs that found differences: what they answered is looked at anyway
LACKS = 10  # of so many contents of the card, the archive lacks one
OWN = 20  # of so many contents of the card, one more file is in the archive alone


@dataclass(frozen=True, slots=True)
class Script(Tool):
    """A program that needs two runs for an answer: its arguments are a script for `sh`, with $0, $1 and $2.

    They are its path, the corpus, and a folder for caches and answers.
    """

    def command(self, path: str, corpus: str, scratch: str) -> list[str]:
        """Return the arguments of one run."""
        return ["/bin/sh", "-c", self.arguments, path, corpus, scratch]


def missing_json(text: str) -> Groups:
    """Read dedupe's answer, one group a name."""
    return [[name] for file in json.loads(text)["missing"] for name in (file["path"], *file["links"])]


def on_the_card(read: Callable[[str], Groups]) -> Callable[[str], Groups]:
    """Return a reader of an answer that tells of both sides, which leaves the archive's files out."""
    return lambda text: [[path] for group in read(text) for path in group if "/card/" in path]


def absolute_lines(text: str) -> Groups:
    """Read one path a line."""
    return [[line] for line in text.splitlines() if line]


def card_lines(text: str) -> Groups:
    """Read one path below the card a line."""
    return [[f"card/{line}"] for line in text.splitlines() if line]


MISSING = "missing {corpus}/card --from {corpus}/archive --format json --no-progress --quiet"
CATALOG = (
    'test -e "$2/archive.catalog" || '
    '"$0" catalog create "$1/archive" --output "$2/archive.catalog" --no-cache --quiet --no-progress; '
    'exec "$0" missing "$1/card" --from "$2/archive.catalog" --format json --no-progress --quiet --no-cache'
)
HASHDEEP = '"$0" -c sha256 -r "$1/archive" >"$2/known"; exec "$0" -c sha256 -r -x -k "$2/known" "$1/card"'
BOTH = "{corpus}/card {corpus}/archive"
SCAN = f"scan {BOTH} --format json --no-progress --no-cache"
FCLONES = f"group --isolate {BOTH} --hidden -f json"
RCLONE = "check {corpus}/card {corpus}/archive --one-way --missing-on-dst {scratch}/rclone.txt"

TOOLS = (
    Tool("dedupe missing", "missing", "dedupe", f"{MISSING} --no-cache", missing_json),
    Tool("dedupe missing rerun", "missing rerun", "dedupe", f"{MISSING} --cache {{scratch}}/dedupe.db", missing_json),
    Script("dedupe missing catalog", "missing catalog", "dedupe", CATALOG, missing_json),
    Tool("fclones unique", "missing", "fclones", f"{FCLONES} --unique", on_the_card(fclones_json)),
    Script("hashdeep -x", "missing", "hashdeep", HASHDEEP, absolute_lines),
    Tool("rclone check", "missing", "rclone", RCLONE, card_lines, "rclone.txt", remark="by path and MD5"),
    Tool("dedupe across", "across", "dedupe", f"{SCAN} --across", dedupe_json),
    Tool("fclones isolate", "across", "fclones", FCLONES, fclones_json),
    Tool("dedupe scan", "scan", "dedupe", SCAN, dedupe_json),
    Tool("fclones", "scan", "fclones", f"group {BOTH} --hidden -f json", fclones_json),
)


@dataclass(frozen=True, slots=True)
class Sides:
    """A card and an archive in one folder, and the true answers to each question."""

    name: str
    folder: str
    truths: dict[str, Truth]

    def asked(self, question: str) -> Corpus:
        """Return them with the answer to one question."""
        return Corpus(f"{self.name}, {question}", self.folder, self.truths[question])


def make_sides(folder: str, name: str, scale: float) -> Sides:
    """Make both sides in a new folder, without empty files: some programs hold them for data, others do not.

    A file of the archive's own is longer than every other by one byte, so that it equals none of them.
    """
    card, archive = os.path.join(folder, "card"), os.path.join(folder, "archive")
    groups = build(card, name, scale)
    build(archive, name, scale)
    for side in (card, archive):
        for path in files_below(side):
            if not os.path.getsize(os.path.join(side, path)):
                os.unlink(os.path.join(side, path))
    contents = [list(group) for group in groups]
    grouped = {path for group in groups for path in group}
    contents += [[path] for path in files_below(card) if path not in grouped]
    lacking, shared = contents[::LACKS], [c for n, c in enumerate(contents) if n % LACKS]
    longest = max(os.path.getsize(os.path.join(card, path)) for path in files_below(card))
    for path in (path for content in lacking for path in content):
        os.unlink(os.path.join(archive, path))
    for n, content in enumerate(contents[::OWN]):
        own = shutil.copyfile(os.path.join(card, content[0]), os.path.join(archive, f"own{n}"))
        with open(own, "ab") as file:
            file.truncate(longest + 1 + n)
    across = [sorted(f"{side}/{path}" for path in content for side in ("card", "archive")) for content in shared]
    within = [sorted(f"card/{path}" for path in content) for content in lacking if len(content) > 1]
    missing = [[f"card/{path}"] for content in lacking for path in content]
    return Sides(name, folder, {"missing": missing, "across": across, "scan": across + within})


def files_below(folder: str) -> list[str]:
    """Return the paths of all files below a folder, relative to it."""
    found = (os.path.join(above, name) for above, _, names in os.walk(folder) for name in names)
    return sorted(os.path.relpath(path, folder) for path in found)


def question_of(tool: Tool) -> str:
    """Return which question a tool answers."""
    return tool.mode.split()[0]


def ask(sides: Sides, tools: Sequence[tuple[Tool, str]], measurer: Measurer, rounds: int) -> list[Section]:
    """Have all tools answer the questions on one pair of sides, in turn, and return a section a question."""
    files, size = files_and_bytes(sides.folder)
    sections = []
    for question in sides.truths:
        asked = [(tool, path) for tool, path in tools if question_of(tool) == question]
        if asked:
            corpus = sides.asked(question)
            rows: list[Row] = Contest(measurer, rounds).hold(corpus, asked)
            title = f"{corpus.name}: {files:,} files, {size / 1e9:.2f} GB, {rounds} rounds"
            sections.append(Section(title, rows))
    return sections


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison and return the exit code: 1 where dedupe itself failed or was wrong."""
    options = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.asking", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_corpora_options(options, DEFAULT_CORPORA)
    options.add_argument("--rounds", type=int, default=5, help="counted rounds (5)")
    options.add_argument("--only", metavar="TOOLS", help=f"names, with commas: {', '.join(t.name for t in TOOLS)}")
    options.add_argument("--timeout", type=float, default=900.0, metavar="SECONDS", help="stop a run then (900)")
    chosen = options.parse_args(arguments)
    if unknown := set(chosen.corpora.split(",")).difference(SHAPES):
        raise SystemExit(f"There is no corpus {', '.join(sorted(unknown))}: choose from {', '.join(SHAPES)}.")
    tools = chosen_tools(chosen.only, TOOLS)
    os.makedirs(chosen.folder, exist_ok=True)
    failed = False
    for name in chosen.corpora.split(","):
        with tempfile.TemporaryDirectory(prefix="dedupe-asking-", dir=chosen.folder) as folder:
            say(f"{name} at scale {chosen.scale:g}: making both sides in {folder}")
            sides = make_sides(os.path.join(folder, "sides"), name, chosen.scale)
            time.sleep(OLD_ENOUGH_S)
            sys.stdout.write(f"{facts(describe(folder))}\n")
            scratch = os.path.join(folder, "scratch")
            os.mkdir(scratch)
            measurer = replace(Measurer(scratch, chosen.timeout), accepted=EXIT_CODES)
            for section in ask(sides, tools, measurer, chosen.rounds):
                sys.stdout.write(timings(section) + "\n")
                failed |= any(row.tool.ours and row.fault for row in section.rows)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
