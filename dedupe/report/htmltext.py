"""What an HTML report says without any script: totals, problems, folders.  It is all escaped here, and only here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import islice

from dedupe.folders.compare import ContainedFolder, IdenticalFolders, compare_folders
from dedupe.report.text import left_out, skipped
from dedupe.report.units import binary_size, counted, percent
from dedupe.result import Problem, ScanResult, Totals
from dedupe.storage.display import shown, shown_text

MAX_LINES = 1_000  # problems, and folders, in plain HTML; what is left out is said in the page

PlaceOf = Callable[[bytes], int]  # by which the page's script knows a folder


def facts(result: ScanResult, place_of: PlaceOf | None) -> dict[str, str]:
    """Return the texts of the page by the names of their places, as HTML; no `place_of`: folders are not compared."""
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
        "folders": _folders(result, place_of) if place_of else "",
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


def _folders(result: ScanResult, place_of: PlaceOf) -> str:
    if not result.folders:
        return _section("same", "Folders were not compared", "<li>This result does not say what else they hold.</li>")
    found = compare_folders(result)
    same = _section(
        "same",
        f"Identical folders: {counted(len(found.identical), 'set')}",
        _first((_identical(each, place_of) for each in found.identical), len(found.identical)),
    )
    pairs = _pairs(found.contained)
    held = _section(
        "held",
        f"Folders that another holds: {len(found.contained):,}",
        _first((_pair(*each, place_of) for each in pairs), len(pairs)),
    )
    return same + held


def _pairs(contained: Iterable[ContainedFolder]) -> list[tuple[ContainedFolder, ContainedFolder | None]]:
    """Return each pair of folders once, in order, with the other direction where they hold each other."""
    by_names = {(each.folder, each.holder): each for each in contained}
    pairs: list[tuple[ContainedFolder, ContainedFolder | None]] = []
    while by_names:
        names = next(iter(by_names))
        pairs.append((by_names.pop(names), by_names.pop(names[::-1], None)))
    return pairs


def _folder(path: bytes, place_of: PlaceOf, told: ContainedFolder | IdenticalFolders | None = None) -> str:
    """Return a folder's path; `told` of one that may go as a whole says what the script needs to count what stays."""
    counts = f' data-files="{told.files}" data-left-out="{told.left_out}"' if told else ""
    return f'<bdi data-folder="{place_of(path)}"{counts}>{escape(shown(path))}</bdi>'


def _identical(same: IdenticalFolders, place_of: PlaceOf) -> str:
    size = f"{counted(same.files, 'file')}, {binary_size(same.bytes)} in each{left_out(same.left_out)}"
    names = "".join(f"<li>{_folder(folder, place_of, same)}</li>" for folder in same.folders)
    return f"<li><b>{binary_size(same.reclaimable_bytes)} reclaimable</b>: {size}<ul>{names}</ul></li>"


def _pair(held: ContainedFolder, back: ContainedFolder | None, place_of: PlaceOf) -> str:
    holder, folder = _folder(held.holder, place_of, back), _folder(held.folder, place_of, held)
    share = percent(held.held_files, held.files)
    if back is None:
        return f"<li>{holder} <b>holds {share} of</b> {folder}: {_held_files(held)}</li>"
    other = percent(back.held_files, back.files)
    return (
        f"<li>{holder} <b>and</b> {folder} <b>hold each other</b>: {other} of the first, {_held_files(back)}; "
        f"{share} of the second, {_held_files(held)}</li>"
    )


def _held_files(held: ContainedFolder) -> str:
    links = f", {held.linked_files:,} of them as links" if held.linked_files else ""
    files = f"{held.held_files:,} of {counted(held.files, 'file')}, {binary_size(held.held_bytes)}{links}"
    return files + left_out(held.left_out)
