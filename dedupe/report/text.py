"""The text report, for a terminal.  Every name is made safe to show; colours only where the style asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from dedupe.report.base import Style
from dedupe.report.units import binary_size, counted, percent
from dedupe.result import Group, NameKind, Problem, Proof, ScanResult, SkipReason
from dedupe.storage import display

if TYPE_CHECKING:
    from dedupe.report.redundant import Keepers

_FIRST_PROBLEMS = 5
BOLD, DIM, YELLOW, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[0m"

_REASONS = {
    SkipReason.EMPTY: ("empty file", "empty files"),
    SkipReason.TOO_SMALL: ("file too small", "files too small"),
    SkipReason.TOO_LARGE: ("file too large", "files too large"),
    SkipReason.SYMLINK: ("symbolic link", "symbolic links"),
    SkipReason.SPECIAL: ("special file", "special files"),
    SkipReason.EXCLUDED: ("entry excluded", "entries excluded"),
    SkipReason.NOT_INCLUDED: ("file not included", "files not included"),
    SkipReason.DEFAULT_EXCLUDE: ("entry excluded by default", "entries excluded by default"),
    SkipReason.PSEUDO_FILE_SYSTEM: ("pseudo file system", "pseudo file systems"),
    SkipReason.OTHER_FILE_SYSTEM: ("other file system", "other file systems"),
    SkipReason.CLOUD: ("file that reading would download", "files that reading would download"),
    SkipReason.OWN_OUTPUT: ("file of our own", "files of our own"),
    SkipReason.ACCEPTED: ("accepted duplicate", "accepted duplicates"),
}

_KINDS = {
    NameKind.HARD_LINK: "hard link",
    NameKind.SYMBOLIC_LINK: "symbolic link",
    NameKind.MOUNTED: "same folder mounted twice",
}


def render(result: ScanResult, style: Style) -> Iterator[bytes]:
    """Yield the groups, most reclaimable first, then the totals; each piece is whole lines."""
    keepers = None
    if style.redundant:
        from dedupe.report.redundant import keepers_of  # most reports name all files of each group

        keepers = keepers_of(result, style)
    for group in result.groups:
        yield as_lines(_group(group, result.roots, style) if keepers is None else _redundant(group, keepers, style))
    if keepers:
        yield as_lines(_left(keepers))
    if style.folders:
        yield as_lines(_folders(result, style))
    yield as_lines(summary(result, style))


def as_lines(lines: Iterable[str]) -> bytes:
    """Return lines as one piece of a report."""
    return "".join([line + "\n" for line in lines]).encode("utf-8", "backslashreplace")


def painted(words: str, colour: str, style: Style) -> str:
    """Return words in a colour where the style asks for colours."""
    return f"{colour}{words}{_PLAIN}" if style.colour else words


def _title(group: Group, style: Style) -> str:
    files = group.files
    if group.size == 0:
        title = f"Group {group.id}: {counted(len(files), 'empty file')}, equal only in holding nothing"
    else:
        sizes = f"{binary_size(group.size)}, {binary_size(group.reclaimable_bytes)} reclaimable"
        title = f"Group {group.id}: {counted(len(files), 'file')} of {sizes}"
    return painted(title, BOLD, style)


def _redundant(group: Group, keepers: Keepers, style: Style) -> Iterator[str]:
    """Yield what need not be kept of a group, and what is kept for it; nothing where all stays."""
    found = keepers.redundant(group)
    if found is None or not found.files:
        return
    yield _title(group, style)
    for keeper in found.keepers:
        yield painted(f"  kept: {display.shown(keeper.path)}", DIM, style)
    for name, *links in found.files:
        yield f"  {display.shown(name)}"
        for link in links:
            yield f"    = {display.shown(link)} ({_KINDS[NameKind.HARD_LINK]})"
    yield ""


def _left(keepers: Keepers) -> Iterator[str]:
    """Yield what may go in all, and how many groups nothing may go of, against the rule."""
    yield f"Need not be kept: {counted(keepers.files, 'file')}, {binary_size(keepers.bytes)}."
    if keepers.whole:
        yield f"{counted(keepers.whole, 'group')} left whole: what would be kept lies in a trash or snapshot."


def _group(group: Group, roots: Sequence[bytes], style: Style) -> Iterator[str]:
    yield _title(group, style)
    seen: set[int | None] = set()
    for file in group.files:
        within = style.across and file.root is not None and file.root in seen
        seen.add(file.root)
        mark = f" (within {display.shown(roots[file.root])})" if within and file.root is not None else ""
        away = " (offline)" if file.proof is Proof.OFFLINE else ""
        yield f"  {display.shown(file.path)}{painted(mark + away, DIM, style)}"
        for kind, names in zip(NameKind, (file.links, file.symlinks, file.mounted), strict=True):
            for name in names:
                yield painted(f"    = {display.shown(name)} ({_KINDS[kind]})", DIM, style)
    yield ""


def _folders(result: ScanResult, style: Style) -> Iterator[str]:
    if not result.folders:
        yield from ("Folders were not compared: this result does not say what else they hold.", "")
        return
    from dedupe.folders.compare import compare_folders  # few reports are of folders

    found = compare_folders(result)
    yield painted(f"Identical folders: {counted(len(found.identical), 'set')}", BOLD, style)
    for same in found.identical:
        size = f"{counted(same.files, 'file')}, {binary_size(same.bytes)} in each"
        yield f"  {size}, {binary_size(same.reclaimable_bytes)} reclaimable{left_out(same.left_out)}"
        for folder in same.folders:
            yield f"    {display.shown(folder)}"
    yield ""
    yield painted(f"Folders that another holds: {len(found.contained):,}", BOLD, style)
    for held in found.contained:
        share = percent(held.held_files, held.files)
        files = f"{held.held_files:,} of {counted(held.files, 'file')}, {binary_size(held.held_bytes)}"
        links = f", {held.linked_files:,} of them as links" if held.linked_files else ""
        yield f"  {display.shown(held.holder)} holds {share} of {display.shown(held.folder)}:"
        yield f"    {files}{links}{left_out(held.left_out)}"
    yield ""


def left_out(entries: int) -> str:
    """Return what a comparison of folders could not know, to be said after its result; "" for nothing."""
    return f" ({counted(entries, 'entry', 'entries')} not compared)" if entries else ""


def summary(result: ScanResult, style: Style) -> Iterator[str]:
    """Yield the sums, what was skipped by reason, and what could not be read."""
    totals = result.totals
    if totals.groups:
        groups, files = counted(totals.groups, "group"), counted(totals.redundant_files, "redundant file")
        yield painted(f"{groups}, {files}, {binary_size(totals.reclaimable_bytes)} reclaimable", BOLD, style)
    else:
        yield "No duplicates."
    yield f"Looked at {counted(totals.files, 'file')}, {binary_size(totals.bytes)}."
    if totals.skipped:
        yield f"Skipped: {', '.join(skipped(totals.skipped))}."
    yield from problem_lines(result.problems, totals.problems, style)


def proofs(result: ScanResult) -> str:
    """Return a sentence that says how many groups were read in this run and how many stand by memory."""
    found = result.groups.proofs()
    told = (
        (found[Proof.COMPARED] + found[Proof.HASHED], "read now"),
        (found[Proof.REMEMBERED], "by remembered digests"),
        (found[Proof.OFFLINE], "by a catalog's digests"),
        (found[None], "not known"),
    )
    parts = [f"{counted(count, 'group')} {words}" for count, words in told if count]
    return f"Proof: {', '.join(parts) or 'no group needed one'}."


def skipped(counts: Mapping[SkipReason, int]) -> list[str]:
    """Return what was left out on purpose, a phrase for each reason: `3 symbolic links`."""
    return [counted(count, *_REASONS[reason]) for reason, count in sorted(counts.items()) if count]


def problem_lines(problems: Sequence[Problem], count: int, style: Style) -> Iterator[str]:
    """Yield what could not be read: the first few, or all where the style asks for them."""
    if not count:
        return
    yield painted(f"Could not be read, or changed meanwhile: {counted(count, 'entry', 'entries')}", YELLOW, style)
    listed = 0
    for problem in islice(problems, None if style.all_problems else _FIRST_PROBLEMS):
        yield f"  {display.shown(problem.path)}: {problem.kind}, {display.shown_text(problem.message)}"
        listed += 1
    if listed < count:
        yield f"  and {count - listed:,} more"
