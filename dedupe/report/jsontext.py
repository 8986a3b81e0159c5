"""The objects of the JSON reports as text, schema `dedupe-report/1`.  Owns their keys; knows nothing of files' layout.

The texts are put together by hand, as `json.dumps` for each file takes four times as long; only strings go through the
C escaper of `json`.  Beside the keys of the contract, which are always there, a report has
- `path_base64` beside a `path` that is not valid Unicode (so for `folder` and `holder`); `links_base64` beside
  `links` where one of those is not: as many, null where the text is exact (so for `roots`, `folders`);
- `notes`: sentences for the user;
- `folders`: of each listed folder that has a name of a group below it, what took part below it at any depth and how
  many entries were left out: with the groups, all that `dedupe.folders` needs;
- `identical_folders` and `contained_folders`: that module's answers, only where the style asks for folders, as they
  take longer than all the rest.
"""

from __future__ import annotations

import json
from binascii import b2a_base64
from collections.abc import Sequence
from itertools import islice
from json.encoder import encode_basestring as quoted

from dedupe.files.chunks import FileRow, GroupChunk
from dedupe.folders.compare import ContainedFolder, IdenticalFolders
from dedupe.result import FolderCount, Problem, ScanResult, Totals
from dedupe.storage import display

SCHEMA = "dedupe-report/1"
_NO_LINKS = '"links": []'


def head(result: ScanResult) -> str:
    """Return the keys that describe the scan itself, from `version` to `notes`, without braces."""
    scan = json.dumps({"version": result.version, "started": result.started, "seconds": result.seconds})
    choice = json.dumps({"name": result.backend.name, "reason": result.backend.reason})
    notes = ", ".join(map(_words, result.notes))
    roots = _paths("roots", result.roots)
    return f'{scan[1:-1]}, {roots}, "confirm": {quoted(result.confirm)}, "backend": {choice}, "notes": [{notes}]'


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


def group_objects(run: GroupChunk) -> list[str]:
    """Return the groups of a run as JSON objects."""
    files = iter(_files(run.rows))
    return [
        f'{{"id": {number}, "size": {size}, "algorithm": {quoted(algorithm)}, '
        f'"digest": {"null" if digest is None else quoted(digest.hex())}, '
        f'"reclaimable_bytes": {size * (count - 1)}, "files": [{", ".join(islice(files, count))}]}}'
        for number, size, algorithm, digest, count in run.headers
    ]


def problem_object(problem: Problem) -> str:
    """Return a problem as a JSON object."""
    return f'{{{_path("path", problem.path)}, "kind": "{problem.kind}", "message": {_words(problem.message)}}}'


def folder_object(folder: bytes, count: FolderCount) -> str:
    """Return what lies below a folder as a JSON object."""
    return f'{{{_path("path", folder)}, "files": {count.files}, "bytes": {count.bytes}, "left_out": {count.left_out}}}'


def identical_object(found: IdenticalFolders) -> str:
    """Return a set of identical folders as a JSON object."""
    return (
        f'{{{_paths("folders", found.folders)}, "files": {found.files}, "bytes": {found.bytes}, '
        f'"reclaimable_bytes": {found.reclaimable_bytes}, "left_out": {found.left_out}}}'
    )


def contained_object(found: ContainedFolder) -> str:
    """Return a held folder as a JSON object."""
    return (
        f'{{{_path("folder", found.folder)}, {_path("holder", found.holder)}, "files": {found.files}, '
        f'"bytes": {found.bytes}, "held_files": {found.held_files}, "held_bytes": {found.held_bytes}, '
        f'"linked_files": {found.linked_files}, "left_out": {found.left_out}}}'
    )


def _files(rows: Sequence[FileRow]) -> list[str]:
    """Return the objects of files, at once where no name is other than valid Unicode."""
    try:
        return [
            f'{{"path": {quoted(path.decode())}, "modified_ns": {modified_ns}, '
            f'"device": "{device}", "inode": "{inode}", {_paths("links", links) if links else _NO_LINKS}}}'
            for path, modified_ns, device, inode, links in rows
        ]
    except UnicodeDecodeError:
        return [
            f'{{{_path("path", path)}, "modified_ns": {modified_ns}, '
            f'"device": "{device}", "inode": "{inode}", {_paths("links", links)}}}'
            for path, modified_ns, device, inode, links in rows
        ]


def _path(key: str, path: bytes) -> str:
    """Return a key with a path, and where its text is not exact the key with `_base64` after it."""
    try:
        return f'"{key}": {quoted(path.decode("utf-8"))}'
    except UnicodeDecodeError:
        base64 = b2a_base64(path, newline=False).decode("ascii")
        return f'"{key}": {quoted(display.text(path))}, "{key}_base64": "{base64}"'


def _paths(key: str, paths: Sequence[bytes]) -> str:
    """Return a key with a list of paths, and where a text is not exact the key with `_base64` after it."""
    texts = f'"{key}": [{", ".join([quoted(display.text(path)) for path in paths])}]'
    exact = [display.base64_if_needed(path) for path in paths]
    return f'{texts}, "{key}_base64": {json.dumps(exact)}' if any(exact) else texts


def _words(text: str) -> str:
    """Return a sentence as a JSON string: it may quote a name, and with it lone surrogates."""
    return quoted(text.encode("utf-8", "backslashreplace").decode("utf-8"))
