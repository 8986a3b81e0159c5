"""The missing files as one JSON object, schema `dedupe-missing/1`, laid out with a line a file.

`path_base64` stands beside a path that is not valid Unicode, as in the reports of a scan.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict

from dedupe.query.answer import MissingFile, MissingResult
from dedupe.report import jsontext
from dedupe.report.base import Style
from dedupe.result import SkipReason

SCHEMA = "dedupe-missing/1"


def render(result: MissingResult, style: Style) -> Iterator[bytes]:  # noqa: ARG001 - a format takes both
    """Yield the object; the bytes are UTF-8 without lone surrogates."""
    yield f'{{"schema": "{SCHEMA}", {_head(result)},\n"missing": ['.encode()
    yield from _lines(map(_file, result.missing))
    yield b'],\n"problems": ['
    yield from _lines(map(jsontext.problem_object, result.problems))
    yield b"]}\n"


def _head(result: MissingResult) -> str:
    run = json.dumps({"version": result.version, "started": result.started, "seconds": result.seconds})[1:-1]
    backend = json.dumps({"name": result.backend.name, "reason": result.backend.reason})
    left_out = {"card": _counts(result.card_skipped), "from": _counts(result.archive_skipped)}
    parts = (
        run,
        jsontext.paths_member("card", result.card),
        jsontext.paths_member("from", result.archive),
        f'"confirm": "{result.confirm}"',
        f'"backend": {backend}',
        f'"certain": {json.dumps(result.is_certain)}',
        f'"notes": [{", ".join(map(jsontext.words, result.notes))}]',
        f'"left_out": {json.dumps(left_out)}',
        f'"totals": {json.dumps(asdict(result.totals))}',
    )
    return ", ".join(parts)


def _counts(skipped: Mapping[SkipReason, int]) -> dict[str, int]:
    return {str(reason): count for reason, count in skipped.items()}


def _file(file: MissingFile) -> str:
    numbers = f'"size": {file.size}, "modified_ns": {file.modified_ns}, "root": {file.root}'
    links = jsontext.paths_member("links", file.links)
    return f'{{{jsontext.path_member("path", file.path)}, {numbers}, "reason": "{file.reason}", {links}}}'


def _lines(objects: Iterable[str]) -> Iterator[bytes]:
    opening = "\n"
    for each in objects:
        yield (opening + each).encode()
        opening = ",\n"
