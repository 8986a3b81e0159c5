"""The objects of the JSON reports as text, schema `dedupe-report/2`.  Owns their keys; knows nothing of files' layout.

The texts are put together by hand, as `json.dumps` for each file takes four times as long; only strings go through the
C escaper of `json`.  Beside the keys of the contract, which are always there, a report has
- `path_base64` beside a `path` that is not valid Unicode (so for `folder` and `holder`); `links_base64` beside
  `links` where one of those is not: as many, null where the text is exact (so for `symlinks`, `mounted`, `roots`,
  `folders`);
- `notes`: sentences for the user;
- `folders`: of each listed folder that has a name of a group below it, what took part below it at any depth and how
  many entries were left out: with the groups, all that `dedupe.folders` needs;
- `identical_folders` and `contained_folders`: that module's answers, only where the style asks for folders, as they
  take longer than all the rest.
"""

from __future__ import annotations

import json
from binascii import b2a_base64
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice, repeat, starmap
from json.encoder import encode_basestring as quoted
from typing import TYPE_CHECKING

from dedupe.result import FileColumns, FolderCount, GroupChunk, Names, Problem, Proof, ScanResult, Totals, VolumeInfo
from dedupe.storage import display

if TYPE_CHECKING:
    from dedupe.folders.compare import ContainedFolder, IdenticalFolders

SCHEMA = "dedupe-report/2"


def head(result: ScanResult) -> str:
    """Return the keys that describe the scan itself, from `version` to `notes`, without braces."""
    scan = json.dumps({"version": result.version, "started": result.started, "seconds": result.seconds})
    choice = json.dumps({"name": result.backend.name, "reason": result.backend.reason})
    notes = ", ".join(map(words, result.notes))
    roots = paths_member("roots", result.roots)
    volumes = ", ".join(map(_volume, result.volumes))
    confirm = quoted(result.confirm)
    return (
        f'{scan[1:-1]}, {roots}, "volumes": [{volumes}], "confirm": {confirm}, "backend": {choice}, "notes": [{notes}]'
    )


def _volume(volume: VolumeInfo) -> str:
    """Return a volume as a JSON object."""
    point = path_member("mount_point", volume.mount_point) if volume.mount_point else '"mount_point": null'
    kind, label = words(volume.file_system), words(volume.label)
    return f'{{"id": {words(volume.id)}, "label": {label}, "file_system": {kind}, {point}}}'


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


def group_objects(chunk: GroupChunk) -> list[str]:
    """Return the groups of a chunk as JSON objects."""
    files = iter(_files(chunk.files))
    return [
        f'{{"id": {number}, "size": {size}, "algorithm": {quoted(algorithm)}, '
        f'"digest": {"null" if digest is None else quoted(digest.hex())}, '
        f'"proof": {_word_or_null(proof)}, "reclaimable_bytes": {size * max(copies - 1, 0)}, '
        f'"files": [{", ".join(islice(files, count))}]}}'
        for number, size, algorithm, digest, proof, count, copies in chunk.headers
    ]


def problem_object(problem: Problem) -> str:
    """Return a problem as a JSON object."""
    return f'{{{path_member("path", problem.path)}, "kind": "{problem.kind}", "message": {words(problem.message)}}}'


def folder_object(folder: bytes, count: FolderCount) -> str:
    """Return what lies below a folder as a JSON object."""
    counts = f'"files": {count.files}, "bytes": {count.bytes}, "left_out": {count.left_out}'
    return f"{{{path_member('path', folder)}, {counts}}}"


def identical_object(found: IdenticalFolders) -> str:
    """Return a set of identical folders as a JSON object."""
    return (
        f'{{{paths_member("folders", found.folders)}, "files": {found.files}, "bytes": {found.bytes}, '
        f'"reclaimable_bytes": {found.reclaimable_bytes}, "left_out": {found.left_out}}}'
    )


def contained_object(found: ContainedFolder) -> str:
    """Return a held folder as a JSON object."""
    return (
        f'{{{path_member("folder", found.folder)}, {path_member("holder", found.holder)}, "files": {found.files}, '
        f'"bytes": {found.bytes}, "held_files": {found.held_files}, "held_bytes": {found.held_bytes}, '
        f'"linked_files": {found.linked_files}, "left_out": {found.left_out}}}'
    )


def _files(files: FileColumns) -> list[str]:
    """Return the objects of files.  What many of them share is put into words once, for the sake of the time."""
    path, modified_ns, device, inode, *others = files
    shared = (device, *others)
    if all(column.count(column[0]) == len(column) for column in shared):  # nearly always
        words: Iterable[tuple[str, str]] = repeat(_shared(*[column[0] for column in shared]), len(path))
    else:
        words = starmap(_shared, zip(*shared, strict=True))
    return [
        f'{{"path": {text}, "modified_ns": {time}{before}{number}{after}'
        for text, time, number, (before, after) in zip(_texts(path), modified_ns, inode, words, strict=True)
    ]


def _texts(paths: Sequence[bytes]) -> list[str]:
    """Return the values of keys named `path`, each followed by the key with its exact bytes where that is needed."""
    try:
        return list(map(quoted, map(bytes.decode, paths)))
    except UnicodeDecodeError:
        return [path_member("path", path).removeprefix('"path": ') for path in paths]


@lru_cache(maxsize=256)
def _shared(device: int, root: int | None, volume: int | None, proof: Proof | None, *further: Names) -> tuple[str, str]:
    """Return what stands before and after the inode number in the object of a file."""
    place = f'"root": {_number(root)}, "volume": {_number(volume)}, "proof": {_word_or_null(proof)}'
    names = ", ".join(map(paths_member, ("links", "symlinks", "mounted"), further))
    return f', "device": "{device}", "inode": "', f'", {place}, {names}}}'


def _number(number: int | None) -> str:
    return "null" if number is None else str(number)


def _word_or_null(word: str | None) -> str:
    return "null" if word is None else f'"{word}"'


def path_member(key: str, path: bytes) -> str:
    """Return a key with a path, and where its text is not exact the key with `_base64` after it."""
    try:
        return f'"{key}": {quoted(path.decode("utf-8"))}'
    except UnicodeDecodeError:
        base64 = b2a_base64(path, newline=False).decode("ascii")
        return f'"{key}": {quoted(display.text(path))}, "{key}_base64": "{base64}"'


def paths_member(key: str, paths: Sequence[bytes]) -> str:
    """Return a key with a list of paths, and where a text is not exact the key with `_base64` after it."""
    texts = f'"{key}": [{", ".join([quoted(display.text(path)) for path in paths])}]'
    exact = [display.base64_if_needed(path) for path in paths]
    return f'{texts}, "{key}_base64": {json.dumps(exact)}' if any(exact) else texts


def words(text: str) -> str:
    """Return a sentence as a JSON string: it may quote a name, and with it lone surrogates."""
    return quoted(text.encode("utf-8", "backslashreplace").decode("utf-8"))
