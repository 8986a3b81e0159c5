"""Results for HTML reports, and a report that is open in a browser.  Starts no browser."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from dedupe.digests.base import BackendChoice
from dedupe.result import File, Group, GroupList, Problem, ProblemKind, ScanResult, Totals

REFERENCE = "JSON.parse(JSON.stringify(Array.from({ length: 100000 }, (_, i) => ({ path: `/some/folder/${i}` }))));"
REFERENCE_MS = 60  # on an ordinary machine that does nothing else
DATES = (1_500_000_000, 1_700_000_000, 1_600_000_000)


def group(number: int, *paths: bytes, size: int = 1000, links: tuple[bytes, ...] = ()) -> Group:
    """Make a group whose copies have the dates of `DATES` in turn: the second is the newest, the first the oldest."""
    files = [File(path, DATES[place % 3] * 10**9, 1, place, links=links) for place, path in enumerate(paths)]
    return Group(number, size, "sha256", hashlib.sha256(b"%d" % number).digest(), files)


def scan_of(*groups: Group, roots: tuple[bytes, ...] = (b"/data",), notes: tuple[str, ...] = ()) -> ScanResult:
    """Make a result that holds `groups`."""
    frees = sum(each.reclaimable_bytes for each in groups)
    redundant = sum(max(each.copies - 1, 0) for each in groups)
    totals = Totals(
        files=9, bytes=frees * 3, groups=len(groups), redundant_files=redundant, reclaimable_bytes=frees, problems=1
    )
    return ScanResult(
        version="0.1.0",
        started="2026-01-02T03:04:05Z",
        seconds=1.25,
        roots=roots,
        confirm="sha256",
        backend=BackendChoice("hashlib", "the only one"),
        totals=totals,
        groups=GroupList(groups),
        problems=[Problem(roots[0] + b"/x", ProblemKind.PERMISSION, "Permission denied")],
        notes=notes,
    )


def small() -> ScanResult:
    """Make a result of three groups in which each rule chooses another copy."""
    return scan_of(
        group(1, b"/data/a/long folder/film.mkv", b"/data/b/film.mkv", b"/data/c/x.mkv", size=3 * 2**30),
        group(2, b"/data/a/song.flac", b"/data/b/song.flac", size=2**20, links=(b"/data/a/other name.flac",)),
        group(3, b"/data/b/caf\xe9.txt", b"/data/b/sub/plain.txt", size=10),
    )


@dataclass
class Opened:
    """A page, and everything that it did which a report must not do."""

    page: Any
    path: Path
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def text(self, selector: str) -> str:
        """Return what a reader sees in an element."""
        return str(self.page.inner_text(selector))

    def until(self, selector: str, start: str) -> None:
        """Wait until the text of an element starts so (the page's policy forbids Playwright's own evaluated waits)."""
        self.page.locator(selector, has_text=re.compile("^" + re.escape(start))).wait_for()

    def status(self) -> str:
        """Return what the live region says of the filter."""
        return self.text("#count")

    def kept(self) -> list[str]:
        """Return the paths that stay in the group that is shown."""
        return list(self.page.locator(".copy:has(.keep:checked) .copy-name .path").all_inner_texts())

    def names(self) -> list[str]:
        """Return the names in the rows in sight, from the top."""
        script = "rows => rows.filter(r => !r.hidden).sort((a, b) => a.dataset.place - b.dataset.place)"
        return list(self.page.eval_on_selector_all(".row", script + ".map(r => r.querySelector('.file').textContent)"))

    def rule(self, rule: str, folder: str = "") -> None:
        """Apply a rule to the groups that are shown."""
        self.page.select_option("#rule", rule)
        if folder:
            self.page.fill("#rule-folder", folder)
        self.page.click("#apply")

    def save(self, path: Path) -> dict[str, Any]:
        """Save the marks and read them."""
        with self.page.expect_download() as waiting:
            self.page.click("#save")
        waiting.value.save_as(path)
        return dict(json.loads(path.read_text(encoding="utf-8")))

    def seconds(self, action: str, done: str) -> float:
        """Run `action` in the page until `done` is true and drawn; return the median of three runs.

        Both are JavaScript; `n` counts the runs, and `done` is asked at every frame.  The time is that of a machine
        which does `REFERENCE` in `REFERENCE_MS`: a slower or busier one is measured just before, and allowed for.
        """
        script = f"""async (n) => {{
          const frame = () => new Promise(requestAnimationFrame);
          await frame();
          const start = performance.now();
          {action};
          while (!({done})) {{
            if (performance.now() - start > 30000) throw new Error("never done");
            await frame();
          }}
          await frame();
          return performance.now() - start;
        }}"""
        reference = f"() => {{ const start = performance.now(); {REFERENCE} return performance.now() - start; }}"
        slowness = max(1.0, self.page.evaluate(reference) / REFERENCE_MS)
        return float(median(self.page.evaluate(script, n) for n in range(3))) / 1000 / slowness
