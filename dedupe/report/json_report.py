"""The JSON report: one object, laid out with a line a group, so that it can be read, searched and compared.

Its keys are told in `jsontext.py`; `load.py` reads it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dedupe import folders, foldertree
from dedupe.report import jsontext
from dedupe.report.base import Style
from dedupe.result import ScanResult

_BATCH = 256  # objects a piece: tens of kilobytes, where the cost of a write no longer shows


def render(result: ScanResult, style: Style) -> Iterator[bytes]:
    """Yield the report; the bytes are UTF-8 without lone surrogates."""
    head, totals = jsontext.head(result), jsontext.totals_object(result.totals)
    yield f'{{"schema": "{jsontext.SCHEMA}", {head},\n"totals": {totals},\n"groups": ['.encode()
    places: set[bytes] = set()
    yield from _lines(_groups(result, places))
    yield b'],\n"problems": ['
    yield from _lines(map(jsontext.problem_object, result.problems))
    yield b'],\n"folders": ['
    yield from _lines(_folders(result, places))
    if style.folders:
        found = folders.compare_folders(result)
        yield b'],\n"identical_folders": ['
        yield from _lines(map(jsontext.identical_object, found.identical))
        yield b'],\n"contained_folders": ['
        yield from _lines(map(jsontext.contained_object, found.contained))
    yield b"]}\n"


def _groups(result: ScanResult, places: set[bytes]) -> Iterator[str]:
    """Yield the groups, and note the folders of all their names."""
    known = bool(result.folders)
    for group in result.groups:
        files = list(group.files)
        if known:  # the folders, up to the last slash, or backslash where there is none, as on Windows
            paths = [path for file in files for path in (file.path, *file.links)]
            places.update([path[: path.rfind(b"/") + 1 or path.rfind(b"\\") + 1] for path in paths])
        yield jsontext.group_object(group, files)


def _folders(result: ScanResult, places: set[bytes]) -> Iterator[str]:
    """Yield the counts of those folders that matter: the others hold no copy of anything."""
    if result.folders:
        for folder in sorted(foldertree.with_all_above(map(foldertree.plain, places), result.folders)):
            yield jsontext.folder_object(folder, result.folders[folder])


def _lines(objects: Iterable[str]) -> Iterator[bytes]:
    """Yield objects in batches, each on a line of its own, with the commas of a JSON array between."""
    batch: list[str] = []
    opening = "\n"
    for each in objects:
        batch.append(each)
        if len(batch) == _BATCH:
            yield (opening + ",\n".join(batch)).encode()
            batch, opening = [], ",\n"
    if batch:
        yield (opening + ",\n".join(batch)).encode()
