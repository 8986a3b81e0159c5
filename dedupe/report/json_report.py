"""The JSON report, schema `dedupe-report/1`.  Owns its keys and their order; reads none back (`load.py` does).

The texts are put together by hand, as `json.dumps` for each file takes four times as long; only strings go through the
C escaper of `json`.  Beside the keys of the contract, which are always there, a report has
- `path_base64` beside a `path` that is not valid Unicode; `links_base64` and `roots_base64` beside `links` and `roots`
  where one of those is not: a list of the same length, null where the text is exact;
- `notes`: sentences for the user.
"""

from __future__ import annotations

import json
from binascii import b2a_base64
from collections.abc import Iterator, Sequence
from json.encoder import encode_basestring as quoted

from dedupe import names
from dedupe.report.base import Style
from dedupe.result import File, Group, Problem, ScanResult, Totals

SCHEMA = "dedupe-report/1"
_BATCH = 256  # groups a piece: tens of kilobytes, where the cost of a write no longer shows


def render(result: ScanResult, _style: Style) -> Iterator[bytes]:
    """Yield one JSON object, a line a group and a line a problem."""
    yield f'{{"schema": "{SCHEMA}", {head(result)},\n"totals": {totals_object(result.totals)},\n"groups": ['.encode()
    yield from _lines(map(group_object, result.groups))
    yield b'],\n"problems": ['
    yield from _lines(map(problem_object, result.problems))
    yield b"]}\n"


def head(result: ScanResult) -> str:
    """Return the keys that describe the scan itself, from `version` to `notes`, without braces."""
    fields: dict[str, object] = {
        "version": result.version,
        "started": result.started,
        "seconds": result.seconds,
        "roots": [names.text(root) for root in result.roots],
    }
    exact = [names.base64_if_needed(root) for root in result.roots]
    if any(exact):
        fields["roots_base64"] = exact
    fields["confirm"] = result.confirm
    fields["backend"] = {"name": result.backend.name, "reason": result.backend.reason}
    fields["notes"] = list(result.notes)
    return json.dumps(fields, ensure_ascii=False)[1:-1]


def totals_object(totals: Totals) -> str:
    """Return the totals as a JSON object."""
    return json.dumps(
        {
            "files": totals.files,
            "bytes": totals.bytes,
            "skipped": {str(reason): count for reason, count in totals.skipped.items()},
            "groups": totals.groups,
            "redundant_files": totals.redundant_files,
            "reclaimable_bytes": totals.reclaimable_bytes,
            "bytes_read": totals.bytes_read,
            "cache_hits": totals.cache_hits,
            "problems": totals.problems,
        }
    )


def group_object(group: Group) -> str:
    """Return a group as a JSON object on one line."""
    files = [_file_object(file) for file in group.files]
    digest = "null" if group.digest is None else f'"{group.digest.hex()}"'
    return (
        f'{{"id": {group.id}, "size": {group.size}, "algorithm": {quoted(group.algorithm)}, "digest": {digest}, '
        f'"reclaimable_bytes": {group.size * (len(files) - 1)}, "files": [{", ".join(files)}]}}'
    )


def problem_object(problem: Problem) -> str:
    """Return a problem as a JSON object on one line."""
    message = problem.message.encode("utf-8", "backslashreplace").decode("utf-8")  # it may quote a file's name
    return f'{{"path": {_path(problem.path)}, "kind": "{problem.kind}", "message": {quoted(message)}}}'


def _file_object(file: File) -> str:
    links = _links(file.links) if file.links else "[]"
    return (
        f'{{"path": {_path(file.path)}, "modified_ns": {file.modified_ns}, '
        f'"device": "{file.device}", "inode": "{file.inode}", "links": {links}}}'
    )


def _path(path: bytes) -> str:
    """Return the value of `path`, and where its text is not exact the key `path_base64` after it."""
    try:
        return quoted(path.decode("utf-8"))
    except UnicodeDecodeError:
        return f'{quoted(names.text(path))}, "path_base64": "{b2a_base64(path, newline=False).decode("ascii")}"'


def _links(links: Sequence[bytes]) -> str:
    texts = json.dumps([names.text(link) for link in links], ensure_ascii=False)
    exact = [names.base64_if_needed(link) for link in links]
    return f'{texts}, "links_base64": {json.dumps(exact)}' if any(exact) else texts


def _lines(objects: Iterator[str]) -> Iterator[bytes]:
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
