"""Turns measured rows into Markdown and into JSON.  It measures nothing and writes no file."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from tests.benchmarks.measure import Run
from tests.benchmarks.tools import Tool


@dataclass(slots=True)
class Row:
    """All counted runs of one tool on one corpus; a fault voids them."""

    tool: Tool
    version: str
    runs: list[Run] = field(default_factory=list)
    fault: str = ""

    @property
    def valid(self) -> bool:
        """Return whether there are figures that may be shown."""
        return bool(self.runs) and not self.fault

    @property
    def wall_s(self) -> float:
        """Return the median of the wall times."""
        return statistics.median(run.wall_s for run in self.runs)

    @property
    def cpu_s(self) -> float:
        """Return the median of the CPU times."""
        return statistics.median(run.cpu_s for run in self.runs)

    def peak(self) -> str:
        """Return the largest peak in MiB: of the whole tree where it was sampled, else of the largest process."""
        sampled = [run.pss_kib for run in self.runs if run.pss_kib is not None]
        if sampled:
            return f"{max(sampled) / 1024:.0f}"
        peak, floor = max((run.peak_kib, run.floor_kib) for run in self.runs)
        return f"< {floor / 1024:.0f}" if peak <= floor else f"{peak / 1024:.0f}"


@dataclass(frozen=True, slots=True)
class Section:
    """One corpus and what was measured on it."""

    title: str
    rows: Sequence[Row]

    def baselines(self) -> dict[str, float]:
        """Return dedupe's median wall time in each class."""
        return {row.tool.mode: row.wall_s for row in self.rows if row.tool.ours and row.valid}


def markdown(lines: Iterable[Sequence[str]], left: int) -> str:
    """Return a Markdown table: the first line is the heading, the first `left` columns are text, the rest figures."""
    heading, *body = lines
    rule = ["---" if column < left else "---:" for column in range(len(heading))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heading, rule, *body)) + "\n"


def timings(section: Section) -> str:
    """Return the corpus's table, class by class and fastest first; voided rows come last and carry no figure."""
    base = section.baselines()
    lines = [("tool", "version", "class", "groups", "wall s", "fastest", "CPU s", "peak MiB", "times dedupe")]
    for row in sorted(section.rows, key=lambda row: (row.tool.mode, row.wall_s if row.valid else float("inf"))):
        about = (row.tool.name, row.version, row.tool.mode)
        if not row.valid:
            lines.append((*about, row.fault or "not run", "-", "-", "-", "-", "-"))
            continue
        ratio = f"{row.wall_s / base[row.tool.mode]:.2f}" if row.tool.mode in base else "-"
        verdict = f"right, not proven: {row.tool.remark}" if row.tool.remark else "right"
        fastest = min(run.wall_s for run in row.runs)
        lines.append((*about, verdict, f"{row.wall_s:.3f}", f"{fastest:.3f}", f"{row.cpu_s:.3f}", row.peak(), ratio))
    return f"### {section.title}\n\n{markdown(lines, left=4)}"


def memory(section: Section) -> str:
    """Return the corpus's table of peaks, smallest first."""
    lines = [("tool", "version", "class", "groups", "peak MiB of all processes")]
    for row in sorted(section.rows, key=lambda row: max((run.pss_kib or 0 for run in row.runs), default=0)):
        about = (row.tool.name, row.version, row.tool.mode)
        lines.append((*about, "right", row.peak()) if row.valid else (*about, row.fault or "not run", "-"))
    return f"### {section.title}\n\n{markdown(lines, left=4)}"


def facts(about: Mapping[str, str]) -> str:
    """Return the line that says where and how it was measured."""
    return "; ".join(f"{name}: {value}" for name, value in about.items()) + ".\n"


def as_json(about: Mapping[str, str], sections: Sequence[Section]) -> dict[str, object]:
    """Return everything that was measured, each run, ready for `json.dump`."""
    return {
        "machine": dict(about),
        "corpora": [
            {
                "title": section.title,
                "rows": [
                    {
                        "tool": row.tool.name,
                        "version": row.version,
                        "class": row.tool.mode,
                        "command": f"{row.tool.program} {row.tool.arguments}",
                        "fault": row.fault,
                        "runs": [asdict(run) for run in row.runs],
                    }
                    for row in section.rows
                ],
            }
            for section in sections
        ],
    }
