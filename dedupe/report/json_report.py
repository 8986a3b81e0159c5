"""The JSON report: one object, laid out with a line a group, so that it can be read, searched and compared.

Its keys are told in `jsontext.py`; `read/json_reports.py` reads it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from dedupe.folders import compare, tree
from dedupe.report import jsontext
from dedupe.report.base import Style
from dedupe.result import ScanResult

_BATCH = 64  # objects a piece: tens of kilobytes, where the cost of a write no longer shows


def render(result: ScanResult, style: Style) -> Iterator[bytes]:
    """Yield the report; the bytes are UTF-8 without lone surrogates."""
    head, totals = jsontext.head(result), jsontext.totals_object(result.totals)
    yield f'{{"schema": "{jsontext.SCHEMA}", {head},\n"totals": {totals},\n"groups": ['.encode()
    groups = map(jsontext.group_objects, result.groups.chunks())
    yield from _lines(chain.from_iterable(groups))
    yield b'],\n"problems": ['
    yield from _lines(map(jsontext.problem_object, result.problems))
    yield b'],\n"folders": ['
    yield from _lines(_folders(result))
    if style.folders:
        found = compare.compare_folders(result)
        yield b'],\n"identical_folders": ['
        yield from _lines(map(jsontext.identical_object, found.identical))
        yield b'],\n"contained_folders": ['
        yield from _lines(map(jsontext.contained_object, found.contained))
    yield b"]}\n"


def _folders(result: ScanResult) -> Iterator[str]:
    """Yield the counts of those folders that matter: the others hold no copy of anything."""
    for folder in tree.above_copies(result.groups, result.folders):
        yield jsontext.folder_object(folder, result.folders[folder])


def _lines(objects: Iterable[str]) -> Iterator[bytes]:
    """Yield objects in batches, each on a line of its own, with the commas of a JSON array between."""
    left, opening = iter(objects), "\n"
    while batch := list(islice(left, _BATCH)):
        batch[0] = opening + batch[0]
        yield ",\n".join(batch).encode()
        opening = ",\n"
