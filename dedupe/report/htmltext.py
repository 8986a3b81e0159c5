"""What an HTML report says without any script: totals, problems, folders.  It is all escaped here, and only here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

from dedupe.folders.compare import ContainedFolder, IdenticalFolders, compare_folders
from dedupe.report.text import left_out, skipped
from dedupe.report.units import binary_size, counted, percent
from dedupe.result import Problem, ScanResult, Totals
from dedupe.storage.display import shown, shown_text

MAX_LINES = 1_000  # problems, and folders, in plain HTML; what is left out is said in the page


def facts(result: ScanResult, *, folders: bool) -> dict[str, str]:
    """Return the texts of the page by the names of their places, as HTML; folders are compared only if asked for."""
    totals = result.totals
    share = totals.reclaimable_bytes / totals.bytes if totals.bytes else 0.0
    plain = {
        "reclaimable": binary_size(totals.reclaimable_bytes),
        "redundant": counted(totals.redundant_files, "redundant file"),
        "groups": counted(totals.groups, "group"),
        "share": percent(totals.reclaimable_bytes, totals.bytes or 1).replace(" ", "\N{NO-BREAK SPACE}"),
        "share_value": f"{share:.4f}",
        "bytes": binary_size(totals.bytes),
        "files": counted(totals.files, "file"),
        "read": binary_size(totals.bytes_read),
        "remembered": counted(totals.cache_hits, "file"),
        "seconds": f"{result.seconds:,.1f}",
        "started": result.started,
        "confirm": result.confirm,
        "backend": f"{result.backend.name} ({result.backend.reason})",
        "version": result.version,
    }
    return {
        **{name: escape(text) for name, text in plain.items()},
        "roots": _items(shown(root) for root in result.roots),
        "notes": _section("notes", "Notes", _items(map(shown_text, result.notes))),
        "skipped": _skipped(totals),
        "problems": _problems(result.problems),
        "folders": _folders(result) if folders else "",
    }


def _items(texts: Iterable[str]) -> str:
    return "".join(f"<li>{escape(text)}</li>" for text in texts)


def _section(name: str, title: str, items: str, *, opened: bool = True) -> str:
    if not items:
        return ""
    state = " open" if opened else ""
    return f'<details class="card {name}"{state}><summary>{title}</summary><ul>{items}</ul></details>'


def _skipped(totals: Totals) -> str:
    return _section(
        "skipped",
        f"Left out on purpose: {sum(totals.skipped.values()):,}",
        _items(skipped(totals.skipped)),
        opened=False,
    )


def _problems(problems: Sequence[Problem]) -> str:
    lines = (
        f"<li><b>{escape(each.kind)}</b> {_path(each.path)} <span>{escape(shown_text(each.message))}</span></li>"
        for each in problems
    )
    count = len(problems)
    return _section("problems", f"Could not take part: {count:,}", _first(lines, count), opened=count <= 5)


def _path(path: bytes) -> str:
    return f"<bdi>{escape(shown(path))}</bdi>"


def _first(lines: Iterable[str], count: int) -> str:
    """Join the first lines of `count`, and say so where there are more."""
    kept = "".join(islice(lines, MAX_LINES))
    if count <= MAX_LINES:
        return kept
    return f"{kept}<li>The first {MAX_LINES:,} of {count:,} are listed here; the JSON report has them all.</li>"


def _folders(result: ScanResult) -> str:
    if not result.folders:
        return _section("same", "Folders were not compared", "<li>This result does not say what else they hold.</li>")
    found = compare_folders(result)
    same = _section(
        "same",
        f"Identical folders: {counted(len(found.identical), 'set')}",
        _first(map(_identical, found.identical), len(found.identical)),
    )
    held = _section(
        "held",
        f"Folders that another holds: {len(found.contained):,}",
        _first(map(_held, found.contained), len(found.contained)),
    )
    return same + held


def _identical(same: IdenticalFolders) -> str:
    size = f"{counted(same.files, 'file')}, {binary_size(same.bytes)} in each{left_out(same.left_out)}"
    names = "".join(f"<li>{_path(folder)}</li>" for folder in same.folders)
    return f"<li><b>{binary_size(same.reclaimable_bytes)} reclaimable</b>: {size}<ul>{names}</ul></li>"


def _held(held: ContainedFolder) -> str:
    share = percent(held.held_files, held.files)
    links = f", {held.linked_files:,} of them as links" if held.linked_files else ""
    files = f"{held.held_files:,} of {counted(held.files, 'file')}, {binary_size(held.held_bytes)}{links}"
    return (
        f"<li>{_path(held.holder)} <b>holds {share} of</b> {_path(held.folder)}: {files}{left_out(held.left_out)}</li>"
    )
