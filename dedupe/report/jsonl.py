"""The JSON lines report: a header, a line a group, the problems, the totals; each line a JSON object with a `type`.

For readers that take one line at a time.  The keys are those of the JSON report; `type` is `header`, `group`,
`problem`, `totals`, and where the style asks for folders `identical_folders` and `contained_folder`.
"""

from __future__ import annotations

from collections.abc import Iterator

from dedupe.folders import compare
from dedupe.report import jsontext
from dedupe.report.base import Style
from dedupe.result import ScanResult


def render(result: ScanResult, style: Style) -> Iterator[bytes]:
    """Yield line by line."""
    yield _line("header", f'{{"schema": "{jsontext.SCHEMA}", {jsontext.head(result)}}}')
    for chunk in result.groups.chunks():
        for group in jsontext.group_objects(chunk):
            yield _line("group", group)
    for problem in result.problems:
        yield _line("problem", jsontext.problem_object(problem))
    if style.folders:
        found = compare.compare_folders(result)
        for each in found.identical:
            yield _line("identical_folders", jsontext.identical_object(each))
        for held in found.contained:
            yield _line("contained_folder", jsontext.contained_object(held))
    yield _line("totals", jsontext.totals_object(result.totals))


def _line(kind: str, json_object: str) -> bytes:
    return f'{{"type": "{kind}", {json_object[1:]}\n'.encode()
