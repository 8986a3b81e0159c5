"""The missing files as text for a terminal: names made safe to show, then the sums and what they rest on."""

from __future__ import annotations

from collections.abc import Iterator

from dedupe.query.answer import MissingFile, MissingReason, MissingResult
from dedupe.report.base import Style
from dedupe.report.text import BOLD, DIM, as_lines, painted, problem_lines, skipped
from dedupe.report.units import binary_size, counted
from dedupe.storage import display


def render(result: MissingResult, style: Style) -> Iterator[bytes]:
    """Yield the missing files by root and path, then the sums; each piece is whole lines."""
    if result.missing:
        files, size = counted(result.totals.missing_files, "file"), binary_size(result.totals.missing_bytes)
        yield as_lines([painted(f"Missing: {files}, {size}", BOLD, style)])
        for file in result.missing:
            yield as_lines(_file(file, style))
        yield b"\n"
    yield as_lines(summary(result, style))


def _file(file: MissingFile, style: Style) -> Iterator[str]:
    why = " (the archive has only this very file, by another way)" if file.reason is MissingReason.SAME_FILE else ""
    yield f"  {display.shown(file.path)}{painted(why, DIM, style)}"
    for name in file.links:
        yield painted(f"    = {display.shown(name)} (hard link)", DIM, style)


def summary(result: MissingResult, style: Style) -> Iterator[str]:
    """Yield the answer in words, the sums, what was left out on each side, and what could not be read."""
    totals = result.totals
    yield painted(_answer(result), BOLD, style)
    looked, size = counted(totals.files, "file"), binary_size(totals.bytes)
    archive = f"{counted(totals.archive_files, 'file')}, {binary_size(totals.archive_bytes)}"
    yield f"Looked for {looked}, {size}, among {archive}."
    if totals.held_files:
        links = f", {totals.linked_files:,} of them as further hard links" if totals.linked_files else ""
        yield f"Held: {counted(totals.held_files, 'file')}, {binary_size(totals.held_bytes)}{links}."
    if totals.remembered_files:
        yield f"By remembered digests: {counted(totals.remembered_files, 'file')}; --no-cache reads them."
    if totals.offline_files:
        yield f"Only in catalogs of disks that are away: {counted(totals.offline_files, 'file')}."
    if totals.probable_files:
        yield f"Probably held, by a catalog without digests: {counted(totals.probable_files, 'file')}."
    if totals.empty_files:
        yield f"Not looked for: {counted(totals.empty_files, 'empty file')}."
    if result.card_skipped:
        yield f"Not looked for either: {', '.join(skipped(result.card_skipped))}."
    if result.archive_skipped:
        yield f"Left out of the archive: {', '.join(skipped(result.archive_skipped))}."
    yield from problem_lines(result.problems, totals.problems, style)


def _answer(result: MissingResult) -> str:
    totals = result.totals
    unknown = f"; of {counted(totals.unknown_files, 'file')} nothing is known" if totals.unknown_files else ""
    if totals.missing_files:
        return f"{counted(totals.missing_files, 'file')} missing, {binary_size(totals.missing_bytes)}{unknown}"
    if not totals.files:
        return "No file holds anything to look for, so nothing was found missing"
    if totals.catalogued_files and not (result.problems or totals.probable_files):
        return "Nothing was found missing of what the catalog tells, which may not be all that the disk holds"
    if not result.is_certain:
        what = "proven" if totals.probable_files and not result.problems else "read"
        return f"Nothing was found missing, but not everything could be {what}{unknown}"
    if result.left_out:
        left_out = counted(result.left_out, "entry", "entries")
        return f"Nothing of what was looked for is missing, but of {left_out} left out nothing is known"
    return "Nothing is missing"
